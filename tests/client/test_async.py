"""The verbs for async code: the same as the plain ones, and safe to cancel."""

from __future__ import annotations

import asyncio
import inspect
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import finish, take
from tests.support.inside.features import (
    Emitter,
    Enqueuer,
    Enqueuing,
    Executions,
    JobFunction,
    LocalClient,
    Pauses,
    Runs,
    Workers,
)
from tests.support.inside.stores import SqliteStore
from tests.support.inside.values import Settings
from tests.support.waiting import until
from workbell import DuplicateRun, RunNotFound, Status, WaitTimeout, Workbell

PAIRS = [
    *((Enqueuing, verb, f"a{verb}") for verb in ("enqueue", "enqueue_many", "write")),
    *((Runs, verb, f"a{verb}") for verb in "page count get attempts why cancel retry bulk logs tallies".split()),
    *((part, "__call__", "acall") for part in (Runs, Workers, Pauses, Executions)),
    (Runs, "wait", "await_"),
    *((Workers, verb, f"a{verb}") for verb in ("drain", "resume", "rewinds")),
    *((Pauses, verb, f"a{verb}") for verb in ("pause", "resume")),
    (Emitter, "emit", "aemit"),
    *((Executions, verb, f"a{verb}") for verb in ("get", "invocations")),
    *((LocalClient, verb, f"a{verb}") for verb in "enqueue enqueue_many page_of_runs count_runs get attempts".split()),
    *((LocalClient, verb, f"a{verb}") for verb in "why cancel retry bulk logs emit execution invocations".split()),
    *((LocalClient, verb, f"a{verb}") for verb in "drain_worker resume_worker pause resume notify broadcast".split()),
    (LocalClient, "wait", "await_"),
    (JobFunction, "enqueue", "aenqueue"),
    (Enqueuer, "enqueue", "aenqueue"),
]
CALLED = {"runs": Runs, "workers": Workers, "pauses": Pauses, "executions": Executions}  # parts that are verbs as well


@pytest.mark.parametrize(("kind", "plain", "twin"), PAIRS)
def test_each_verb_and_its_twin_have_one_signature(kind: type, plain: str, twin: str) -> None:
    one, other = getattr(kind, plain), getattr(kind, twin)
    assert inspect.iscoroutinefunction(other)
    assert not inspect.iscoroutinefunction(one)
    assert inspect.signature(one) == inspect.signature(other)
    assert one.__annotations__ == other.__annotations__


def test_no_async_verb_is_without_its_plain_one() -> None:
    for kind in {kind for kind, _, _ in PAIRS}:
        names = {name for name, value in vars(kind).items() if inspect.iscoroutinefunction(value) and name[0] != "_"}
        twins = {twin for owner, _, twin in PAIRS if owner is kind}
        assert names - (set(map("a{}".format, CALLED)) if kind is LocalClient else set()) == twins


@pytest.mark.parametrize("verb", CALLED)
def test_a_part_that_is_called_has_a_twin_on_the_client(verb: str) -> None:
    plain, twin = CALLED[verb].__call__, getattr(LocalClient, f"a{verb}")
    assert inspect.iscoroutinefunction(twin)
    assert inspect.signature(plain) == inspect.signature(twin)
    assert plain.__doc__ == twin.__doc__


def test_a_verb_of_the_client_is_that_of_its_part(bell: Workbell) -> None:
    """Its parameters and its words are the part's: completion and `help` show them."""
    assert inspect.signature(bell.get) == inspect.signature(bell.runs.get)
    assert bell.get.__doc__ == bell.runs.get.__doc__ == "A run by its id."
    assert bell.aget.__name__ == "aget"


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
@pytest.mark.filterwarnings("default")
async def test_a_wait_that_blocks_the_event_loop_says_so(bell: Workbell, send: Any) -> None:
    """A warning and no error: a notebook has an event loop, and calls plain functions all the same."""
    run = await send.aenqueue("x")
    words = r"bell\.wait blocks the event loop .* `await bell\.await_\(…\)`"
    with pytest.warns(RuntimeWarning, match=words) as told, pytest.raises(WaitTimeout):
        bell.wait(run.id, 0.01)
    assert [Path(warning.filename).name for warning in told] == ["test_async.py"], "where it was called"
    with pytest.warns(RuntimeWarning, match=r"bell\.watch blocks the event loop .* `async for run in bell\.awatch"):
        next(bell.watch(run.id))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(WaitTimeout):
            await asyncio.to_thread(bell.wait, run.id, 0.01)


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
    with Workbell(settings=Settings(url=empty_sqlite_url)) as bell:
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
