"""The verbs for async code: the same as the plain ones, and safe to cancel."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest

from tests.client.conftest import finish, take
from tests.support.waiting import until
from workbell import DuplicateRun, RunNotFound, Status, WaitTimeout, Workbell
from workbell.bulk.verbs import Bulk
from workbell.claims.pauses import Pausing
from workbell.client.client import Client
from workbell.events.emitting import Emitting
from workbell.events.executions import Executing
from workbell.handlers.job_function import Enqueuer, JobFunction
from workbell.runs.control import Steering
from workbell.runs.following import Watching
from workbell.runs.listing import Finding
from workbell.runs.lookup import Reading
from workbell.settings import Settings
from workbell.stores.sqlite.store import SqliteStore

PAIRS = [
    *((Client, verb, f"a{verb}") for verb in ("enqueue", "enqueue_many", "enqueue_requests")),
    *((Finding, verb, f"a{verb}") for verb in ("runs", "page_of_runs", "count_runs")),
    *((Reading, verb, f"a{verb}") for verb in ("get", "attempts", "why")),
    *((Steering, verb, f"a{verb}") for verb in ("cancel", "retry")),
    (Steering, "wait", "await_"),
    (Bulk, "bulk", "abulk"),
    (Watching, "logs", "alogs"),
    (Watching, "workers", "aworkers"),
    *((Pausing, verb, f"a{verb}") for verb in ("pause", "resume", "pauses", "drain_worker", "resume_worker")),
    (Emitting, "emit", "aemit"),
    *((Executing, verb, f"a{verb}") for verb in ("executions", "execution", "invocations")),
    (JobFunction, "enqueue", "aenqueue"),
    (Enqueuer, "enqueue", "aenqueue"),
]


@pytest.mark.parametrize(("kind", "plain", "twin"), PAIRS)
def test_each_verb_and_its_twin_have_one_signature(kind: type, plain: str, twin: str) -> None:
    one, other = getattr(kind, plain), getattr(kind, twin)
    assert inspect.iscoroutinefunction(other)
    assert not inspect.iscoroutinefunction(one)
    assert inspect.signature(one) == inspect.signature(other)
    assert one.__annotations__ == other.__annotations__


def test_no_async_verb_is_without_its_plain_one() -> None:
    for kind in (
        Client,
        Finding,
        Reading,
        Steering,
        Bulk,
        Watching,
        Pausing,
        Emitting,
        Executing,
        JobFunction,
        Enqueuer,
    ):
        names = {name for name, value in vars(kind).items() if inspect.iscoroutinefunction(value) and name[0] != "_"}
        assert names - {"make_ready", "hop", "hop_apart"} == {twin for owner, _, twin in PAIRS if owner is kind}


@pytest.mark.anyio
async def test_the_whole_life_of_a_run(bell: Workbell, send: Any) -> None:
    run = await send.aenqueue("x")
    assert await bell.aget(run.id) == run
    assert [each.id for each in await bell.aruns(status="queued")] == [run.id]
    assert "No worker is running" in await bell.awhy(run.id)
    named = await bell.aenqueue("send", {"to": "y"}, delay=60)
    assert (await bell.acancel(named.id, "enough")).reason == "enough"
    many = await bell.aenqueue_many([send.request("z"), ("send", {"to": "w"})])
    assert [each.input["to"] for each in many] == ["z", "w"]
    waiting = asyncio.ensure_future(bell.await_(run.id, timeout=30))
    taken = await asyncio.to_thread(take, bell)
    await asyncio.to_thread(finish, bell, next(each for each in taken if each.id == run.id))
    assert (await waiting).result == "done"
    assert len(await bell.aattempts(run.id)) == 1
    assert (await bell.aretry(run.id)).retry_of == run.id


@pytest.mark.anyio
async def test_duplicates_and_errors_are_the_same(bell: Workbell, send: Any) -> None:
    first = await send.options(key="k").aenqueue("x")
    assert (await send.options(key="k").aenqueue("y")) == first
    with pytest.raises(DuplicateRun):
        await send.options(key="k", on_duplicate="reject").aenqueue("y")
    with pytest.raises(RunNotFound):
        await bell.aget("x")
    with pytest.raises(WaitTimeout):
        await bell.await_(first.id, 0.01)


@pytest.mark.anyio
async def test_many_waits_at_once(bell: Workbell, send: Any) -> None:
    runs = await bell.aenqueue_many(send.request(str(number)) for number in range(50))
    waits = [asyncio.ensure_future(bell.await_(run.id, timeout=30)) for run in runs]
    for run in await asyncio.to_thread(take, bell, 50):
        await asyncio.to_thread(finish, bell, run)
    assert [run.id for run in await asyncio.gather(*waits)] == [run.id for run in runs]


@pytest.mark.anyio
async def test_a_cancelled_enqueue_is_written_whole_or_not_at_all(
    bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write goes on in its thread; only the caller stops waiting for it."""
    begun, go = threading.Event(), threading.Event()
    add = bell.store.runs.add

    def slow(new: Any) -> Any:
        begun.set()
        assert go.wait(30)
        return add(new)

    monkeypatch.setattr(bell.store.runs, "add", slow)
    task = asyncio.ensure_future(bell.aenqueue_many(send.request(str(number)) for number in range(20)))
    assert await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    await asyncio.to_thread(until, lambda: len(bell.runs()) == 20, "all twenty to be written")
    # And the store is as good as before.
    assert (await send.aenqueue("after")).status is Status.QUEUED


@pytest.mark.anyio
async def test_the_event_loop_is_not_held_up_by_a_slow_store(
    bell: Workbell, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    for verb in ("add", "find", "apply", "list"):
        real = getattr(bell.store.runs, verb)

        def watched(*args: Any, real: Any = real) -> Any:
            threads.append(threading.get_ident())
            return real(*args)

        monkeypatch.setattr(bell.store.runs, verb, watched)
    run = await send.options(key="k").aenqueue("x")
    await send.options(key="k").aenqueue("x")
    await bell.aget(run.id)
    await bell.aruns()
    await bell.acancel(run.id)
    assert len(threads) >= 5
    assert threading.get_ident() not in threads


@pytest.mark.anyio
async def test_the_first_use_makes_the_tables_on_a_thread(
    empty_sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workbell(empty_sqlite_url, settings=Settings(url=empty_sqlite_url)) as bell:
        threads: list[int] = []
        assert isinstance(bell.store, SqliteStore)
        for verb in ("reader", "write"):
            real = getattr(bell.store.file, verb)

            def watched(*args: Any, real: Any = real, **options: Any) -> Any:
                threads.append(threading.get_ident())
                return real(*args, **options)

            monkeypatch.setattr(bell.store.file, verb, watched)

        @bell.job
        def ring() -> None: ...

        run = await ring.aenqueue()
        assert run.status is Status.QUEUED
        assert len(threads) >= 3  # the check, the migration, the run
        assert threading.get_ident() not in threads
