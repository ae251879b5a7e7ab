"""Contract of leases: renewal, progress, cancel requests, expiry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from workbell.model import state
from workbell.model.clock import EPOCH
from workbell.model.ids import new_id
from workbell.model.run import Run, Status
from workbell.model.state import Move, Transition
from workbell.stores.port import CoreStore, Held, Lease, Renewed
from workbell.testing.contracts.making import KEEP, add, after, claim, claimed, find, held, ids, lease_of, request

WAIT = timedelta(seconds=60)
GOING_ON: dict[Move, Callable[[Run], Transition]] = {
    Move.RETRY: lambda run: state.retry(run, after(5), error="E: e", reason="error", wait=WAIT, started_at=after(1)),
    Move.RELEASE: lambda run: state.release(run, after(5), started_at=after(1)),
    Move.SNOOZE: lambda run: state.snooze(run, after(5), wait=WAIT, reason="later", started_at=after(1)),
    Move.LOSE: lambda run: state.lose(run, after(5), keep=KEEP.other),
}


class LeasingContract:
    def test_a_held_lease_is_extended(self, store: CoreStore) -> None:
        run = claimed(store)
        assert store.runs.renew([held(run)], now=after(4), lease_until=after(99)) == [Renewed(run.id, run.token)]
        assert find(store, run).lease_until == after(99)

    def test_a_lost_lease_is_not_extended(self, store: CoreStore) -> None:
        """F1: an old token, an ended run, an unknown one, one that waits."""
        stale = claimed(store)
        store.runs.apply([state.release(stale, after(1))])
        (again,) = claim(store, at=2)
        done = claimed(store, queue="other")
        (waiting,) = add(store, request("send"))
        store.runs.apply([state.succeed(done, after(3), result=None, keep=KEEP.succeeded)])
        lost = [held(stale), held(waiting), held(done), Held(new_id(), 1)]
        answer = store.runs.renew([*lost, held(again)], now=after(4), lease_until=after(99))
        assert answer == [Renewed(again.id, again.token)]
        assert find(store, waiting).lease_until is None
        assert store.runs.renew([], now=after(4), lease_until=after(99)) == []

    def test_a_lease_is_extended_also_when_its_time_is_over(self, store: CoreStore) -> None:
        """P4: nobody has taken it; which of two clocks says that it is over must not matter."""
        run = claimed(store)
        assert store.runs.renew([held(run)], now=after(999), lease_until=after(1029)) == [Renewed(run.id, run.token)]
        assert find(store, run).lease_until == after(1029)

    def test_a_lease_that_was_taken_over_is_not_extended(self, store: CoreStore) -> None:
        """P4: a sweep is giving the run away; what its holder still returns before that is taken."""
        run = claimed(store)
        (taken,) = store.runs.take_over([lease_of(run)], 10)
        assert taken == msgspec.structs.replace(run, lease_until=EPOCH)
        assert store.runs.renew([held(run)], now=after(4), lease_until=after(99)) == []
        assert find(store, run) == taken
        assert store.runs.apply([state.succeed(run, after(5), result=None, keep=KEEP.succeeded)]) == {run.id}
        assert store.runs.apply([state.lose(taken, after(6), keep=KEEP.other)]) == set()
        assert find(store, run).status is Status.SUCCEEDED

    def test_a_lease_is_taken_over_only_as_it_was_seen(self, store: CoreStore) -> None:
        """Renewed, given back, or claimed again since: then it is another lease."""
        renewed, released, again = [claimed(store, queue=name) for name in ("a", "b", "c")]
        store.runs.renew([held(renewed)], now=after(4), lease_until=after(34))
        store.runs.apply([state.release(again, after(5))])
        claim(store, at=5)
        store.runs.apply([state.release(released, after(6))])
        seen = [lease_of(run) for run in (renewed, released, again)]
        before = store.runs.find(lease.run_id for lease in seen)
        assert store.runs.take_over(seen, 10) == []
        assert store.runs.find(lease.run_id for lease in seen) == before

    def test_no_more_are_taken_over_than_wanted(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(5)])
        seen = [lease_of(run) for run in claim(store)]
        taken = set(ids(store.runs.take_over(seen, 3)))
        rest = {lease.run_id for lease in seen} - taken
        assert (len(taken), len(rest)) == (3, 2)
        assert set(ids(store.runs.take_over([lease for lease in seen if lease.run_id in rest], 3))) == rest

    def test_one_that_was_taken_over_can_be_taken_again(self, store: CoreStore) -> None:
        """The process that took it died before it moved the run."""
        run = claimed(store)
        store.runs.take_over([lease_of(run)], 10)
        (seen,) = store.runs.leases(after(0))
        assert seen == Lease(run.id, run.token, EPOCH, "worker")
        (taken,) = store.runs.take_over([seen], 10)
        assert store.runs.apply([state.lose(taken, after(31), keep=KEEP.other)]) == {run.id}
        assert store.runs.leases(after(999), after(999)) == []

    def test_leases_that_end_before_a_time_or_beyond_another(self, store: CoreStore) -> None:
        runs = {at: claimed(store, at=at, queue=f"queue-{at}") for at in (0, 10, 20)}
        add(store, request(expires_at=after(1)))
        ends = {at: lease_of(run) for at, run in runs.items()}
        assert store.runs.leases(after(29)) == []
        assert store.runs.leases(after(30)) == [ends[0]]
        assert sorted(store.runs.leases(after(40), after(50))) == sorted([ends[0], ends[10]])
        assert sorted(store.runs.leases(after(30), after(49))) == sorted([ends[0], ends[20]])

    def test_many_leases_are_extended_together(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(20)])
        runs = claim(store)
        renewed = store.runs.renew([held(run) for run in runs], now=after(4), lease_until=after(99))
        assert sorted(lease.run_id for lease in renewed) == sorted(ids(runs))
        assert {run.lease_until for run in store.runs.find(ids(runs)).values()} == {after(99)}

    def test_a_request_to_end_comes_with_the_next_renewal(self, store: CoreStore) -> None:
        run = claimed(store)
        assert store.runs.request_cancel(run.id, "enough")
        assert (find(store, run).cancel_requested, find(store, run).reason) == (True, "enough")
        answer = store.runs.renew([held(run)], now=after(4), lease_until=after(60))
        assert answer == [Renewed(run.id, run.token, "enough")]

    def test_requests_to_end_can_be_read(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(4)])
        runs = ids(claim(store))
        for run_id in runs[:2]:
            store.runs.request_cancel(run_id, "enough")
        assert store.runs.asked_to_end(runs[1:]) == {runs[1]}
        assert store.runs.asked_to_end([*runs, new_id()]) == set(runs[:2])
        assert store.runs.asked_to_end([]) == set()

    @pytest.mark.parametrize("move", GOING_ON)
    def test_a_run_with_a_cancel_asked_for_does_not_go_on(self, store: CoreStore, move: Move) -> None:
        """The request may come after the run was read: the guard is in the write."""
        run = claimed(store)
        assert store.runs.request_cancel(run.id, "enough")
        asked = state.ask_cancel(run, "enough")
        change = GOING_ON[move](run)
        assert store.runs.apply([change]) == set()
        assert find(store, run) == asked
        assert store.runs.attempts(run.id) == []
        ended = state.obey_cancel(asked, change, KEEP)
        assert store.runs.apply([ended]) == {run.id}
        found = find(store, run)
        assert (found.status, found.reason, found.cancel_requested) == (Status.CANCELED, "enough", False)
        assert (found.error, found.failures, found.losses) == (change.error, change.failures, change.losses)

    def test_a_run_with_a_cancel_asked_for_may_end_by_itself(self, store: CoreStore) -> None:
        run = claimed(store)
        store.runs.request_cancel(run.id, "enough")
        assert store.runs.apply([state.succeed(run, after(1), result="1", keep=KEEP.succeeded)]) == {run.id}
        assert (find(store, run).status, find(store, run).reason) == (Status.SUCCEEDED, None)

    def test_the_chain_of_a_failing_run_ends_with_a_cancel_asked_for(self, store: CoreStore) -> None:
        """B8: what was made in the same write beside it is made all the same."""
        run = claimed(store)
        again, alert = request(rescheduled_from=run.id), request("alert")
        failed = state.fail(run, after(1), error="E", reason="error", keep=KEEP.other, then=(again, alert))
        store.runs.request_cancel(run.id, "enough")
        assert store.runs.apply([failed]) == {run.id}
        assert find(store, run).status is Status.FAILED
        assert set(store.runs.find([again.run.id, alert.run.id])) == {alert.run.id}

    def test_only_running_runs_can_be_asked_to_end(self, store: CoreStore) -> None:
        (waiting,) = add(store, request())
        assert not store.runs.request_cancel(waiting.id, "enough")
        assert not store.runs.request_cancel(new_id(), "enough")
        assert not find(store, waiting).cancel_requested
        (run,) = claim(store)
        store.runs.apply([state.succeed(run, after(1), result=None, keep=KEEP.succeeded)])
        assert not store.runs.request_cancel(run.id, "enough")

    def test_progress_and_loneliness_are_noted_under_the_lease(self, store: CoreStore) -> None:
        run = claimed(store)
        assert store.runs.set_progress(held(run), '{"done":1}')
        assert store.runs.mark_alone(held(run))
        found = find(store, run)
        assert (found.progress_text, found.alone) == ('{"done":1}', True)

    def test_progress_and_loneliness_are_refused_without_it(self, store: CoreStore) -> None:
        stale = claimed(store)
        store.runs.apply([state.release(stale, after(1))])
        assert not store.runs.set_progress(held(stale), "{}")
        assert not store.runs.mark_alone(held(stale))
        (run,) = claim(store, at=2)
        assert not store.runs.set_progress(held(stale), "{}")
        assert not store.runs.mark_alone(held(stale))
        assert find(store, run) == run

    def test_progress_is_kept_with_the_finished_run(self, store: CoreStore) -> None:
        run = claimed(store)
        store.runs.set_progress(held(run), '{"done":1}')
        store.runs.apply([state.succeed(run, after(1), result=None, keep=KEEP.succeeded)])
        assert find(store, run).progress_text == '{"done":1}'

    def test_waiting_runs_expire(self, store: CoreStore) -> None:
        queued, delayed, _fresh = add(
            store,
            request(expires_at=after(20)),
            request(expires_at=after(25), delay=22),
            request(expires_at=after(91)),
        )
        assert store.runs.expired(after(19), 100) == []
        assert ids(store.runs.expired(after(20), 100)) == [queued.id]
        assert sorted(ids(store.runs.expired(after(30), 100))) == sorted([queued.id, delayed.id])
        assert len(store.runs.expired(after(30), 1)) == 1

    def test_expiry_does_not_touch_what_runs(self, store: CoreStore) -> None:
        claimed(store, expires_at=after(10))
        assert store.runs.expired(after(20), 100) == []

    def test_a_lost_run_goes_back_to_its_queue(self, store: CoreStore) -> None:
        """F1: worker loss is counted apart from failure."""
        (run,) = store.runs.take_over([lease_of(claimed(store))], 100)
        assert store.runs.apply([state.lose(run, after(31), keep=KEEP.other)]) == {run.id}
        back = find(store, run)
        assert (back.status, back.losses, back.failures, back.attempt) == (Status.QUEUED, 1, 0, 1)
        assert (back.worker, back.lease_until, back.started_at) == (None, None, None)

    def test_held_by(self, store: CoreStore) -> None:
        add(store, request("a"))
        mine = claim(store, worker="mine")
        add(store, request("b"))
        claim(store, worker="theirs")
        add(store, request("c"))
        assert store.runs.held_by("mine") == mine
        assert store.runs.held_by("nobody") == []
        assert sorted(store.runs.leases_of(["mine", "nobody"])) == sorted(map(lease_of, mine))
        store.runs.apply([state.release(mine[0], after(1))])
        assert store.runs.held_by("mine") == []
