"""Booking, pruning, what follows a failure, and who is allowed to claim how much."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.support.bench import Bench
from workbell import Retry, Run, Status, StoreError, StoreUnavailable
from workbell.engine import consume, prefetch
from workbell.model import state
from workbell.model.run_defaults import RESCHEDULES
from workbell.model.state import Transition
from workbell.runs import runtime
from workbell.runs.booking import LOCKED_PACE
from workbell.stores.database import Locked


@pytest.fixture
def bench() -> Bench:
    bench = Bench()

    @bench.bell.job(retry=Retry(attempts=1))
    def work(fail: bool = False) -> str:
        if fail:
            raise ValueError("no")
        return "done"

    return bench


class TestRefusedBatches:
    def test_written_one_by_one(self, bench: Bench, monkeypatch) -> None:
        """One row that the store cannot take must not hold up the others."""
        runs = bench.bell.enqueue_many([("work", {})] * 5)
        bad = runs[2].id
        sizes = []
        sound = bench.store.runs.apply

        def apply(changes: Sequence[Transition]) -> set[str]:
            sizes.append(len(changes))
            if any(change.run_id == bad and change.result_text for change in changes):
                raise StoreError("this one cannot be taken")
            return sound(changes)

        monkeypatch.setattr(bench.store.runs, "apply", apply)
        for work in bench.claim():
            bench.finish.put(work, bench.call(work))
        bench.finish.step(bench.clock.now())
        assert bench.finish.size == 0
        assert sizes == [5, *[1] * 6]  # and one more, that says it was refused
        good = [bench.run(run).status for run in runs if run.id != bad]
        assert good == [Status.SUCCEEDED] * 4
        self.booked_somehow(bench, bad)

    def test_alone_and_refused(self, bench: Bench, monkeypatch) -> None:
        """A single outcome that cannot be stored is not tried for ever: the run ends as failed, and says why."""
        run = bench.bell.enqueue("work")
        sound = bench.store.runs.apply

        def apply(changes: Sequence[Transition]) -> set[str]:
            if any(change.result_text for change in changes):
                raise StoreError("this one cannot be taken")
            return sound(changes)

        monkeypatch.setattr(bench.store.runs, "apply", apply)
        (work,) = bench.claim()
        bench.finish.put(work, bench.call(work))
        bench.finish.step(bench.clock.now())
        assert bench.finish.size == 0
        self.booked_somehow(bench, run.id)

    def booked_somehow(self, bench: Bench, run_id: str) -> None:
        ended = bench.run(run_id)
        assert (ended.status, ended.reason) == (Status.FAILED, "result")
        assert "this one cannot be taken" in (ended.error or "")
        assert bench.held.by_id == {}

    def test_store_away_keeps_everything(self, bench: Bench, monkeypatch) -> None:
        """The database is not there for a while: outcomes wait, and are written once."""
        runs = bench.bell.enqueue_many([("work", {})] * 3)
        sound = bench.store.runs.apply
        away = [True]

        def apply(changes: Sequence[Transition]) -> set[str]:
            if away:
                away.clear()
                sound(changes)  # it did happen, but the answer was lost
                raise StoreUnavailable("gone")
            return sound(changes)

        monkeypatch.setattr(bench.store.runs, "apply", apply)
        for work in bench.claim():
            bench.finish.put(work, bench.call(work))
        with pytest.raises(StoreUnavailable):
            bench.finish.step(bench.clock.now())
        assert bench.finish.size == 3
        bench.finish.step(bench.clock.now())
        assert {bench.run(run).status for run in runs} == {Status.SUCCEEDED}
        assert (len(bench.booked), bench.finish.superseded) == (3, 0)

    def test_first_outcome_counts(self, bench: Bench) -> None:
        run = bench.bell.enqueue("work", {"fail": True})
        (work,) = bench.claim()
        first = bench.call(work)
        bench.finish.put(work, first)
        bench.book(work, first)
        assert len(bench.booked) == 1
        assert bench.run(run).failures == 1


class TestStrays:
    def test_claim_whose_answer_was_lost(self, bench: Bench, monkeypatch) -> None:
        """What the store says we hold and we know nothing of is handed back unspent, and claimed again."""
        run = bench.bell.enqueue("work")
        sound = bench.store.runs.claim

        def claim(*arguments: object, **named: object) -> list[Run]:
            sound(*arguments, **named)
            raise StoreUnavailable("the answer was lost")

        monkeypatch.setattr(bench.store.runs, "claim", claim)
        with pytest.raises(StoreUnavailable):
            bench.consume.step(bench.clock.now())
        unknown = bench.run(run)
        assert unknown.status is Status.RUNNING
        monkeypatch.setattr(bench.store.runs, "claim", sound)
        (work,) = bench.claim()
        assert (work.run.id, work.run.attempt) == (run.id, 1)
        assert work.run.token != unknown.token
        assert bench.store.runs.attempts(run.id) == []

    @pytest.mark.parametrize("error", [StoreUnavailable("gone"), RuntimeError("of our own")])
    def test_whatever_went_wrong_behind_the_commit(self, bench: Bench, monkeypatch, error: Exception) -> None:
        """A keeper of leases would keep the run for us for ever, and we would not know."""
        run = bench.bell.enqueue("work")
        sound = bench.store.runs.claim

        def claim(*arguments: object, **named: object) -> list[Run]:
            sound(*arguments, **named)
            raise error

        monkeypatch.setattr(bench.store.runs, "claim", claim)
        with pytest.raises(type(error)):
            bench.consume.step(bench.clock.now())
        monkeypatch.setattr(bench.store.runs, "claim", sound)
        (work,) = bench.claim()
        assert (work.run.id, work.run.attempt) == (run.id, 1)

    def test_one_that_was_begun_and_let_go_of_is_a_lost_attempt(self, bench: Bench) -> None:
        run = bench.bell.enqueue("work")
        (work,) = bench.claim()
        bench.held.note_dropped([work])
        (again,) = bench.claim()
        assert (again.run.id, again.run.attempt, again.run.losses, again.run.suspect) == (run.id, 2, 1, False)
        assert [(attempt.number, attempt.status) for attempt in bench.store.runs.attempts(run.id)] == [(1, "lost")]

    def test_a_look_that_fails_is_made_again(self, bench: Bench, monkeypatch) -> None:
        run = bench.bell.enqueue("work")
        (work,) = bench.claim()
        bench.held.note_dropped([work])
        with monkeypatch.context() as broken:
            broken.setattr(bench.store.runs, "leases_of", lambda _workers: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                bench.consume.step(bench.clock.now())
        (again,) = bench.claim()
        assert (again.run.id, again.run.losses) == (run.id, 1)

    def test_only_strays_are_read(self, bench: Bench, monkeypatch) -> None:
        """Whoever holds hundreds of runs with large inputs does not read them all for one that was let go of, and
        hundreds of strays are read in parts."""
        bench.bell.enqueue("work")
        (held,) = bench.claim()
        for _ in range(3):
            bench.bell.enqueue("work")
        dropped = bench.claim()
        bench.held.note_dropped(dropped)
        monkeypatch.setattr(consume, "STRAYS", 2)
        find, read = bench.store.runs.find, []
        monkeypatch.setattr(bench.store.runs, "find", lambda ids: read.append([*ids]) or find(ids))
        monkeypatch.delattr(type(bench.store.runs), "held_by")
        bench.consume.step(bench.clock.now())
        assert sorted(map(len, read)) == [1, 2]
        assert held.run.id not in {one for ids in read for one in ids}
        assert {bench.bell.get(work.run.id).losses for work in dropped} == {1}

    def test_a_job_that_is_gone_at_this_very_moment(self, bench: Bench, monkeypatch) -> None:
        run = bench.bell.enqueue("work")
        with monkeypatch.context() as gone:
            gone.setattr(bench.bell.registry, "find", lambda _name: None)
            bench.consume.step(bench.clock.now())
        (work,) = bench.claim()
        assert (work.run.id, work.run.attempt) == (run.id, 1)


class TestPrefetch:
    def test_slow_handlers_hold_no_more_than_they_execute(self, bench: Bench) -> None:
        """Ten slots, a long line, and nothing done yet: ten claims, so that other workers get the rest."""
        bench.bell.enqueue_many([("work", {})] * 100)
        assert len(bench.claim()) == 10
        bench.clock.advance(5)
        assert bench.claim() == []

    def test_slow_pace_holds_few_ahead(self, bench: Bench) -> None:
        """Two a second: of these a tenth of a second works off none."""
        bench.bell.enqueue_many([("work", {})] * 100)
        held = bench.claim()
        for _ in range(10):
            bench.clock.advance(0.5)
            work = held.pop()
            bench.book(work, bench.call(work))
            held += bench.claim()
            assert len(bench.held) <= 11

    def test_quick_handlers_hold_a_tenth_of_a_second(self, bench: Bench) -> None:
        """A thousand a second: about a hundred ahead, and never more than the most."""
        bench.bell.enqueue_many([("work", {})] * 2000)
        held = bench.claim()
        for _ in range(20):
            bench.clock.advance(0.02)
            done, held = held[:20], held[20:]
            for work in done:
                bench.finish.put(work, bench.call(work))
            bench.finish.step(bench.clock.now())
            held += bench.claim()
        assert 50 <= len(held) <= 150
        assert len(held) <= prefetch.MOST_AHEAD + 10


class TestReschedules:
    def test_chain_of_ten_linked_runs(self, bench: Bench) -> None:
        """B8: a new run after the delay, linked to the failed one, which stays; and an end after ten."""
        first = bench.bell.enqueue("work", {"fail": True}, auto_reschedule=60, tag="chain")
        chain = [first.id]
        for _ in range(RESCHEDULES):
            (failed,) = bench.work()
            assert (failed.id, failed.status) == (chain[-1], Status.FAILED)
            (new,) = bench.bell.runs(status="scheduled")
            assert (new.rescheduled_from, new.input, new.tag, new.attempt) == (failed.id, {"fail": True}, "chain", 0)
            assert new.scheduled_for == bench.clock.now() + timedelta(seconds=60)
            assert bench.work() == []
            bench.clock.advance(60)
            chain.append(new.id)
        (last,) = bench.work()
        assert (last.id, last.status, last.reason) == (chain[-1], Status.FAILED, "error; the last run of its chain")
        assert bench.bell.runs(status=["scheduled", "queued", "running"]) == []
        assert len(set(chain)) == RESCHEDULES + 1 == len(bench.bell.runs())

    def test_what_was_said_about_the_first_holds_for_the_next(self, bench: Bench) -> None:
        """B1, B8, B9: also whether it outlives the process that accepted it."""
        asked = {"tag": "t", "user_id": 7, "priority": 5, "queue": "q", "retry": 1, "timeout": 9, "remove_delay": 30}
        first = bench.bell.enqueue("work", {"fail": True}, auto_reschedule=60, persistent=False, **asked)
        bench.work()
        (new,) = bench.bell.runs(status="scheduled")
        for field in "tag user_id priority queue retry persistent accepted_by lane input".split():
            assert getattr(new, field) == getattr(first, field), field
        assert (new.persistent, new.options.timeout, new.options.remove_delay) == (False, 9.0, 30.0)
        assert new.options.reschedules_left == RESCHEDULES - 1

    def test_a_retry_by_hand_begins_a_new_chain(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """B9: and belongs to the process that was asked for it."""
        first = bench.bell.enqueue("work", {"fail": True}, auto_reschedule=60, persistent=False)
        bench.work()
        monkeypatch.setattr(runtime, "process_name", lambda: "another/1/2")
        (follow,) = bench.bell.runs(status="scheduled")
        bench.bell.cancel(follow.id)
        again = bench.bell.retry(follow.id)
        assert (first.options.reschedules_left, follow.options.reschedules_left) == (RESCHEDULES, RESCHEDULES - 1)
        assert (again.accepted_by, again.options.reschedules_left) == ("another/1/2", RESCHEDULES)
        plain = bench.bell.retry(bench.bell.cancel(bench.bell.enqueue("work", delay=60).id).id)
        assert (plain.persistent, plain.options_text) == (True, None)

    def test_the_next_one_expires_after_as_long(self, bench: Bench) -> None:
        """And so does one that is retried by hand: what was said of all runs of a job holds for it."""
        first = bench.bell.enqueue("work", {"fail": True}, auto_reschedule=60, expires=90, retry=1)
        bench.work()
        (new,) = bench.bell.runs(status="scheduled")
        assert first.expires_at is not None
        assert new.expires_at == new.scheduled_for + timedelta(seconds=90)
        bench.clock.advance(7)
        again = bench.bell.retry(first.id)
        assert again.expires_at == again.created_at + timedelta(seconds=90)

    def test_how_long_it_gets_can_be_set(self, bench: Bench) -> None:
        bench.bell.runtime.reschedules = 1
        bench.bell.enqueue("work", {"fail": True}, auto_reschedule=60)
        for _ in range(3):
            bench.work()
            bench.clock.advance(60)
        assert [run.reason for run in bench.bell.runs()] == ["error; the last run of its chain", "error"]

    def test_success_ends_the_chain(self, bench: Bench) -> None:
        bench.bell.enqueue("work", auto_reschedule=60)
        (ended,) = bench.work()
        assert ended.status is Status.SUCCEEDED
        assert len(bench.bell.runs()) == 1

    def test_stale_failure_makes_no_run(self, bench: Bench) -> None:
        """What follows is written with the failure, or not at all."""
        bench.bell.enqueue("work", {"fail": True}, auto_reschedule=60)
        (work,) = bench.claim()
        outcome = bench.call(work)
        bench.lapse()
        bench.book(work, outcome)
        assert [run.status for run in bench.bell.runs()] == [Status.QUEUED]


class TestPrune:
    def test_by_status(self, bench: Bench) -> None:
        good, bad = bench.bell.enqueue("work"), bench.bell.enqueue("work", {"fail": True})
        bench.work()
        bench.clock.advance(days=7, seconds=-1)
        assert not bench.prune()
        assert len(bench.bell.runs()) == 2
        bench.clock.advance(1)
        bench.prune()
        assert [run.id for run in bench.bell.runs()] == [bad.id]
        bench.clock.advance(days=23)
        bench.prune()
        assert bench.bell.runs() == []
        assert bench.store.runs.attempts(good.id) == []

    @pytest.mark.parametrize("fail", [False, True])
    @pytest.mark.parametrize("delay", [0, 60])
    def test_remove_delay(self, bench: Bench, delay: int, fail: bool) -> None:
        """B1, B7: as long as the run itself asked for, from its end; 0 is at once, not never."""
        bench.bell.enqueue("work", {"fail": fail}, remove_delay=delay)
        (run,) = bench.work()
        assert run.remove_at == run.finished_at + timedelta(seconds=delay)
        if delay:
            bench.clock.advance(delay - 1)
            bench.prune()
            assert len(bench.bell.runs()) == 1
            bench.clock.advance(1)
        bench.prune()
        assert bench.bell.runs() == []

    def test_live_runs_are_never_removed(self, bench: Bench) -> None:
        bench.bell.enqueue("work", delay=timedelta(days=400), remove_delay=0)
        bench.clock.advance(days=399)
        bench.prune()
        assert len(bench.bell.runs()) == 1

    def test_a_full_batch_is_followed_soon(self, bench: Bench) -> None:
        bench.bell.enqueue_many([bench.bell.request("work", remove_delay=0) for _ in range(1200)])
        while bench.work():
            pass
        assert bench.prune()
        assert not bench.prune()
        assert bench.bell.runs() == []


@pytest.mark.parametrize(("job", "times"), [("limited", 1), ("plain", 0)])
def test_the_end_of_a_limited_run_wakes_other_workers(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, job: str, times: int
) -> None:
    """They may be waiting for its place, and would else find it by their next poll."""
    bench.bell.job(name="plain")(lambda: None)
    bench.bell.job(name="limited", concurrency=1)(lambda: None)
    bench.bell.enqueue(job)
    (work,) = bench.claim()
    wakes: list[str] = []
    monkeypatch.setattr(bench.store, "wake", lambda: wakes.append(job))
    bench.book(work, bench.call(work))
    assert wakes == [job] * times


def test_a_write_in_doubt_counts_as_ours_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an answer that was lost; once it is known what became of it, it is in doubt no more."""
    bench.bell.enqueue("work")
    (work,) = bench.claim()
    pair = (work.run, state.succeed(work.run, bench.clock.now(), result=None, keep=bench.keep.succeeded))
    sound = bench.store.runs.apply

    def lose_the_answer(changes: Sequence[Transition]) -> set[str]:
        sound(changes)
        raise StoreUnavailable("no answer")

    with monkeypatch.context() as outage:
        outage.setattr(bench.store.runs, "apply", lose_the_answer)
        with pytest.raises(StoreUnavailable):
            bench.booking.book([pair])
    assert [bench.booking.book([pair]) for _ in range(2)] == [[pair], []]


def test_an_outcome_that_a_lock_holds_up_is_tried_beside_the_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, sound, held = bench.finish, bench.store.runs.apply, {"held"}

    def apply(changes: Sequence[Transition], *, lock: float | None = None) -> set[str]:
        if held and any(change.key is not None for change in changes):
            raise Locked("by a transaction of the application")
        return sound(changes)

    def end(**options: Any) -> Run:
        run = bench.bell.enqueue("work", **options)
        (work,) = bench.claim()
        finish.put(work, bench.call(work))
        return run

    def status(run: Run) -> Status:
        return bench.run(run).status

    monkeypatch.setattr(bench.store.runs, "apply", apply)
    first, second = end(key="held"), end()
    assert finish.step(bench.clock.now()) == 0
    assert (status(first), status(second), finish.size) == (Status.RUNNING, Status.SUCCEEDED, 1)
    assert finish.step(bench.clock.now()) == LOCKED_PACE
    finish.waker.woken = False
    third = end()
    assert finish.waker.woken, "it must not wait for the next try of the other"
    assert finish.step(bench.clock.now()) == 0
    assert (status(first), status(third)) == (Status.RUNNING, Status.SUCCEEDED)
    held.clear()
    bench.clock.advance(LOCKED_PACE)
    assert finish.step(bench.clock.now()) == 0
    assert (status(first), finish.size, finish.step(bench.clock.now())) == (Status.SUCCEEDED, 0, None)
    assert finish.superseded == 0
