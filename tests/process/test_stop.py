"""How a working process stops: handlers may end within the grace, the rest is handed back unspent (A9, B2)."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.checker import check, report
from tests.support.processes import Site
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Run, Status, Workbell
from workbell.engine.role import Role
from workbell.settings import Settings

HELD = ("held_async", "held_plain")


def stop(*processes: subprocess.Popen[bytes]) -> list[int]:
    for process in processes:
        process.send_signal(signal.SIGTERM)
    return [process.wait(60) for process in processes]


def hold(site: Site, bell: Workbell, gate: str) -> list[Run]:
    """One run of each kind, begun and held at a gate."""
    runs = [bell.enqueue(job, {"gate": gate}) for job in HELD]
    site.recorder.acknowledged(runs)
    for run in runs:
        site.await_start(run.id)
    return runs


def test_handlers_end_within_the_grace(tmp_path: Path, sql_store_url: str) -> None:
    with Site(tmp_path, sql_store_url, GRACE="30") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        worker = site.worker()
        runs = hold(site, bell, "gate")
        worker.send_signal(signal.SIGTERM)
        site.await_event("stopping")
        assert worker.poll() is None
        site.open_gate("gate")
        assert worker.wait(30) == 0
        for run in runs:
            ended = bell.get(run.id)
            assert (ended.status, ended.attempt, ended.result["token"]) == (Status.SUCCEEDED, 1, ended.token)


@pytest.mark.parametrize("job", HELD)
def test_what_has_not_begun_is_handed_back(tmp_path: Path, sql_store_url: str, job: str) -> None:
    """Claimed ahead but not begun: afterwards as if it had never been claimed, and claimable at once."""
    settings = {"GRACE": "0", "CONCURRENCY": "1", "LEASE": "60"}
    with Site(tmp_path, sql_store_url, **settings) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        site.open_gate("open")
        worker = site.worker()
        # A rush of short runs makes the worker claim ahead; then its only slot is held.
        runs = bell.enqueue_many([(job, {"gate": "open"})] * 600 + [(job, {"gate": "shut"})] * 60)
        site.recorder.acknowledged(runs)
        held, behind = runs[600], runs[601:]
        site.await_start(held.id)
        until(lambda: len(bell.runs(status="running", limit=100)) > 1, "some to be claimed ahead")
        assert stop(worker) == [0]
        back = bell.get(held.id)
        assert (back.status, back.attempt, back.failures) == (Status.QUEUED, 1, 0)
        left = [bell.get(run.id) for run in behind]
        assert {(run.status, run.attempt, run.failures, run.losses) for run in left} == {(Status.QUEUED, 0, 0, 0)}
        assert any(run.token for run in left), "none had been claimed: the test proves nothing"
        assert not any(bell.attempts(run.id) for run in behind)
        site.open_gate("shut")
        other = site.worker()  # leases of 60 s: were they still held, nobody could take the runs now
        for run in [held, *behind]:
            assert bell.wait(run.id, timeout=30).status is Status.SUCCEEDED
        assert stop(other) == [0]
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


def test_handlers_longer_than_the_grace_are_handed_back(tmp_path: Path, sql_store_url: str) -> None:
    with Site(tmp_path, sql_store_url, GRACE="0.2", LEASE="60") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        worker = site.worker()
        runs = hold(site, bell, "gate")
        assert stop(worker) == [0]
        for run in runs:
            back = bell.get(run.id)
            assert (back.status, back.attempt, back.failures, back.losses) == (Status.QUEUED, 1, 0, 0)
            assert [attempt.status.value for attempt in bell.attempts(run.id)] == ["released"]
        site.open_gate("gate")
        site.worker()
        for run in runs:
            ended = bell.wait(run.id, timeout=30)
            assert (ended.status, ended.attempt, ended.failures) == (Status.SUCCEEDED, 2, 0)
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_forces(tmp_path: Path, sqlite_url: str, second: signal.Signals) -> None:
    """An endless grace is cut short; whatever was running goes to another worker."""
    with Site(tmp_path, sqlite_url, GRACE="3600") as site, Workbell(sqlite_url) as bell:
        declare(bell, site.recorder, site.gates)
        worker = site.worker()
        runs = hold(site, bell, "gate")
        worker.send_signal(signal.SIGTERM)
        site.await_event("stopping")  # two signals that are both still pending would be one
        worker.send_signal(second)
        worker.wait(30)
        site.open_gate("gate")
        site.worker()
        for run in runs:
            ended = bell.wait(run.id, timeout=30)
            assert (ended.status, ended.failures) == (Status.SUCCEEDED, 0)
        violations = check(bell.store, site.events(), settled=False)
        assert not violations, report(violations)


def test_many_processes_told_to_stop_at_once(tmp_path: Path, sql_store_url: str) -> None:
    """In the middle of a load: no attempt is spent, nothing is lost."""
    with Site(tmp_path, sql_store_url, GRACE="1", LEASE="60") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        workers = [site.worker(), site.worker()]
        site.await_ready(*workers)
        requests = [("short_plain", {"number": number}) for number in range(600)]
        site.recorder.acknowledged(bell.enqueue_many(requests))
        until(lambda: len(site.starts()) >= 50, "some of the load to begin")
        assert stop(*workers) == [0, 0]
        assert bell.runs(status="running", limit=10) == []
        site.worker()
        until(lambda: not bell.runs(status=["queued", "running"], limit=1), "the rest to end")
        assert {run.failures + run.losses for run in bell.runs(limit=1000)} == {0}
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


# Inside an asyncio application


@pytest.mark.anyio
async def test_running_in_an_application(store_url: str) -> None:
    """The block ends when handlers have ended; neither tasks nor threads are left, and it can be entered again."""
    bell = Workbell(settings=Settings(url=store_url, poll=0.05, grace=30))
    begun, gate = asyncio.Event(), asyncio.Event()

    @bell.job
    async def held() -> str:
        begun.set()
        await gate.wait()
        return "done"

    @bell.job
    def plain() -> int:
        return 1

    tasks = asyncio.all_tasks()
    for _ in range(2):
        begun.clear()
        gate.clear()
        async with bell.running():
            run = await held.aenqueue()
            await bell.await_((await plain.aenqueue()).id, timeout=30)
            await asyncio.wait_for(begun.wait(), 30)
            asyncio.get_running_loop().call_later(0.05, gate.set)
        assert (await bell.aget(run.id)).result == "done"
        await settled(lambda: asyncio.all_tasks() <= tasks, "the slots to end")
        duties = [thread.name for thread in threading.enumerate() if thread.name in DUTIES]
        assert duties == []
    bell.close()


DUTIES = {f"workbell-{duty}" for duty in ("finish", "renew", "recover", "dispatch", "consume", "prune", "ear")}


async def settled(condition: Callable[[], bool], what: str) -> None:
    """`until`, for conditions that need this event loop to go on."""
    end = asyncio.get_running_loop().time() + 10
    while not condition():
        assert asyncio.get_running_loop().time() < end, what
        await asyncio.sleep(0.005)


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["running", "lifespan", "serve"])
async def test_handlers_may_keep_all_threads_of_the_loop_busy(sqlite_url: str, way: str) -> None:
    """Async handlers fill the loop's own executor by `asyncio.to_thread`: a stop begins at once, no run does."""
    begun: list[int] = []
    full, gate, stop = asyncio.Event(), threading.Event(), asyncio.Event()
    with Workbell(settings=Settings(url=sqlite_url, poll=0.05, grace=0.05, concurrency=3)) as bell:

        @bell.job
        async def held(number: int) -> None:
            begun.append(number)
            if len(begun) == 3:
                full.set()
            await asyncio.to_thread(gate.wait, 60)

        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        application = asyncio.ensure_future(host(bell, way, stop))
        try:
            for number in range(3):
                await held.aenqueue(number=number)
            await asyncio.wait_for(full.wait(), 30)
            late = await held.aenqueue(number=3)
            stop.set()
            await asyncio.wait_for(asyncio.shield(application), 15)
            assert begun == [0, 1, 2]
            back = await asyncio.gather(*(bell.aget(run.id) for run in await bell.aruns(limit=10)))
            assert [run.status for run in back] == [Status.QUEUED] * 4
            assert (await bell.aget(late.id)).attempt == 0
        finally:
            gate.set()
            stop.set()
            await application


async def host(bell: Workbell, way: str, stop: asyncio.Event) -> None:
    """An engine on this event loop until `stop` is set: in an application, with the API, or served."""
    if way == "running":
        async with bell.running():
            await stop.wait()
    elif way == "lifespan":
        bell.asgi()
        async with bell.lifespan():
            await stop.wait()
    else:
        with socket.create_server(("127.0.0.1", 0)) as http:
            stopping = asyncio.ensure_future(stop.wait())
            started = lambda _engine, end: stopping.add_done_callback(lambda _: end(False))  # noqa: E731
            await bell.host.serve(Role(), started, http=http)


@pytest.mark.anyio
async def test_application_canceled_while_starting(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine works before the block has begun; it is stopped all the same."""
    with Workbell(settings=Settings(url=sqlite_url, poll=0.05, grace=0.05)) as bell:
        inside, go_on = threading.Event(), threading.Event()
        start = bell.host._start

        def slowly(*given: Any) -> Any:
            engine = start(*given)
            inside.set()
            assert go_on.wait(30)
            return engine

        monkeypatch.setattr(bell.host, "_start", slowly)

        async def application() -> None:
            async with bell.running():
                raise AssertionError("it was cancelled before")

        task = asyncio.ensure_future(application())
        await asyncio.get_running_loop().run_in_executor(None, inside.wait, 30)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert bell.host.running is None
        assert not [thread for thread in threading.enumerate() if thread.name == "workbell-consume"]


@pytest.mark.anyio
async def test_application_canceled_while_running(sqlite_url: str) -> None:
    """The task around the block is canceled: what it held is handed back all the same."""
    with Workbell(settings=Settings(url=sqlite_url, poll=0.05, grace=0.05)) as bell:
        begun = asyncio.Event()

        @bell.job
        async def endless() -> None:
            begun.set()
            await asyncio.Event().wait()

        async def application() -> None:
            async with bell.running():
                await asyncio.Event().wait()

        task = asyncio.ensure_future(application())
        run = await endless.aenqueue()
        await asyncio.wait_for(begun.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        back = await bell.aget(run.id)
        assert (back.status, back.failures) == (Status.QUEUED, 0)
        assert back.lease_until is None


@pytest.mark.anyio
async def test_many_waits_share_one_waiter(store_url: str, monkeypatch) -> None:
    """A hundred waits are one thread, which asks the store for all of them at once."""
    before = set(threading.enumerate())
    with Workbell(settings=Settings(url=store_url, poll=0.05)) as bell:

        @bell.job
        async def quick(number: int) -> int:
            return number

        runs = await bell.aenqueue_many([quick.request(number=number) for number in range(100)])
        asked: list[int] = []
        find = bell.store.runs.find

        def counted(ids):
            ids = list(ids)
            asked.append(len(ids))
            return find(ids)

        waits = [asyncio.ensure_future(bell.await_(run.id, timeout=60)) for run in runs]
        await settled(lambda: len(bell.runtime.waiter._waiting) == 100, "all waits to be known")
        monkeypatch.setattr(bell.store.runs, "find", counted)
        await settled(lambda: 100 in asked, "one question for all")
        assert sum(thread.name == "workbell-wait" for thread in set(threading.enumerate()) - before) == 1
        async with bell.running():
            ended = await asyncio.gather(*waits)
        assert [run.result for run in ended] == list(range(100))
        assert bell.runtime.waiter._waiting == {}
