"""Hooks around runs in a real engine, in the test kit and in rounds of `consume`."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Context, Event, JobsError, Retry, Run, Status, Workbell
from workbell.settings import Settings
from workbell.testing import drain, inline

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)
tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(store=fresh_store(), settings=Settings(lease=5, poll=0.02, grace=5)) as bell:
        yield bell


@pytest.fixture
def steps(bell: Workbell) -> list[str]:
    """What happened, in order. The hook `outer` is declared before any job, `inner` after those of a test."""
    steps: list[str] = []

    @bell.around_run
    def outer(ctx: Context) -> Iterator[None]:
        steps.append(f"before {ctx.run.job}")
        token = tenant.set(ctx.run.tenant)
        try:
            yield
        except BaseException as error:
            steps.append(type(error).__name__)
            raise
        finally:
            tenant.reset(token)
            steps.append("after")

    return steps


async def ended(bell: Workbell, run: Run) -> Run:
    return await bell.await_(run.id, timeout=30)


class TestInAnEngine:
    async def test_a_plain_handler_in_its_own_thread(self, bell: Workbell, steps: list[str]) -> None:
        threads = []

        @bell.job
        def who() -> str:
            threads.append(threading.current_thread())
            steps.append("handler")
            return tenant.get()

        @bell.around_run
        def inner() -> Iterator[None]:
            threads.append(threading.current_thread())
            steps.append("inner")
            yield
            steps.append("inner after")

        async with bell.running():
            run = await ended(bell, await who.aenqueue())
        assert run.result == "default"
        assert steps == ["before who", "inner", "handler", "inner after", "after"]
        assert threads[0] is threads[1]

    async def test_an_async_handler_in_its_own_task(self, bell: Workbell, steps: list[str]) -> None:
        tasks = []

        @bell.around_run(only="async")
        async def inner(ctx: Context) -> AsyncIterator[None]:
            tasks.append(asyncio.current_task())
            await asyncio.sleep(0)
            tenant.set(f"{tenant.get()} of {ctx.run.job}")
            yield
            await asyncio.sleep(0)
            steps.append("inner after")

        @bell.job
        async def who() -> str:
            tasks.append(asyncio.current_task())
            return tenant.get()

        @bell.job
        def plain() -> str:
            return tenant.get()

        async with bell.running(concurrency=1):
            first = await ended(bell, await who.aenqueue())
            assert (await ended(bell, await who.aenqueue())).result == first.result  # nothing leaks into the next run
            assert (await ended(bell, await plain.aenqueue())).result == "default"
        assert first.result == "default of who"
        assert tasks[0] is tasks[1]
        assert steps[:3] == ["before who", "inner after", "after"]

    async def test_a_timeout_counts_the_hook(self, bell: Workbell) -> None:
        @bell.around_run(only="async")
        async def slow() -> AsyncIterator[None]:
            await asyncio.Event().wait()
            yield

        gate = threading.Event()

        @bell.around_run(only="plain")
        def blocks() -> Iterator[None]:
            gate.wait(30)
            yield

        called = []

        @bell.job(timeout=0.05, retry=ONCE)
        async def on_loop() -> None:
            called.append("on_loop")

        @bell.job(timeout=0.05, retry=ONCE)
        def plain() -> None: ...

        async with bell.running():
            runs = [await ended(bell, await job.aenqueue()) for job in (on_loop, plain)]
            gate.set()
        assert [(run.status, run.reason) for run in runs] == [(Status.FAILED, "timeout")] * 2
        assert called == []

    async def test_a_cancelled_handler_is_seen_by_its_hook(self, bell: Workbell, steps: list[str]) -> None:
        begun = asyncio.Event()

        @bell.job
        async def waits() -> None:
            begun.set()
            await asyncio.Event().wait()

        async with bell.running():
            run = await waits.aenqueue()
            await asyncio.wait_for(begun.wait(), 30)
            await bell.acancel(run.id, "enough")
            assert (await ended(bell, run)).reason == "enough"
        assert steps == ["before waits", "CancelledError", "after"]

    async def test_jobs_of_workbell_itself_have_no_hooks(self, bell: Workbell, steps: list[str]) -> None:
        @bell.job
        def mine() -> None: ...

        mine.options(delay=3600).enqueue()
        async with bell.running():
            run = bell.runs.bulk("cancel", job="mine")
            assert (await ended(bell, run)).status is Status.SUCCEEDED
        assert steps == []
        assert all(not bell.registry.find(name).hooks for name in bell.registry.served if name != "mine")  # type: ignore[union-attr]

    async def test_consume_of_one_round(self, bell: Workbell, steps: list[str]) -> None:
        @bell.job
        def who() -> str:
            return tenant.get()

        run = who.enqueue()
        await bell.aconsume(seconds=30)
        assert bell.get(run.id).result == "default"
        assert steps == ["before who", "after"]


class TestErrors:
    """By `drain`, whose calls are the engine's."""

    def test_the_handlers_error_is_raised_at_the_yield(self, bell: Workbell, steps: list[str]) -> None:
        @bell.job(retry=ONCE)
        def fails() -> None:
            raise LookupError("gone")

        fails.enqueue()
        (run,) = drain(bell)
        assert (run.status, run.reason) == (Status.FAILED, "error")
        assert steps == ["before fails", "LookupError", "after"]
        assert "in fails" in (run.error or "")
        assert "in outer" not in (run.error or "")  # what raised it, and not what it came through

    @pytest.mark.parametrize("error", [ValueError("lost"), StopIteration(), StopAsyncIteration(), SystemExit(3)])
    @pytest.mark.parametrize("is_async", [False, True])
    def test_a_hook_cannot_turn_a_failure_into_success(
        self, bell: Workbell, error: BaseException, is_async: bool
    ) -> None:
        swallowed = []

        @bell.around_run
        def swallows() -> Iterator[None]:
            try:
                yield
            except BaseException as caught:
                swallowed.append(caught)

        @bell.around_run(only="async")
        async def passes() -> AsyncIterator[None]:
            yield

        @bell.job(retry=ONCE)
        def plain() -> None:
            raise error

        @bell.job(retry=ONCE)
        async def on_loop() -> None:
            await asyncio.sleep(0)
            raise LookupError("no way out") from error  # a coroutine cannot raise some of these itself

        (on_loop if is_async else plain).enqueue()
        (run,) = drain(bell)
        assert (run.status, run.reason) == (Status.FAILED, "error")
        expected = "LookupError" if is_async else type(error).__name__
        assert expected in (run.error or "")
        assert len(swallowed) == 1

    def test_an_async_hook_that_swallows(self, bell: Workbell) -> None:
        @bell.around_run
        async def swallows() -> AsyncIterator[None]:
            try:
                yield
            except ValueError:
                return

        @bell.job(retry=ONCE)
        async def fails() -> None:
            raise ValueError("lost")

        fails.enqueue()
        assert "ValueError: lost" in (drain(bell)[0].error or "")

    def test_an_error_before_the_yield_fails_the_attempt_without_a_call(self, bell: Workbell, steps: list[str]) -> None:
        called = []

        @bell.around_run
        def refuses() -> Iterator[None]:
            raise PermissionError("not today")
            yield

        @bell.job(retry=Retry(attempts=2, delay=60, jitter=0))
        def never() -> None:
            called.append(1)

        run = never.enqueue()
        assert drain(bell) == []
        again = bell.get(run.id)
        assert (again.status, again.failures) == (Status.SCHEDULED, 1)
        assert (again.error or "").startswith("PermissionError: not today")
        assert "in refuses" in (again.error or "")
        assert called == []
        assert steps == ["before never", "PermissionError", "after"]  # the outer one sees it as the handler's

    def test_an_error_after_the_yield_fails_the_attempt(self, bell: Workbell) -> None:
        @bell.around_run
        def breaks() -> Iterator[None]:
            yield
            raise OSError("cannot clean up")

        @bell.job(retry=ONCE)
        def fine() -> str:
            return "well"

        fine.enqueue()
        (run,) = drain(bell)
        assert (run.status, run.result) == (Status.FAILED, None)
        assert (run.error or "").startswith("OSError: cannot clean up")

    def test_an_error_in_place_of_the_handlers_names_both(self, bell: Workbell) -> None:
        @bell.around_run
        def replaces() -> Iterator[None]:
            try:
                yield
            except KeyError as error:
                raise RuntimeError("translated") from error

        @bell.job(retry=ONCE)
        def fails() -> None:
            raise KeyError(7)

        fails.enqueue()
        error = drain(bell)[0].error or ""
        assert error.startswith("RuntimeError: translated")
        assert "Caused by: KeyError: 7" in error
        assert "contextlib" not in error

    @pytest.mark.parametrize("is_async", [False, True])
    def test_a_result_that_cannot_be_stored_is_an_error_for_hooks(
        self, bell: Workbell, steps: list[str], is_async: bool
    ) -> None:
        """A hook that commits after the handler must not commit what has failed."""

        @bell.job
        def plain() -> object:
            return object()

        @bell.job
        async def on_loop() -> object:
            return object()

        job = on_loop if is_async else plain
        job.enqueue()
        (run,) = drain(bell)
        assert (run.status, run.reason) == (Status.FAILED, "result")
        assert steps == [f"before {job.name}", "InvalidInput", "after"]

    @pytest.mark.parametrize("is_async", [False, True])
    def test_no_yield_and_two(self, bell: Workbell, is_async: bool) -> None:
        count, closed = 0, []

        def plain() -> Iterator[None]:
            try:
                for _ in range(count):
                    yield
            finally:
                closed.append(count)

        async def on_loop() -> AsyncIterator[None]:
            try:
                for _ in range(count):
                    yield
            finally:
                closed.append(count)

        bell.around_run(on_loop if is_async else plain)

        async def fine() -> None: ...

        job = bell.job(retry=ONCE)(fine)
        for number, words in [(0, "it ended without a yield"), (2, "it yields twice"), (1, "")]:
            count = number
            job.enqueue()
            (run,) = drain(bell)
            assert words in (run.error or "")
            assert (run.status is Status.FAILED) is bool(words)
        assert closed == [0, 2, 1]

    def test_ctx_db_is_committed_after_the_hooks(self, tmp_path: Path) -> None:
        settings = Settings(url=f"sqlite:///{tmp_path}/workbell.db", database=f"sqlite:///{tmp_path}/app.db")
        with Workbell(settings=settings) as bell:
            fails = False

            @bell.around_run
            def writes(ctx: Context) -> Iterator[None]:
                ctx.db.execute("CREATE TABLE IF NOT EXISTS seen (run)")
                yield
                ctx.db.execute("INSERT INTO seen VALUES (?)", (ctx.run.id,))
                if fails:
                    raise OSError

            @bell.job(retry=ONCE)
            def quiet() -> None: ...  # takes no context itself

            @bell.job
            def seen(ctx: Context) -> int:
                return int(ctx.db.execute("SELECT count(*) FROM seen").fetchone()[0])

            quiet.enqueue()
            drain(bell)
            fails = True
            quiet.enqueue()
            drain(bell)
            fails = False
            seen.enqueue()
            assert drain(bell)[0].result == 1


class TestWhichRuns:
    def test_inline(self, bell: Workbell, steps: list[str]) -> None:
        @bell.job
        def who() -> str:
            return tenant.get()

        with inline(bell):
            assert who.enqueue().result == "default"
        assert steps == ["before who", "after"]

    def test_event_handlers(self, bell: Workbell, steps: list[str]) -> None:
        @bell.on("posts.*")
        def hears(event: Event) -> str:
            return f"{tenant.get()} {event.type}"

        @bell.on("posts.*")
        async def hears_too(event: Event) -> str:
            return f"{tenant.get()} {event.type}"

        bell.emit("posts.created")
        assert sorted(run.result for run in drain(bell)) == ["default posts.created"] * 2
        assert sorted(steps) == ["after", "after", "before hears", "before hears_too"]

    def test_definitions(self, bell: Workbell, steps: list[str]) -> None:
        @bell.job
        def who() -> str:
            return tenant.get()

        bell.runtime.declare_jobs()
        bell.jobs.put("whose", handler="who")
        bell.enqueue("whose")
        assert drain(bell)[0].result == "default"
        assert steps == ["before whose", "after"]

    def test_other_tenants(self, bell: Workbell) -> None:
        @bell.around_run
        def tenants(ctx: Context) -> Iterator[None]:
            tenant.set(ctx.run.tenant)
            yield

        @bell.job
        def who() -> str:
            return tenant.get()

        bell.for_tenant("acme").enqueue("who")
        assert drain(bell)[0].result == "acme"
        assert tenant.get() == "nobody"

    def test_what_a_hook_enqueues_has_the_run_as_its_parent(self, bell: Workbell) -> None:
        @bell.around_run
        def follows(ctx: Context) -> Iterator[None]:
            yield
            if ctx.run.job == "first":
                bell.enqueue("second")

        bell.job(name="first")(lambda: None)
        bell.job(name="second")(lambda: None)
        first = bell.enqueue("first")
        assert drain(bell)[1].parent == first.id

    def test_a_direct_call_has_none(self, bell: Workbell, steps: list[str]) -> None:
        @bell.job
        def who() -> str:
            return tenant.get()

        assert who() == "nobody"
        assert steps == []


class TestWorkerStart:
    async def test_once_in_a_process_before_the_first_run(self, bell: Workbell) -> None:
        steps = []

        @bell.on_worker_start
        def first() -> None:
            steps.append("first")

        @bell.job
        def work() -> None:
            steps.append("work")

        work.enqueue()
        await bell.aconsume(seconds=30)
        async with bell.running():
            await ended(bell, await work.aenqueue())
        assert steps == ["first", "work", "work"]

    async def test_an_error_names_function_file_and_remedy(self, bell: Workbell) -> None:
        called = []

        @bell.on_worker_start
        def connects() -> None:
            called.append(1)
            raise ConnectionRefusedError("nobody listens")

        @bell.job
        def never() -> None:
            called.append(2)

        run = never.enqueue()
        with pytest.raises(JobsError) as refused:
            async with bell.running():
                pass
        words = str(refused.value)
        assert words.startswith("on_worker_start TestWorkerStart.test_an_error_names")
        assert "connects (" in words
        assert "test_around_run.py:" in words
        assert "ConnectionRefusedError: nobody listens" in words
        assert "Correct it" in words
        with pytest.raises(JobsError):
            await bell.aconsume(seconds=30)
        assert called == [1, 1]  # a next start tries again
        assert bell.get(run.id).status is Status.QUEUED

    async def test_dispatch_and_drain_are_no_workers(self, bell: Workbell) -> None:
        called: list[int] = []
        bell.on_worker_start(lambda: called.append(1))
        bell.job(name="work")(lambda: None)
        bell.enqueue("work")
        await bell.adispatch()
        drain(bell)
        assert called == []
