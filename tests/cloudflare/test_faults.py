"""A bridge that loses answers, answers late, or meets errors of D1: nothing is lost and nothing doubled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest

from tests.cloudflare.miniflare import TOKEN, Miniflare, open_d1
from tests.support.warm import SOURCE
from workbell import Answer, Context, Status, StoreError, StoreUnavailable, Workbell
from workbell.model import state
from workbell.model.state import Move, Retention
from workbell.settings import Settings
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import add, claim, request

T = TypeVar("T")
PATIENCE = 100  # seconds

# As documented by Cloudflare ("Debug D1"), and two that are not.
ERRORS = [
    "D1_ERROR: Network connection lost.",
    "D1_ERROR: D1 DB reset because its code was updated.",
    "D1_ERROR: Internal error while starting up D1 DB storage caused object to be reset.",
    "D1_ERROR: Internal error in D1 DB storage caused object to be reset.",
    "D1_ERROR: Replica disconnected from primary.",
    "D1_ERROR: Can't read from request stream because client disconnected.",
    "D1_ERROR: Exceeded maximum DB size.",
    "D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node.",
    "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.",
    "D1_ERROR: D1 DB is overloaded. Requests queued for too long.",
    "D1_ERROR: D1 DB is overloaded. Too many requests queued.",
    "D1_ERROR: D1 DB exceeded its CPU time limit and was reset.",
    "D1_ERROR: D1 DB's isolate exceeded its memory limit and was reset.",
    "D1_ERROR: database is locked: SQLITE_BUSY",
    "D1_ERROR: something that nobody has heard of",
]


def until_done(work: Callable[[], T]) -> T:
    """A call that may not have been written is repeated. With a key that outlasts the run that is safe."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except StoreUnavailable:
            assert time.monotonic() < end


@pytest.mark.parametrize(
    ("fault", "deadline", "number"),
    [
        ({"kind": "lost", "every": 10}, 60.0, 30),
        ({"kind": "never", "every": 10}, 60.0, 30),
        ({"kind": "late", "every": 10, "after": 3000}, 2.0, 10),
        ({"kind": "after", "every": 10, "message": ERRORS[0]}, 60.0, 30),
    ],
    ids=["lost", "never", "late", "reset"],
)
@pytest.mark.timeout(300)
def test_runs_events_and_ticks(
    fault: dict[str, Any], deadline: float, number: int, address: str, miniflare: Miniflare
) -> None:
    done: Counter[str] = Counter()
    ticked = threading.Semaphore(0)
    open_d1(address).check()
    store = open_d1(address, deadline=deadline)
    settings = Settings(url=f"d1+{address}", poll=0.2, lease=120)
    with Workbell(settings=settings, store=store) as bell:

        @bell.job
        def work(name: str) -> str:
            done[name] += 1
            return name

        @bell.on("things.came")
        def heard(event: Any) -> None:
            done[event.key] += 1

        @bell.job(cron="* * * * * *")
        def tick() -> None:
            ticked.release()

        def produce() -> list[str]:
            ids = [
                until_done(lambda n=n: work.options(key=f"k{n}", key_for=3600).enqueue(f"n{n}")).id
                for n in range(number)
            ]
            for n in range(number // 5):
                until_done(lambda n=n: bell.emit("things.came", {}, source="/test", key=f"e{n}"))
            return ids

        async def engine() -> None:
            async with bell.running():
                miniflare.fault(address, **fault)
                ids = await anyio.to_thread.run_sync(produce)
                for _ in range(2):
                    assert await anyio.to_thread.run_sync(ticked.acquire, True, PATIENCE)
                names = {f"n{n}" for n in range(number)} | {f"e{n}" for n in range(number // 5)}
                with anyio.fail_after(PATIENCE):
                    while not names <= set(done):
                        await anyio.sleep(0.05)
                assert await anyio.to_thread.run_sync(miniflare.mend, address) >= number // 10
                with anyio.fail_after(PATIENCE):
                    while any(bell.get(one).status is not Status.SUCCEEDED for one in ids):
                        await anyio.sleep(0.05)
            assert set(done.values()) == {1}, done

        anyio.run(engine)
        assert len(bell.runs(job="work", limit=500)) == number
        ticks = Counter(run.scheduled_for for run in bell.runs(job="tick", limit=500))
        assert set(ticks.values()) == {1}
        assert {run.status for run in bell.runs(job="work", limit=500)} == {Status.SUCCEEDED}


@pytest.mark.parametrize("message", ERRORS)
@pytest.mark.parametrize("kind", ["before", "after"])
def test_errors_of_d1(kind: str, message: str, store: SqlStore, address: str, miniflare: Miniflare) -> None:
    """A write says that it may not have been written. A read is asked again."""
    miniflare.fault(address, kind=kind, every=1, message=message)
    new = request()
    with pytest.raises(StoreUnavailable, match=r"HTTP 503: D1_ERROR.*; repeat the call"):
        store.runs.add([new])
    assert miniflare.mend(address) == 1
    miniflare.fault(address, kind=kind, every=2, message=message, calls=1)
    assert set(store.runs.find([new.run.id])) == ({new.run.id} if kind == "after" else set())
    assert miniflare.mend(address) >= 1


def test_an_error_that_is_certain(store: SqlStore, address: str, miniflare: Miniflare) -> None:
    """It is one of the batch: nothing was written, and to repeat it would not help."""
    miniflare.fault(address, kind="before", every=1, message="D1_ERROR: no such table: x: SQLITE_ERROR")
    with pytest.raises(StoreError, match="refused: D1_ERROR: no such table: x") as caught:
        store.runs.add([request()])
    assert not isinstance(caught.value, StoreUnavailable)


def test_a_write_whose_answer_is_lost_is_recognised(store: SqlStore, address: str, miniflare: Miniflare) -> None:
    """The second time it changes nothing, and the run says whose write it was."""
    add(store, request())
    (run,) = claim(store)
    change = state.succeed(run, store.clock.now(), result="1", keep=Retention().succeeded)
    assert change.move is Move.SUCCEED
    miniflare.fault(address, kind="lost", every=1)
    with pytest.raises(StoreUnavailable):
        store.runs.apply([change])
    miniflare.mend(address)
    assert store.runs.apply([change]) == set()
    assert store.runs.find([run.id])[run.id].status is Status.SUCCEEDED


KILLED = """
import os, sys, time
from workbell import Workbell
from workbell.settings import Settings
bell = Workbell(settings=Settings(url=sys.argv[1], lease=2, sweep=0.5, poll=0.2, http=False))
@bell.job
def work(name: str) -> str:
    os.write(1, f"{name}\\n".encode())  # in one piece, whatever the others write
    time.sleep(1000)
bell.run()
"""


@pytest.mark.timeout(200)
def test_a_worker_that_is_killed(url: str, tmp_path: Path) -> None:
    """What it had in hand is done by another."""
    settings = Settings(url=url, lease=2, sweep=0.5, poll=0.2)
    with Workbell(settings=settings) as bell:
        done: Counter[str] = Counter()

        @bell.job
        def work(name: str) -> str:
            done[name] += 1
            return name

        ids = [work.enqueue(f"n{n}").id for n in range(3)]
        environment = os.environ | {"PYTHONPATH": str(SOURCE), "WORKBELL_D1_TOKEN": TOKEN}
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, url], env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            assert {process.stdout.readline().strip() for _ in range(3)} == {"n0", "n1", "n2"}
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(30)

        async def engine() -> None:
            async with bell.running():
                for one in ids:
                    assert (await bell.await_(one, timeout=PATIENCE)).status is Status.SUCCEEDED

        anyio.run(engine)
        assert done == {"n0": 1, "n1": 1, "n2": 1}


@pytest.mark.parametrize("kind", ["lost", "after"])
def test_rounds_of_work(miniflare: Miniflare, kind: str) -> None:
    """One-shot calls find out what was written, as engines do: every run ends, and what each call says is so."""
    url = miniflare.url()
    counted: Counter[str] = Counter()
    with Workbell(settings=Settings(url=url, lease=5)) as bell:

        @bell.job
        def count(ctx: Context) -> None:
            counted[ctx.run.id] += 1

        ids = [bell.enqueue("count").id for _ in range(20)]
        miniflare.fault(url, kind=kind, every=6, message="D1_ERROR: Network connection lost.")
        end = time.monotonic() + PATIENCE
        told: dict[str, Status | None] = {}
        while True:
            consumed = until_done(lambda: bell.consume(limit=5))
            told |= {one.run: one.status for one in consumed.results if one.answer is Answer.DONE}
            until_done(bell.dispatch)
            found = until_done(lambda: bell.store.runs.find(ids))
            if all(run.status.final for run in found.values()):
                break
            assert time.monotonic() < end, Counter(run.status for run in found.values())
        assert miniflare.mend(url) > 0, "nothing has failed: the test proves nothing"
        assert {found[run_id].status for run_id in ids} == {Status.SUCCEEDED}
        assert set(told.values()) == {Status.SUCCEEDED}
        assert set(counted) == set(ids)
