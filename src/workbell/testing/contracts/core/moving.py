"""Contract of transitions: each is written under its guard, once, completely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.run import FINAL, Attempt, AttemptStatus, Run, Status
from workbell.model.state import MOVES, Move, Transition
from workbell.stores.port import CoreStore, Filter
from workbell.stores.runs.runs import RESTARTED
from workbell.testing.contracts.making import KEEP, add, after, claim, claimed, find, held, ids, request

WAIT = timedelta(seconds=60)
MAKE: dict[Move, Callable[[Run], Transition]] = {
    Move.DISPATCH: lambda run: state.dispatch(run, after(50)),
    Move.SUCCEED: lambda run: state.succeed(run, after(50), result='{"a":1}', keep=KEEP.succeeded),
    Move.RETRY: lambda run: state.retry(run, after(50), error="E: e", reason="error", wait=WAIT, started_at=after(49)),
    Move.FAIL: lambda run: state.fail(run, after(50), error="E: e", reason="error", keep=KEEP.other),
    Move.RELEASE: lambda run: state.release(run, after(50), started_at=after(49)),
    Move.SNOOZE: lambda run: state.snooze(run, after(50), wait=WAIT, reason="later", started_at=after(49)),
    Move.LOSE: lambda run: state.lose(run, after(50), keep=KEEP.other),
    Move.CANCEL: lambda run: state.cancel(run, after(50), reason="-", keep=KEEP.other),
}
GUARDS = [(move, source, status) for move in MAKE for source in MOVES[move].sources for status in Status]


def in_status(store: CoreStore, status: Status) -> Run:
    """A run that has got where it should be by legal moves."""
    if status in (Status.SCHEDULED, Status.QUEUED):
        (run,) = add(store, request(delay=60 if status is Status.SCHEDULED else 0, tag="t", input_text="{}"))
        return run
    run = claimed(store, tag="t", input_text="{}")
    if status is Status.RUNNING:
        return run
    move = {Status.SUCCEEDED: Move.SUCCEED, Status.FAILED: Move.FAIL, Status.CANCELED: Move.CANCEL}[status]
    assert store.runs.apply([MAKE[move](run)]) == {run.id}
    return find(store, run)


def booked(change: Transition, run: Run) -> Run:
    """The run as the store must have it after a transition: marks of the old attempt are gone."""
    return msgspec.structs.replace(change.after(run), cancel_requested=False, alone=False)


class MovingContract:
    def test_a_claim_is_the_move_start(self, store: CoreStore) -> None:
        (run,) = add(store, request(tag="t", input_text="{}"))
        (taken,) = claim(store, at=3, worker="w")
        start = state.start(run, after(3), worker="w", lease_until=after(33), token=taken.token)
        assert taken == start.after(run) == find(store, run)

    def test_a_run_put_off_is_as_if_it_had_never_been_claimed(self, store: CoreStore) -> None:
        """E2: its window is closed."""
        run = claimed(store)
        store.runs.apply([state.retry(run, after(1), error="E", reason="error", wait=timedelta(0))])
        store.runs.dispatch(after(2), 1)
        (again,) = claim(store, at=2)
        assert store.runs.apply([state.put_off(again, after(3), until=after(99))]) == {run.id}
        waiting = find(store, run)
        assert (waiting.status, waiting.scheduled_for, waiting.attempt) == (Status.SCHEDULED, after(99), 1)
        assert (waiting.error, waiting.reason, waiting.worker) == ("E", state.OUTSIDE_WINDOW, None)
        assert [one.number for one in store.runs.attempts(run.id)] == [1]
        assert store.runs.apply([state.put_off(again, after(4), until=after(999))]) == set(), "its lease is lost"
        store.runs.dispatch(after(99), 1)
        (late,) = claim(store, at=99)
        assert late.attempt == 2
        assert store.runs.apply([state.shut_out(late, after(100), keep=KEEP.other)]) == {run.id}
        ended = find(store, run)
        assert (ended.status, ended.reason, ended.error) == (Status.CANCELED, state.WINDOW, "E")
        assert (ended.started_at, ended.finished_at) == (None, after(100))

    @pytest.mark.parametrize("move", [Move.RETRY, Move.SNOOZE])
    def test_a_wait_that_began_by_a_clock_that_was_put_back_begins_anew(self, store: CoreStore, move: Move) -> None:
        run = claimed(store)
        assert store.runs.apply([MAKE[move](run)]) == {run.id}
        waiting = find(store, run)
        assert store.runs.restart_waits(after(50)), "none is ahead"
        assert find(store, run) == waiting
        assert store.runs.restart_waits(after(-3550))
        assert find(store, run) == state.restart_wait(waiting, after(-3550))
        assert find(store, run).scheduled_for == after(-3550) + WAIT
        assert store.runs.restart_waits(after(-3540)), "once"
        assert find(store, run).scheduled_for == after(-3550) + WAIT

    def test_only_waits_of_a_span_begin_anew(self, store: CoreStore) -> None:
        running = claimed(store)
        rescheduled, delayed, queued = add(
            store, request(delay=60, rescheduled_from=new_id()), request(delay=60), request()
        )
        assert store.runs.restart_waits(after(-3600))
        assert find(store, rescheduled).scheduled_for == after(-3540)
        for run in (delayed, queued, running):
            assert find(store, run) == run == state.restart_wait(run, after(-3600))

    def test_any_number_of_waits_begin_anew(self, store: CoreStore) -> None:
        """In several writes."""
        waiting = [request(delay=60, rescheduled_from=new_id()) for _ in range(RESTARTED + 1)]
        store.runs.add(waiting)
        assert store.runs.restart_waits(after(-3600))
        found = store.runs.find([new.run.id for new in waiting])
        assert {run.scheduled_for for run in found.values()} == {after(-3540)}

    def test_a_dispatch_is_the_move_dispatch(self, store: CoreStore) -> None:
        (run,) = add(store, request(delay=60))
        assert len(store.runs.dispatch(after(61), 10)) == 1
        assert find(store, run) == state.dispatch(run, after(61)).after(run)

    def test_handing_back_what_has_not_begun_leaves_it_as_it_was(self, store: CoreStore) -> None:
        """Also its last error: it is as if it had never been claimed."""
        run = claimed(store)
        store.runs.apply([state.retry(run, after(1), error="E: e", reason="error", wait=WAIT, started_at=after(0))])
        store.runs.dispatch(after(100), 10)
        before = find(store, run)
        (again,) = claim(store, at=101)
        assert store.runs.apply([state.release(again, after(102))]) == {run.id}
        assert find(store, run) == msgspec.structs.replace(before, updated_at=after(102), token=again.token)

    def test_every_move_but_the_claim_is_tried_here(self) -> None:
        assert {*MAKE, Move.START} == set(Move)

    @pytest.mark.parametrize(("move", "source", "status"), GUARDS)
    def test_a_move_is_made_from_its_status_only_and_once(
        self, store: CoreStore, move: Move, source: Status, status: Status
    ) -> None:
        """D3: every transition is idempotent and tolerates duplicate delivery."""
        run = in_status(store, status)
        change = MAKE[move](msgspec.structs.replace(run, status=source))
        if status is source:
            assert store.runs.apply([change]) == {run.id}
            assert find(store, run) == booked(change, run)
        before, attempts = find(store, run), store.runs.attempts(run.id)
        assert store.runs.apply([change]) == set()
        assert store.runs.apply([change, change]) == set()
        assert find(store, run) == before
        assert store.runs.attempts(run.id) == attempts

    @pytest.mark.parametrize("move", MAKE)
    @pytest.mark.parametrize("off", [-1, 1])
    def test_a_move_is_refused_under_another_token(self, store: CoreStore, move: Move, off: int) -> None:
        """F1: fenced leases on every write."""
        run = in_status(store, MOVES[move].sources[-1])
        change = MAKE[move](msgspec.structs.replace(run, token=run.token + off))
        assert store.runs.apply([change]) == set()
        assert find(store, run) == run

    def test_one_transition_twice_in_a_batch_moves_once(self, store: CoreStore) -> None:
        follow = request("follow")
        run = claimed(store)
        failed = state.fail(run, after(1), error="E", reason="error", keep=KEEP.other, then=(follow,))
        assert store.runs.apply([failed, failed]) == {run.id}
        assert ids(store.runs.list(Filter(None))) == sorted([run.id, follow.run.id], reverse=True)
        (again,) = claim(store, at=2)
        back = state.release(again, after(3), started_at=after(2))
        assert store.runs.apply([back, back]) == {again.id}
        assert len(store.runs.attempts(again.id)) == 1

    def test_of_two_ends_in_a_batch_the_first_counts(self, store: CoreStore) -> None:
        run, unwanted = claimed(store), request("unwanted")
        won = state.succeed(run, after(1), result="1", keep=KEEP.succeeded)
        late = state.fail(run, after(2), error="E", reason="error", keep=KEEP.other, then=(unwanted,))
        assert store.runs.apply([won, late]) == {run.id}
        assert find(store, run).status is Status.SUCCEEDED
        assert store.runs.find([unwanted.run.id]) == {}

    def test_a_batch_says_which_of_it_moved(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(6)])
        runs = claim(store)
        lost = runs[::2]
        store.runs.apply([state.release(run, after(1)) for run in lost])
        again = {run.id: run for run in claim(store, at=2)}
        changes = [
            state.succeed(run, after(3), result="1", keep=KEEP.succeeded)
            if index % 4 < 2
            else state.retry(run, after(3), error="E", reason="error", wait=WAIT)
            for index, run in enumerate(runs)
        ]
        assert store.runs.apply(changes) == {run.id for run in runs[1::2]}
        assert [find(store, run) for run in lost] == [again[run.id] for run in lost]
        assert store.runs.apply([]) == set()

    def test_an_unknown_run_is_not_moved(self, store: CoreStore) -> None:
        (run,) = add(store, request())
        stranger = msgspec.structs.replace(run, id=new_id())
        assert store.runs.apply([state.cancel(stranger, after(1), reason="-", keep=KEEP.other)]) == set()

    @pytest.mark.parametrize("status", FINAL)
    def test_a_finished_run_is_in_history_once(self, store: CoreStore, status: Status) -> None:
        run = in_status(store, status)
        assert [(found.id, found.status) for found in store.runs.list(Filter(None))] == [(run.id, status)]
        assert (run.finished_at, run.lease_until) == (after(50), None)
        assert claim(store, at=60) == []
        assert store.runs.held_by("worker") == []

    def test_what_a_finished_run_keeps(self, store: CoreStore) -> None:
        run = claimed(store, tag="t", key="k", user_number=3, input_text='{"b":2}', options_text='{"timeout":1.0}')
        store.runs.mark_alone(held(run))
        store.runs.request_cancel(run.id, "enough")
        done = state.succeed(run, after(9), result='{"a":1}', keep=timedelta(days=1), started_at=after(1))
        store.runs.apply([done])
        found = find(store, run)
        assert found == booked(done, run)
        assert (found.result_text, found.started_at, found.worker) == ('{"a":1}', after(1), "worker")
        assert found.remove_at == after(9) + timedelta(days=1)

    def test_attempts_are_recorded_with_the_moves_that_end_them(self, store: CoreStore) -> None:
        """C7: one record per attempt. The last one is the run itself."""
        run = claimed(store)
        first = run.token
        store.runs.apply([MAKE[Move.RETRY](run)])
        store.runs.dispatch(after(200), 10)
        (run,) = claim(store, at=201, worker="second")
        second = run.token
        lost = MAKE[Move.LOSE](run)
        store.runs.apply([lost])
        (run,) = claim(store, at=202)
        store.runs.apply([MAKE[Move.SUCCEED](run)])
        assert store.runs.attempts(run.id) == [
            Attempt(run.id, 1, AttemptStatus.FAILED, after(49), after(50), "worker", "E: e", token=first),
            Attempt(run.id, 2, AttemptStatus.LOST, after(201), after(50), "second", lost.error, token=second),
        ]
        assert store.runs.attempts(new_id()) == []

    def test_a_follow_up_is_made_in_the_same_write(self, store: CoreStore) -> None:
        """B8."""
        run, follow = claimed(store), request("next", queue="elsewhere", at=1, delay=60, tag="chain")
        failed = state.fail(run, after(1), error="E", reason="error", keep=KEEP.other, then=(follow,))
        assert store.runs.apply([failed]) == {run.id}
        assert find(store, follow.run) == follow.run
        store.runs.dispatch(after(61), 10)
        assert ids(claim(store, at=61)) == [follow.run.id]

    def test_a_move_may_have_several_follow_ups(self, store: CoreStore) -> None:
        """Each in a lane of its own, one of which nobody knew before."""
        run = claimed(store)
        follow = (
            request("next", tag="chain"),
            request("notify", queue="elsewhere"),
            request("notify", queue="elsewhere"),
        )
        failed = state.fail(run, after(1), error="E", reason="error", keep=KEEP.other, then=follow)
        assert store.runs.apply([failed]) == {run.id}
        assert store.runs.apply([failed]) == set()
        assert ids(claim(store, at=2)) == [new.run.id for new in follow]

    def test_a_refused_move_has_no_follow_up(self, store: CoreStore) -> None:
        run, follow = claimed(store), request("next")
        store.runs.apply([state.release(run, after(1))])
        refused = state.fail(run, after(2), error="E", reason="error", keep=KEEP.other, then=(follow,))
        assert store.runs.apply([refused]) == set()
        assert store.runs.find([follow.run.id]) == {}

    def test_a_follow_up_may_be_kept_out_by_its_key(self, store: CoreStore) -> None:
        (holder,) = add(store, request(key="k", delay=60))
        run, follow = claimed(store), request("next", key="k")
        failed = state.fail(run, after(1), error="E", reason="error", keep=KEEP.other, then=(follow,))
        assert store.runs.apply([failed]) == {run.id}
        assert store.runs.find([follow.run.id, holder.id]) == {holder.id: holder}
