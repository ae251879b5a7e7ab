"""Lost leases and expiry: what the sweep does, and what it leaves alone (D6, D11, F1)."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from tests.support.bench import LEASE, Bench
from workbell import Retry, Run, Status
from workbell.engine.lease_watch import PATIENCE, StoreAnswers
from workbell.engine.renew import Renew
from workbell.engine.work import Work
from workbell.errors import StoreUnavailable
from workbell.model.state import CRASH_LIMIT
from workbell.stores.port import Held, Lease, Renewed
from workbell.stores.sqlite.store import SqliteStore


@pytest.fixture
def bench() -> Bench:
    bench = Bench()

    @bench.bell.job(retry=Retry(attempts=2, delay=0, jitter=0))
    def work(fail: bool = False) -> str:
        if fail:
            raise ValueError
        return "done"

    return bench


def restarted(bench: Bench) -> Bench:
    """Another worker process with the same jobs: the first one is dead."""
    other = Bench(bench.store, name="other")
    for job in bench.bell.registry:
        other.bell.registry.add(job)
    return other


def test_lease_that_ended_goes_back_to_the_queue(bench: Bench) -> None:
    run = bench.bell.enqueue("work")
    (work,) = bench.claim()
    bench.clock.advance(2)  # in which a living worker would have renewed it
    assert bench.recover.step(bench.clock.now()) == 5
    bench.clock.advance(LEASE.total_seconds() - 5)
    assert bench.recover.step(bench.clock.now()) == 3  # from now on the store must answer writes
    bench.clock.advance(2.5)
    assert bench.recover.step(bench.clock.now()) == 0.5
    assert bench.run(run).status is Status.RUNNING  # not yet
    bench.clock.advance(0.5)
    assert bench.recover.step(bench.clock.now()) == 0  # runs that expired come next
    assert bench.recover.step(bench.clock.now()) == 5
    lost = bench.run(run)
    assert (lost.status, lost.reason, lost.attempt, lost.losses) == (Status.QUEUED, "worker lost", 1, 1)
    assert (lost.failures, lost.crashes, lost.worker, lost.lease_until) == (0, 0, None, None)
    assert bench.announced == 1
    assert bench.attempts(lost) == [(1, "lost")]
    # The first worker comes back: its result is dropped, and counted.
    bench.book(work, bench.call(work))
    assert bench.run(run) == lost
    assert (bench.finish.superseded, bench.dropped) == (1, [work])
    (ended,) = restarted(bench).work()
    assert (ended.status, ended.attempt) == (Status.SUCCEEDED, 2)


@pytest.mark.parametrize(("took", "rest"), [(0.1, 0), (1.0, 10), (60.0, 30)])
def test_leases_that_take_long_to_read_are_read_more_rarely(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, took: float, rest: float
) -> None:
    """Dead rows of PostgreSQL are read too. It rests ten times as long, and at most for a lease; the rest of the sweep
    goes on."""
    read, times = bench.store.runs.leases, []

    def leases(*bounds: datetime) -> list[Lease]:
        bench.clock.advance(took)
        times.append(bench.clock.monotonic())
        return read(*bounds)

    monkeypatch.setattr(bench.store.runs, "leases", leases)
    for _ in range(100):
        assert bench.recover.step(bench.clock.now()) == 5
        bench.clock.advance(1)
    gaps = {round(later - earlier - took, 6) for earlier, later in pairwise(times)}
    assert gaps == {max(rest, 1)}


def test_it_does_not_wake_for_leases_that_may_not_be_read_yet(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    run = bench.bell.enqueue("work")
    bench.claim()
    told: list[str] = []
    for part, verb, took in ((bench.store.runs, "leases", 0.75), (bench.store.workers, "try_store", 0.0)):
        real = getattr(part, verb)

        def call(*arguments: Any, real: Any = real, verb: str = verb, took: float = took) -> Any:
            bench.clock.advance(took)
            told.append(verb)
            return real(*arguments)

        monkeypatch.setattr(part, verb, call)
    waited: float = 5
    while bench.run(run).status is Status.RUNNING:
        told.clear()
        wait = bench.recover.step(bench.clock.now())
        assert told or waited == 5, "a step before the next sweep that could do nothing"
        waited = wait
        bench.clock.advance(wait)


def test_losses_do_not_spend_failures(bench: Bench) -> None:
    """Two tries and many lost workers: both tries are still there."""
    run = bench.bell.enqueue("work", {"fail": True})
    for _ in range(2):
        restarted(bench).claim()
        bench.lapse()
    worker = restarted(bench)
    for status in (Status.SCHEDULED, Status.FAILED):
        (ended,) = worker.work()
        assert ended.status is status
    assert (ended.failures, ended.losses, ended.attempt) == (2, 2, 4)
    assert bench.attempts(run) == [(1, "lost"), (2, "lost"), (3, "failed"), (4, "failed")]


def test_three_deaths_alone_set_a_run_aside(bench: Bench) -> None:
    """F1: only deaths while nothing ran beside it are held against a run."""
    run = bench.bell.enqueue("work")
    for deaths in range(CRASH_LIMIT):
        assert bench.run(run).crashes == deaths
        (work,) = restarted(bench).claim()
        assert bench.store.runs.mark_alone(work.held)
        bench.lapse()
    ended = bench.run(run)
    assert (ended.status, ended.reason, ended.crashes) == (Status.FAILED, "crashed", CRASH_LIMIT)
    assert (ended.failures, ended.losses) == (0, CRASH_LIMIT)
    assert ended.remove_at == ended.finished_at + bench.keep.other
    assert "stopped renewing its lease" in (ended.error or "")
    assert [status for _, status in bench.attempts(ended)] == ["lost", "lost", "failed"]


def test_neighbours_of_a_killer_are_never_set_aside(bench: Bench) -> None:
    """A worker that always dies with ten runs in its hands; nobody is alone, so nobody is to blame."""
    runs = bench.bell.enqueue_many([("work", {})] * 10)
    for _ in range(2):
        assert len(restarted(bench).claim()) == 10
        bench.lapse()
    assert {(bench.run(run).status, bench.run(run).crashes, bench.run(run).losses) for run in runs} == {
        (Status.QUEUED, 0, 2)
    }


def test_lost_run_that_comes_back_to_the_same_worker(bench: Bench) -> None:
    """While the store was away: the outcome under the old lease waits beside the one under the new."""
    run = bench.bell.enqueue("work")
    (stale,) = bench.claim()
    bench.lapse()
    bench.finish.put(stale, bench.call(stale))
    (work,) = bench.claim()
    assert (stale.run.id, stale.lost) == (work.run.id, True)
    assert stale.run.token != work.run.token
    bench.finish.put(work, bench.call(work))
    bench.finish.step(bench.clock.now())
    assert bench.held.by_id == {run.id: work}  # the old one was dropped, and the new lease is still renewed
    bench.finish.step(bench.clock.now())
    assert bench.held.by_id == {}
    assert bench.booked == [work]
    assert bench.dropped == [stale]
    assert bench.run(run).token == work.run.token


class TestSuspects:
    """A run that was lost twice is executed with nothing beside it, and marked."""

    def suspect(self, bench: Bench) -> Run:
        run = bench.bell.enqueue("work")
        for _ in range(2):
            restarted(bench).claim()
            bench.lapse()
        return run

    def test_waits_until_all_others_are_done_and_keeps_others_out(self, bench: Bench) -> None:
        suspect = self.suspect(bench)
        fresh = bench.bell.enqueue_many([("work", {})] * 3)
        worker = restarted(bench)
        beside = worker.claim()
        assert {work.run.id for work in beside} == {run.id for run in fresh}
        for work in beside:
            assert worker.claim() == []
            worker.book(work, worker.call(work))
        later = bench.bell.enqueue("work")
        (alone,) = worker.claim()
        assert alone.run.id == suspect.id
        assert bench.run(suspect).alone
        assert worker.claim() == []  # though there is a run to be had
        assert bench.run(later).status is Status.QUEUED
        worker.book(alone, worker.call(alone))
        assert bench.run(suspect).status is Status.SUCCEEDED
        assert [work.run.id for work in worker.claim()] == [later.id]

    def test_many_go_one_by_one(self, bench: Bench) -> None:
        runs = [self.suspect(bench) for _ in range(3)]
        worker = restarted(bench)
        for _ in runs:
            (alone,) = worker.claim()
            assert worker.claim() == []
            worker.book(alone, worker.call(alone))
        assert {bench.run(run).status for run in runs} == {Status.SUCCEEDED}

    def test_a_drained_worker_gives_them_back_and_claims_nothing(self, bench: Bench) -> None:
        first = self.suspect(bench)
        worker = restarted(bench)
        worker.consume.step(bench.clock.now())  # claimed, not yet marked
        assert bench.run(first).status is Status.RUNNING
        worker.held.drain(True)
        other = bench.bell.enqueue("work")
        assert (worker.claim(), worker.held.by_id) == ([], {})
        assert [bench.run(run).status for run in (first, other)] == [Status.QUEUED] * 2
        worker.held.drain(False)
        assert [work.run.id for work in worker.claim()] == [other.id]

    def test_lost_while_it_waited(self, bench: Bench) -> None:
        """Its lease went before its turn came: it is let go, and the next one's turn comes."""
        first = self.suspect(bench)
        worker = restarted(bench)
        worker.consume.step(bench.clock.now())  # claimed, not yet marked
        bench.lapse()
        bench.bell.cancel(first.id)
        assert worker.claim() == []
        assert worker.held.by_id == {}
        other = bench.bell.enqueue("work")
        assert [work.run.id for work in worker.claim()] == [other.id]


class TestExpiry:
    @pytest.mark.parametrize("when", [{}, {"delay": 5}], ids=["queued", "scheduled"])
    def test_not_started_in_time(self, bench: Bench, when: dict) -> None:
        run = bench.bell.enqueue("work", expires=10, **when)
        bench.clock.advance(9.999)
        bench.recover.step(bench.clock.now())
        assert not bench.run(run).status.final
        bench.clock.advance(0.001)
        bench.queue_due()
        assert bench.claim() == []  # never started late, though the sweep has not come yet
        bench.recover.step(bench.clock.now())
        ended = bench.run(run)
        assert (ended.status, ended.reason, ended.attempt) == (Status.CANCELED, "expired", 0)

    def test_started_in_time_is_not_ended_by_it(self, bench: Bench) -> None:
        run = bench.bell.enqueue("work", expires=10)
        (work,) = bench.claim()
        bench.clock.advance(11)
        bench.recover.step(bench.clock.now())
        bench.book(work, bench.call(work))
        assert bench.run(run).status is Status.SUCCEEDED


class TestOutage:
    """Only time in which the store answers counts: a living holder can renew and book in no other."""

    @pytest.fixture
    def watched(self, bench: Bench) -> tuple[Bench, Work]:
        """A lease that is watched, whose holder has an outcome to book."""
        bench.bell.enqueue("work")
        (work,) = bench.claim()
        bench.finish.put(work, bench.call(work))
        bench.clock.advance(3)
        bench.recover.step(bench.clock.now())
        return bench, work

    def fail(self, bench: Bench, seconds: int) -> None:
        """Steps that get no answer."""
        for _ in range(seconds):
            bench.clock.advance(1)
            with contextlib.suppress(StoreUnavailable):
                bench.recover.step(bench.clock.now())

    @pytest.mark.parametrize("fails", ["reads", "writes"])
    def test_it_is_not_taken_when_the_store_is_back(
        self, watched: tuple[Bench, Work], monkeypatch: pytest.MonkeyPatch, fails: str
    ) -> None:
        """Reads may be answered all along: by a locked SQLite file, or a PostgreSQL that is read-only."""
        bench, work = watched

        def away(*_arguments: object, **_named: object) -> None:
            raise StoreUnavailable("gone")

        with monkeypatch.context() as outage:
            outage.setattr(bench.store.workers, "try_store", away)
            if fails == "reads":
                outage.setattr(bench.store.runs, "leases", away)
            self.fail(bench, 120)
        for _ in range(3):
            bench.recover.step(bench.clock.now())
            bench.clock.advance(0.9)
        assert bench.run(work.run.id).status is Status.RUNNING
        while bench.finish.step(bench.clock.now()) == 0:
            pass
        assert (bench.run(work.run.id).status, bench.run(work.run.id).losses) == (Status.SUCCEEDED, 0)

    def test_a_dead_one_is_recovered_afterwards(
        self, watched: tuple[Bench, Work], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench, work = watched

        def away(*_arguments: object, **_named: object) -> None:
            raise StoreUnavailable("gone")

        with monkeypatch.context() as outage:
            outage.setattr(bench.store.runs, "leases", away)
            self.fail(bench, 120)
        back = bench.clock.monotonic()
        while bench.run(work.run.id).status is Status.RUNNING:
            bench.clock.advance(max(bench.recover.step(bench.clock.now()), 0.01))
            assert bench.clock.monotonic() - back <= LEASE.total_seconds() + 5
        assert bench.clock.monotonic() - back >= 20

    @pytest.mark.parametrize("seconds", [27, 28, 29, 120, 121, 122, 123])
    def test_a_disk_that_was_full(
        self, watched: tuple[Bench, Work], monkeypatch: pytest.MonkeyPatch, seconds: int
    ) -> None:
        """A write that changes no row succeeds on a full disk, and tells nothing about those of a holder."""
        bench, work = watched
        assert isinstance(bench.store, SqliteStore)
        write = bench.store.file.write

        def write_if_nothing_changes(change: Callable[[sqlite3.Connection], Any], *, first: bool = False) -> Any:
            def changing(connection: sqlite3.Connection) -> Any:
                before, answer = connection.total_changes, change(connection)
                if connection.total_changes != before:
                    raise StoreUnavailable("database or disk is full")
                return answer

            return write(changing, first=first)

        with monkeypatch.context() as full:
            full.setattr(bench.store.file, "write", write_if_nothing_changes)
            self.fail(bench, seconds)
        for _ in range(5):  # the holder tries again within a second
            bench.clock.advance(0.2)
            bench.recover.step(bench.clock.now())
        assert bench.run(work.run.id).status is Status.RUNNING
        while bench.finish.step(bench.clock.now()) == 0:
            pass
        assert (bench.run(work.run.id).status, bench.run(work.run.id).losses) == (Status.SUCCEEDED, 0)

    def test_a_write_that_waited_for_the_store(
        self, watched: tuple[Bench, Work], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is answered the moment the store is back: others had no time yet."""
        bench, work = watched
        bench.clock.advance(40)
        sound = bench.store.workers.try_store

        def wait() -> None:
            bench.clock.advance(9)
            sound()

        with monkeypatch.context() as outage:
            outage.setattr(bench.store.workers, "try_store", wait)
            for _ in range(3):
                bench.recover.step(bench.clock.now())
        assert bench.run(work.run.id).status is Status.RUNNING
        bench.clock.advance(2.9)
        bench.recover.step(bench.clock.now())
        assert bench.run(work.run.id).status is Status.RUNNING
        bench.clock.advance(0.2)
        bench.recover.step(bench.clock.now())
        assert bench.run(work.run.id).status is Status.QUEUED


class TestRenew:
    def test_keeps_a_long_run(self, bench: Bench) -> None:
        """However long: the lease is independent of the length of the work."""
        run = bench.bell.enqueue("work")
        (work,) = bench.claim()
        for _ in range(20):
            bench.clock.advance(LEASE.total_seconds() / 3)
            bench.renew.step(bench.clock.now())
            bench.recover.step(bench.clock.now())
        assert bench.run(run).status is Status.RUNNING
        bench.book(work, bench.call(work))
        assert (bench.run(run).status, bench.run(run).losses) == (Status.SUCCEEDED, 0)

    def test_marks_a_lost_lease(self, bench: Bench) -> None:
        bench.bell.enqueue("work")
        (work,) = bench.claim()
        bench.lapse()
        bench.renew.step(bench.clock.now())
        assert (bench.stopped, work.lost) == ([work], True)
        assert bench.context(work).canceled

    def test_a_lease_whose_row_is_locked_is_not_renewed(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """It ends when it was to end: until then `ctx.db` may commit, and not a moment longer."""
        bench.bell.enqueue("work")
        (work,) = bench.claim()
        valid_until = work.valid_until
        bench.clock.advance(2)

        def locked(held: Sequence[Held], **_named: object) -> list[Renewed]:
            return [Renewed(one.run_id, one.token, locked=True) for one in held]

        with monkeypatch.context() as patched:
            patched.setattr(bench.store.runs, "renew", locked)
            bench.renew.step(bench.clock.now())
        assert (work.valid_until, work.lost) == (valid_until, False)
        bench.renew.step(bench.clock.now())
        assert work.valid_until == bench.clock.boottime() + LEASE.total_seconds()

    @pytest.mark.parametrize("alone", [True, False])
    def test_without_the_store(self, bench: Bench, monkeypatch, alone: bool) -> None:
        """Where a keeper renews too, our own clock does not say whether a lease is over."""
        bench.bell.enqueue("work")
        (work,) = bench.claim()
        renew = Renew(bench.store, LEASE, bench.held, bench.stopped.append, alone=alone)
        bench.clock.advance(LEASE.total_seconds() + 1)

        def fail(*_arguments: object, **_named: object) -> None:
            raise StoreUnavailable("gone")

        monkeypatch.setattr(bench.store.runs, "renew", fail)
        with pytest.raises(StoreUnavailable):
            renew.step(bench.clock.now())
        assert (work.overdue, work.lost, bench.stopped) == (alone, False, [work] if alone else [])

    def test_an_outcome_after_that_is_tried(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only the store knows whether the lease is lost; a renewal that succeeds says that it is not."""
        run = bench.bell.enqueue("work")
        (work,) = bench.claim()
        bench.clock.advance(LEASE.total_seconds() + 1)

        def fail(*_arguments: object, **_named: object) -> None:
            raise StoreUnavailable("gone")

        with monkeypatch.context() as outage:
            outage.setattr(bench.store.runs, "renew", fail)
            with pytest.raises(StoreUnavailable):
                bench.renew.step(bench.clock.now())
        assert bench.context(work).canceled
        bench.renew.step(bench.clock.now())
        assert not bench.context(work).canceled
        work.overdue = True
        bench.book(work, bench.call(work))
        assert (bench.run(run).status, bench.finish.superseded) == (Status.SUCCEEDED, 0)

    def test_passes_on_a_request_to_cancel(self, bench: Bench) -> None:
        run = bench.bell.enqueue("work")
        (work,) = bench.claim()
        bench.bell.cancel(run.id)
        bench.clock.advance(2)
        bench.renew.step(bench.clock.now())
        bench.renew.step(bench.clock.now())
        assert bench.stopped == [work]  # once
        assert bench.context(work).canceled


class TestStoreAnswers:
    """What recovery counts as a store that answers."""

    def answers(self, took: float, pause: float = 1.0) -> float:
        """Seconds until a store whose writes take so long has answered for long enough."""
        found, moment = StoreAnswers(3.0), 0.0
        while True:
            found.note(moment, moment + took)
            moment += took
            if found.left(moment) <= 0:
                return moment
            assert moment < 1000, "never"
            moment += pause

    def test_a_quick_store(self) -> None:
        assert self.answers(0.01) < 5

    def test_a_store_that_is_always_slow_answers_holders_as_slowly(self) -> None:
        assert self.answers(5.0) < PATIENCE * 3.0 + 12

    def test_a_failure_begins_the_count_again(self) -> None:
        found = StoreAnswers(3.0)
        found.note(0.0, 0.1)
        found.note_failure()
        found.note(4.0, 4.1)
        assert found.left(4.1) == pytest.approx(3.0)

    def test_a_wait_begins_the_count_again(self) -> None:
        found = StoreAnswers(3.0)
        found.note(0.0, 0.1)
        found.note(1.0, 9.0)  # as long as the store was locked
        assert found.left(9.0) == pytest.approx(3.0)
