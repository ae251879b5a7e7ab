"""Handlers in a real engine: timeouts, cancellation, context variables, and runs that die with their process."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Iterator
from types import MethodType

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.processes import state as process_state
from workbell import Context, Retry, Status, Workbell
from workbell.engine import execute
from workbell.engine.duty import DutyThread
from workbell.engine.progress_and_logs import ProgressAndLogs
from workbell.process import identity as machine
from workbell.process.platform import platform
from workbell.runs import runtime as runtime_module
from workbell.settings import Settings

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(store=fresh_store(), settings=Settings(lease=0.5, poll=0.02, grace=5)) as bell:
        yield bell


async def test_an_engine_whose_threads_cannot_all_start_leaves_none(
    bell: Workbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system may have no more of them. Those that began would go on claiming, and nobody would stop them."""
    before, begun = set(threading.enumerate()), 0
    sinks = bell.runtime.publisher._sinks

    def start(thread: DutyThread) -> None:
        nonlocal begun
        begun += 1
        if begun > 4:
            raise RuntimeError("can't start new thread")
        thread._thread.start()

    with monkeypatch.context() as full:
        full.setattr(DutyThread, "start", start)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            async with bell.running():
                pytest.fail("it runs")
    left = {thread for thread in set(threading.enumerate()) - before if isinstance(thread._target, MethodType)}
    assert [thread.name for thread in left if isinstance(thread._target.__self__, DutyThread)] == []
    assert bell.runtime.publisher._sinks == sinks

    @bell.job
    def work() -> int:
        return 1

    async with bell.running():
        assert (await bell.await_((await work.aenqueue()).id, timeout=30)).result == 1


def test_services_of_very_many_tenants_are_not_kept_for_ever(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "MOST_TENANTS", 10)
    contexts = execute.Contexts(bell.runtime, ProgressAndLogs(bell.store, bell.store.clock))
    for number in range(30):
        assert contexts.services_of(f"t{number}").tenant == f"t{number}"
    assert len(contexts._services) <= 10
    assert contexts.services_of("t29") is contexts.services_of("t29")


class TestTimeouts:
    async def test_async_handler_is_canceled(self, bell: Workbell) -> None:
        ended = asyncio.Event()

        @bell.job(timeout=0.05, retry=ONCE)
        async def slow() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with bell.running():
            run = await bell.await_((await slow.aenqueue()).id, timeout=30)
            await asyncio.wait_for(ended.wait(), 30)
        assert (run.status, run.reason) == (Status.FAILED, "timeout")
        assert "did not return within 0.05 s" in (run.error or "")

    async def test_plain_handler_is_booked_at_once_and_its_return_dropped(self, bell: Workbell) -> None:
        gate, returned, told = threading.Event(), threading.Event(), []

        @bell.job(timeout=0.05, retry=ONCE)
        def slow(ctx: Context) -> str:
            gate.wait(30)
            told.append(ctx.canceled)
            returned.set()
            return "too late"

        @bell.job
        def quick() -> str:
            return "in time"

        async with bell.running(concurrency=1):
            run = await bell.await_((await slow.aenqueue()).id, timeout=30)  # though the thread is still held
            assert (run.status, run.reason, run.result) == (Status.FAILED, "timeout", None)
            other = await bell.await_((await quick.aenqueue()).id, timeout=30)  # in the slot that was its own
            assert other.result == "in time"
            gate.set()
            await asyncio.to_thread(returned.wait, 30)
            again = await bell.await_((await quick.aenqueue()).id, timeout=30)
            assert again.result == "in time"
        assert bell.get(run.id) == run
        assert told == [True]

    async def test_the_run_has_the_first_word(self, bell: Workbell) -> None:
        @bell.job(timeout=3600, retry=ONCE)
        async def slow() -> None:
            await asyncio.Event().wait()

        async with bell.running():
            run = await bell.await_((await slow.options(timeout=0.01).aenqueue()).id, timeout=30)
        assert run.reason == "timeout"

    async def test_timeouts_of_the_handlers_own_are_errors(self, bell: Workbell) -> None:
        @bell.job(timeout=3600, retry=ONCE)
        async def inner() -> None:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()

        async with bell.running():
            run = await bell.await_((await inner.aenqueue()).id, timeout=30)
        assert (run.status, run.reason) == (Status.FAILED, "error")
        assert "TimeoutError" in (run.error or "")

    async def test_a_timeout_is_a_failure_that_is_retried(self, bell: Workbell) -> None:
        @bell.job(timeout=0.02, retry=Retry(attempts=2, delay=0))
        async def first_slow(ctx: Context) -> int:
            if ctx.run.attempt == 1:
                await asyncio.Event().wait()
            return ctx.run.failures

        async with bell.running():
            run = await bell.await_((await first_slow.aenqueue()).id, timeout=30)
        assert (run.status, run.result) == (Status.SUCCEEDED, 1)


class TestCancel:
    async def test_async_handler_gets_a_cancelled_error(self, bell: Workbell) -> None:
        begun, seen = asyncio.Event(), []

        @bell.job
        async def endless() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append(True)
                raise

        async with bell.running():
            run = await endless.aenqueue()
            await asyncio.wait_for(begun.wait(), 30)
            await bell.acancel(run.id)
            ended = await bell.await_(run.id, timeout=30)
        assert (ended.status, ended.reason, ended.failures) == (Status.CANCELED, "canceled on request", 0)
        assert seen == [True]

    async def test_plain_handler_is_told(self, bell: Workbell) -> None:
        begun = threading.Event()

        @bell.job
        def endless(ctx: Context) -> None:
            begun.set()
            while not ctx.canceled:
                pause.wait(0.005)
            raise RuntimeError("stopped")

        pause = threading.Event()
        async with bell.running():
            run = await endless.aenqueue()
            await asyncio.to_thread(begun.wait, 30)
            await bell.acancel(run.id)
            ended = await bell.await_(run.id, timeout=30)
        assert (ended.status, ended.reason) == (Status.CANCELED, "canceled on request")

    async def test_the_slot_goes_on(self, bell: Workbell) -> None:
        """One slot: after a cancellation it must be there for the next run, without a trace of it."""
        begun = asyncio.Event()

        @bell.job
        async def endless() -> None:
            begun.set()
            await asyncio.Event().wait()

        @bell.job
        async def next_one() -> int:
            await asyncio.sleep(0.01)  # a cancellation left over would strike here
            task = asyncio.current_task()
            assert task is not None
            return task.cancelling()

        async with bell.running(concurrency=1):
            run = await endless.aenqueue()
            await asyncio.wait_for(begun.wait(), 30)
            after = await next_one.aenqueue()
            await bell.acancel(run.id)
            ended = await bell.await_(after.id, timeout=30)
        assert (ended.status, ended.result) == (Status.SUCCEEDED, 0)


class TestContextVariables:
    @pytest.mark.parametrize("kind", ["async", "plain"])
    async def test_do_not_leak_into_the_next_run(self, bell: Workbell, kind: str) -> None:
        """One slot, many runs: each sees what the application had set, and nothing of the run before."""
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")

        def look_and_change(number: int) -> str:
            seen = variable.get()
            if number % 2 == 0:  # also where the run between them changes nothing
                variable.set(f"from run {number}")
            return seen

        @bell.job(name="plain")
        def plain(number: int) -> str:
            return look_and_change(number)

        @bell.job(name="async")
        async def asynchronous(number: int) -> str:
            seen = look_and_change(number)
            await asyncio.sleep(0)
            return seen

        runs = await bell.aenqueue_many([(kind, {"number": number}) for number in range(6)])
        async with bell.running(concurrency=1):
            ended = [await bell.await_(run.id, timeout=30) for run in runs]
        assert [run.result for run in ended] == ["unset"] * 6


class TestOrphans:
    """B9: runs that are not persistent do not outlive the process that accepted them."""

    async def test_canceled_by_the_next_one(self, bell: Workbell, monkeypatch) -> None:
        @bell.job
        async def work() -> None: ...

        here, me = machine.process_name().split("/")[0], os.getpid()
        gone = 2**22 + 1  # beyond the highest process id
        with pytest.raises(FileNotFoundError):
            process_state(gone)
        accepted = {
            "gone": f"{here}/{gone}/12345",
            "another with the same id": f"{here}/{me}/1",
            "this one": machine.process_name(),
            "elsewhere": f"elsewhere/{gone}/12345",
        }
        runs = {}
        for name, process in accepted.items():
            monkeypatch.setattr(runtime_module, "process_name", lambda process=process: process)
            runs[name] = work.options(persistent=False, delay=3600).enqueue()
        monkeypatch.undo()
        kept = work.options(delay=3600).enqueue()
        async with bell.running():
            found = {name: bell.get(run.id) for name, run in runs.items()}
        told_apart = {"another with the same id"} if platform().proc else set()
        assert {name for name, run in found.items() if run.status is Status.CANCELED} == {"gone"} | told_apart
        assert found["gone"].reason == "the server that accepted it was restarted"
        assert not found["this one"].persistent
        assert bell.get(kept.id).status is Status.SCHEDULED


class TestTenants:
    async def test_what_a_handler_enqueues_belongs_to_its_own_tenant(self, bell: Workbell) -> None:
        @bell.job
        def first(ctx: Context) -> str:
            return ctx.enqueue("second").id

        @bell.job
        def second() -> None: ...

        theirs = bell.for_tenant("theirs")
        async with bell.running():
            run = await theirs.await_((await theirs.aenqueue("first")).id, timeout=30)
            assert (await theirs.aget(run.result)).tenant == "theirs"


async def test_a_stop_leaves_no_task_behind(bell: Workbell) -> None:
    before = asyncio.all_tasks()

    @bell.job
    async def work() -> None: ...

    async with bell.running():
        await bell.await_((await work.aenqueue()).id, timeout=30)
    for _ in range(10):  # what was cancelled ends with the next turns of the loop
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_runs_for_an_agent_are_left_to_it(bell: Workbell) -> None:
    """Another machine, and other secrets: code for the job is not enough."""

    @bell.job
    def work() -> None: ...

    aimed = await work.options(target="box1").aenqueue()
    async with bell.running(concurrency=1):
        own = await bell.await_((await work.aenqueue()).id, timeout=30)
    left = bell.get(aimed.id)
    assert (own.status, left.status, left.attempt) == (Status.SUCCEEDED, Status.QUEUED, 0)
