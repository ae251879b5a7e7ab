"""drain: what is due is executed here and now, by the engine's own rules."""

from __future__ import annotations

import asyncio
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from workbell import Cancel, Context, Retry, Snooze, Status, Workbell, WorkbellError
from workbell.model.clock import ManualClock
from workbell.settings import Settings
from workbell.stores.port import LeaseTerms, Pick, Store
from workbell.testing import drain


def test_plain_and_async_handlers_run_in_the_callers_thread(workbell_memory: Workbell) -> None:
    bell, threads = workbell_memory, []

    @bell.job
    def plain(number: int) -> int:
        threads.append(threading.current_thread())
        return number + 1

    @bell.job
    async def waiting(number: int) -> int:
        await asyncio.sleep(0)
        threads.append(threading.current_thread())
        return number + 2

    made = [plain.enqueue(1), waiting.enqueue(1)]
    ended = drain(bell)
    assert {run.id: run.result for run in ended} == {made[0].id: 2, made[1].id: 3}
    assert [run.status for run in ended] == [Status.SUCCEEDED] * 2
    assert set(threads) == {threading.current_thread()}


def test_it_works_on_every_store(store: Store) -> None:
    with Workbell(settings=Settings(), store=store) as bell:

        @bell.job
        def double(number: int) -> int:
            return number * 2

        runs = [double.enqueue(number) for number in range(5)]
        drain(bell)
        assert [bell.get(run.id).result for run in runs] == [0, 2, 4, 6, 8]


def test_it_follows_priority(workbell_memory: Workbell) -> None:
    bell, order = workbell_memory, []

    @bell.job
    def note(word: str) -> None:
        order.append(word)
        if word == "first":
            note.options(priority=9).enqueue("urgent")

    note.enqueue("last")
    note.options(priority=5).enqueue("first")
    note.enqueue("after")
    drain(bell)
    assert order == ["first", "urgent", "last", "after"]


def test_without_until_idle_only_what_was_due_at_the_call(workbell_memory: Workbell) -> None:
    bell = workbell_memory

    @bell.job
    def chain(left: int) -> None:
        if left:
            chain.enqueue(left - 1)

    chain.enqueue(2)
    assert [run.input for run in drain(bell, until_idle=False)] == [{"left": 2}]
    assert [run.input for run in drain(bell)] == [{"left": 1}, {"left": 0}]
    assert drain(bell) == []


def test_what_is_not_due_waits_for_the_clock(workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
    bell, calls = workbell_memory, []

    @bell.job
    def later() -> None:
        calls.append(1)

    later.options(delay=60).enqueue()
    assert drain(bell) == []
    workbell_clock.advance(59)
    assert drain(bell) == []
    workbell_clock.advance(1)
    assert len(drain(bell)) == 1
    assert calls == [1]


def test_retries_follow_the_policy(workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
    bell = workbell_memory

    @bell.job(retry=Retry(attempts=2, delay=10, factor=1, jitter=0))
    def broken() -> None:
        raise ValueError("no")

    run = broken.enqueue()
    assert drain(bell) == []
    waiting = bell.get(run.id)
    assert (waiting.status, waiting.failures) == (Status.SCHEDULED, 1)
    assert waiting.scheduled_for == workbell_clock.now() + timedelta(seconds=10)
    workbell_clock.advance(10)
    (failed,) = drain(bell)
    assert (failed.status, failed.failures) == (Status.FAILED, 2)
    assert "ValueError: no" in (failed.error or "")
    assert [attempt.status for attempt in bell.attempts(run.id)] == ["failed", "failed"]


def test_snooze_cancel_and_expiry(workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
    bell = workbell_memory

    @bell.job
    def steer(how: str) -> object:
        return {"snooze": Snooze(30), "cancel": Cancel("not today")}.get(how)

    snoozed, canceled = steer.enqueue("snooze"), steer.enqueue("cancel")
    expiring = steer.options(delay=5, expires=10).enqueue("x")
    assert [(run.id, run.reason) for run in drain(bell)] == [(canceled.id, "not today")]
    assert bell.get(snoozed.id).status is Status.SCHEDULED
    workbell_clock.advance(20)
    drain(bell)
    assert (bell.get(expiring.id).status, bell.get(expiring.id).reason) == (Status.CANCELED, "expired")


def test_raise_errors_raises_the_handlers_own_error_once_booked(workbell_memory: Workbell) -> None:
    bell = workbell_memory

    @bell.job(retry=Retry(attempts=1))
    async def broken() -> None:
        raise ZeroDivisionError("mine")

    @bell.job
    def fine() -> None:
        return None

    run, other = broken.options(priority=1).enqueue(), fine.enqueue()
    with pytest.raises(ZeroDivisionError, match="mine"):
        drain(bell, until_idle=False, raise_errors=True)
    assert bell.get(run.id).status is Status.FAILED
    back = bell.get(other.id)
    assert (back.status, back.attempt) == (Status.QUEUED, 0)  # handed back, nothing spent
    assert [run.id for run in drain(bell)] == [other.id]


def test_the_context_is_a_real_one(workbell_memory: Workbell) -> None:
    bell = workbell_memory

    @bell.job
    def ask(ctx: Context) -> list[object]:
        ctx.progress(1, 2, "half")
        before = ctx.canceled
        bell.cancel(ctx.run.id)
        return [ctx.run.attempt, before, ctx.canceled]

    ask.enqueue()
    (run,) = drain(bell)
    assert run.result == [1, False, True]
    assert run.progress == {"done": 1, "total": 2, "message": "half"}


def test_other_tenants_run_with_a_client_of_their_own(workbell_memory: Workbell) -> None:
    bell = workbell_memory

    @bell.job
    def hello(ctx: Context, more: bool = False) -> str:
        if more:
            ctx.enqueue("hello")
        return ctx.run.tenant

    other = bell.for_tenant("other")
    other.enqueue("hello", {"more": True})
    assert [run.result for run in drain(bell)] == ["other", "other"]
    other.close()


def test_unknown_jobs_wait(workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
    bell = workbell_memory
    with Workbell(settings=Settings(), store=bell.store) as elsewhere:

        @elsewhere.job
        def theirs() -> None: ...

        run = theirs.enqueue()
        assert drain(bell) == []
        assert bell.get(run.id).status is Status.QUEUED


def test_lost_runs_are_recovered(workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
    """A worker died while it held the run; its lease is over."""
    bell = workbell_memory

    @bell.job
    def work() -> int:
        return 1

    run = work.enqueue()
    (head,) = bell.store.runs.survey(-1, 10)
    now = workbell_clock.now()
    picks = [Pick(head.lane_id, head.rank, 1)]
    bell.store.runs.claim(picks, 1, LeaseTerms.drawn("dead", now, now + timedelta(days=30)))
    assert drain(bell) == []
    workbell_clock.advance(days=31)
    assert [(ended.id, ended.losses) for ended in drain(bell)] == [(run.id, 1)]


async def _call(bell: Workbell) -> list[object]:
    return [run.result for run in drain(bell)]


def test_it_can_be_called_from_async_code(workbell_memory: Workbell) -> None:
    bell = workbell_memory

    @bell.job
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    work.enqueue()
    assert asyncio.run(_call(bell)) == [7]


def test_a_job_that_never_ends_is_named(workbell_memory: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    # By its name: the package shows the function of the same name in the module's place.
    monkeypatch.setattr(sys.modules["workbell.testing.drain"], "MOST", 20)
    bell = workbell_memory

    @bell.job
    def forever() -> None:
        forever.enqueue()

    forever.enqueue()
    with pytest.raises(WorkbellError, match="enqueue itself"):
        drain(bell)


def test_log_lines_are_kept(workbell_memory: Workbell) -> None:
    bell = workbell_memory

    @bell.job(retry=Retry(attempts=2, delay=0))
    def note(ctx: Context) -> None:
        ctx.logger.info("attempt %d", ctx.run.attempt)
        if ctx.run.attempt == 1:
            raise ValueError("again")

    run = note.enqueue()
    drain(bell)
    assert [line.message for line in bell.logs(run.id)] == ["attempt 1", "attempt 2"]


class TestSchedulesOfDecorators:
    """`@bell.job(cron=…)` and `every=`: known from the start of the test's clock, as if an engine had started then."""

    def test_a_cron_fires(self, workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
        @workbell_memory.job(cron="*/5 * * * *", timezone="UTC")
        def tidy() -> str:
            return "tidied"

        workbell_clock.advance(minutes=5)
        assert [(run.job, run.result) for run in drain(workbell_memory)] == [("tidy", "tidied")]
        assert drain(workbell_memory) == []
        workbell_clock.advance(minutes=5)
        assert len(drain(workbell_memory)) == 1
        (schedule,) = workbell_memory.schedules.list()
        assert (schedule.name, schedule.run_count) == ("tidy", 2)

    def test_an_interval_fires(self, workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
        @workbell_memory.job(every=60)
        def beat() -> None: ...

        assert drain(workbell_memory) == []
        workbell_clock.advance(59)
        assert drain(workbell_memory) == []
        workbell_clock.advance(1)
        assert [run.scheduled_for for run in drain(workbell_memory)] == [workbell_clock.now()]

    def test_what_was_steered_stays_so(self, workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
        @workbell_memory.job(every=60)
        def beat() -> None: ...

        drain(workbell_memory)
        workbell_memory.schedules.pause("beat")
        workbell_clock.advance(minutes=5)
        assert drain(workbell_memory) == []

    def test_on_a_real_store(self, tmp_path: Path) -> None:
        with Workbell(f"sqlite:///{tmp_path / 'test.db'}") as bell:
            bell.job(name="beat", every=3600)(lambda: None)
            assert drain(bell) == []
            (schedule,) = bell.schedules.list()
            assert (schedule.name, schedule.source) == ("beat", f"code:{bell.engine.project}")


def test_a_stored_error_is_the_handlers_alone(workbell_memory: Workbell) -> None:
    """Nothing of how `drain` was called is shown as if the handler had raised it."""

    @workbell_memory.job(retry=Retry(attempts=1))
    def fail() -> None:
        raise ValueError("outer")

    fail.enqueue()
    (run,) = drain(workbell_memory)
    assert run.error is not None
    assert "While handling" not in run.error
    assert "running event loop" not in run.error
