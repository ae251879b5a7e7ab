"""The state machine: every move from every status, and what a move leaves behind. D3."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tests.unit.makers import NOW, run_in
from workbell.model import state
from workbell.model.run import FINAL, LIVE, PENDING, AttemptStatus, NewRun, Options, Run, Status, last_attempt
from workbell.model.state import CHANGED, CRASH_LIMIT, MOVES, IllegalMove, Move, Retention, Transition

LATER = NOW + timedelta(seconds=10)
DAY = timedelta(days=1)
KEEP = Retention()
PROTOCOL = Path(__file__).parents[3] / "docs" / "protocol.md"

# Each constructor with the targets it can lead to from a plain run.
CONSTRUCTORS: dict[Move, tuple[Callable[[Run], Transition], Status]] = {
    Move.DISPATCH: (lambda run: state.dispatch(run, LATER), Status.QUEUED),
    Move.START: (lambda run: state.start(run, LATER, worker="w", lease_until=LATER + DAY, token=7), Status.RUNNING),
    Move.SUCCEED: (lambda run: state.succeed(run, LATER, result='"x"', keep=DAY), Status.SUCCEEDED),
    Move.RETRY: (lambda run: state.retry(run, LATER, error="E", reason="error", wait=DAY), Status.SCHEDULED),
    Move.FAIL: (lambda run: state.fail(run, LATER, error="E", reason="error", keep=DAY), Status.FAILED),
    Move.RELEASE: (lambda run: state.release(run, LATER), Status.QUEUED),
    Move.SNOOZE: (lambda run: state.snooze(run, LATER, wait=DAY, reason="later"), Status.SCHEDULED),
    Move.LOSE: (lambda run: state.lose(run, LATER, keep=DAY), Status.QUEUED),
    Move.CANCEL: (lambda run: state.cancel(run, LATER, reason="no", keep=DAY), Status.CANCELED),
}
LEGAL = {
    (Move.DISPATCH, Status.SCHEDULED),
    (Move.START, Status.QUEUED),
    (Move.SUCCEED, Status.RUNNING),
    (Move.RETRY, Status.RUNNING),
    (Move.FAIL, Status.RUNNING),
    (Move.RELEASE, Status.RUNNING),
    (Move.SNOOZE, Status.RUNNING),
    (Move.LOSE, Status.RUNNING),
    (Move.CANCEL, Status.SCHEDULED),
    (Move.CANCEL, Status.QUEUED),
    (Move.CANCEL, Status.RUNNING),
}


def test_every_move_has_a_constructor_here() -> None:
    assert set(CONSTRUCTORS) == set(Move)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("move", CONSTRUCTORS)
def test_every_move_from_every_status(move: Move, status: Status) -> None:
    make, target = CONSTRUCTORS[move]
    run = run_in(status)
    if (move, status) not in LEGAL:
        with pytest.raises(IllegalMove, match=f"{move} does not lead from {status}"):
            make(run)
        return
    change = make(run)
    assert change.move is move
    assert (change.run_id, change.expected, change.expected_token) == (run.id, status, run.token)
    assert change.status is target
    assert target in MOVES[move].targets
    after = change.after(run)
    assert after.status is target
    assert after.updated_at == LATER
    assert after.lease_until == (LATER + DAY if target is Status.RUNNING else None)
    assert (after.token, after.cancel_requested) == (7 if move is Move.START else run.token, False)
    assert (after.finished_at, after.remove_at) == ((LATER, LATER + DAY) if target in FINAL else (None, None))
    assert (after.worker is None) is (
        target is not Status.RUNNING and (target not in FINAL or status is not Status.RUNNING)
    )
    # What a transition does not change stays as it was.
    same = [name for name in run.__struct_fields__ if name not in CHANGED]
    assert [getattr(after, name) for name in same] == [getattr(run, name) for name in same]


def test_nothing_leads_out_of_a_final_status() -> None:
    assert all(source in LIVE for rule in MOVES.values() for source in rule.sources)
    assert set(LIVE) | set(FINAL) == set(Status)


def test_success_keeps_the_result_and_clears_the_error() -> None:
    run = run_in(Status.RUNNING, error="an earlier one", reason="error", failures=1)
    after = CONSTRUCTORS[Move.SUCCEED][0](run).after(run)
    assert (after.result, after.error, after.reason, after.failures) == ("x", None, None, 1)


def test_a_retry_spends_one_failure_and_records_the_attempt() -> None:
    run = run_in(Status.RUNNING, attempt=2, failures=1)
    change = state.retry(run, LATER, error="E: x", reason="error", wait=timedelta(seconds=5), started_at=NOW)
    after = change.after(run)
    assert (after.failures, after.attempt, after.scheduled_for) == (2, 2, LATER + timedelta(seconds=5))
    assert (after.error, after.reason, after.started_at) == ("E: x", "error", None)
    assert change.ended is not None
    assert (change.ended.number, change.ended.status, change.ended.error) == (2, AttemptStatus.FAILED, "E: x")
    assert (change.ended.started_at, change.ended.finished_at, change.ended.worker) == (NOW, LATER, "w1")


def test_a_release_before_the_handler_began_leaves_no_trace() -> None:
    run = run_in(Status.RUNNING, attempt=3)
    change = state.release(run, LATER)
    assert (change.attempt, change.failures, change.ended) == (2, 0, None)


def test_a_release_after_it_began_records_the_attempt_and_spends_nothing() -> None:
    run = run_in(Status.RUNNING, attempt=3)
    change = state.release(run, LATER, started_at=NOW)
    assert (change.attempt, change.failures) == (3, 0)
    assert change.ended is not None
    assert change.ended.status is AttemptStatus.RELEASED


def test_a_snooze_spends_nothing() -> None:
    run = run_in(Status.RUNNING, failures=1)
    change = state.snooze(run, LATER, wait=DAY, reason="not ready")
    assert (change.failures, change.scheduled_for, change.reason) == (1, LATER + DAY, "not ready")


def test_a_run_put_off_is_as_if_it_had_never_been_claimed() -> None:
    run = run_in(Status.RUNNING, attempt=3, failures=2, error="E", reason="error", suspect=True)
    change = state.put_off(run, LATER, until=LATER + DAY)
    assert (change.attempt, change.failures, change.ended, change.error) == (2, 2, None, "E")
    assert (change.scheduled_for, change.reason, change.suspect) == (LATER + DAY, "outside the window", True)


def test_a_run_that_is_shut_out_keeps_its_error() -> None:
    run = run_in(Status.RUNNING, attempt=2, failures=1, error="E", reason="error")
    change = state.shut_out(run, LATER, keep=DAY)
    assert (change.status, change.reason, change.error) == (Status.CANCELED, "window", "E")
    assert (change.started_at, change.finished_at, change.remove_at) == (None, LATER, LATER + DAY)
    assert last_attempt(change.after(run)) is None, "no handler was called"


def test_a_lost_worker_is_not_held_against_a_run_unless_it_ran_alone() -> None:
    run = run_in(Status.RUNNING, losses=7, crashes=CRASH_LIMIT - 1)
    change = state.lose(run, LATER, keep=DAY)
    assert (change.status, change.losses, change.crashes, change.failures) == (Status.QUEUED, 8, CRASH_LIMIT - 1, 0)
    assert change.ended is not None
    assert change.ended.status is AttemptStatus.LOST
    alone = state.lose(run_in(Status.RUNNING, alone=True, crashes=CRASH_LIMIT - 1), LATER, keep=DAY)
    assert (alone.status, alone.crashes, alone.reason) == (Status.FAILED, CRASH_LIMIT, "crashed")
    assert alone.remove_at == LATER + DAY


def test_a_failure_carries_the_run_that_follows_it() -> None:
    follow = state.NewRun(run_in(Status.SCHEDULED))
    change = state.fail(run_in(Status.RUNNING), LATER, error="E", reason="error", keep=DAY, then=(follow,))
    assert change.then == (follow,)
    assert change.failures == 1


def test_canceling_keeps_the_error_of_an_earlier_attempt() -> None:
    change = state.cancel(run_in(Status.SCHEDULED, error="E"), LATER, reason="enough", keep=DAY)
    assert (change.error, change.reason) == ("E", "enough")


def test_the_diagram_shows_every_move() -> None:
    lines = {line.strip() for line in state.diagram().splitlines()}
    for move, rule in MOVES.items():
        for source in rule.sources:
            assert {f"{source} --> {target}: {move}" for target in rule.targets} <= lines
    assert {f"{status} --> [*]" for status in FINAL} <= lines


def test_the_diagram_in_the_docs_is_the_state_machine() -> None:
    assert PROTOCOL.is_file(), "docs/protocol.md is missing; it shows the state diagram between its two markers."
    found = re.search(r"<!-- state-diagram -->\n(.*?)\n<!-- /state-diagram -->", PROTOCOL.read_text("utf-8"), re.DOTALL)
    assert found, (
        "docs/protocol.md needs the lines <!-- state-diagram --> and <!-- /state-diagram --> with the diagram between."
    )
    assert found[1].strip() == f"```mermaid\n{state.diagram()}\n```", (
        "The diagram in docs/protocol.md is not that of the code; paste what workbell.model.state.diagram() returns."
    )


class TestCancelAskedFor:
    """A run with a cancel asked for can only end."""

    ASKED = state.ask_cancel(run_in(Status.RUNNING, error="E: old", failures=1), "enough")

    @pytest.mark.parametrize("status", [status for status in Status if status is not Status.RUNNING])
    def test_only_a_running_run_is_asked(self, status: Status) -> None:
        with pytest.raises(IllegalMove, match="only a running one"):
            state.ask_cancel(run_in(status), "enough")

    @pytest.mark.parametrize("move", [Move.RETRY, Move.RELEASE, Move.SNOOZE, Move.LOSE])
    def test_what_would_go_on_is_canceled(self, move: Move) -> None:
        change = CONSTRUCTORS[move][0](self.ASKED)
        ended = state.obey_cancel(self.ASKED, change, KEEP)
        assert (ended.move, ended.status, ended.reason) == (Move.CANCEL, Status.CANCELED, "enough")
        assert (ended.failures, ended.losses) == (change.failures, change.losses)
        assert ended.error == (None if change.ended is None else change.ended.error), "of the attempt that it ends"
        assert (ended.finished_at, ended.remove_at) == (LATER, LATER + KEEP.other)

    def test_what_has_ended_by_itself_has_ended(self) -> None:
        for move in (Move.SUCCEED, Move.CANCEL):
            change = CONSTRUCTORS[move][0](self.ASKED)
            assert state.obey_cancel(self.ASKED, change, KEEP) is change

    def test_nothing_follows_a_failure(self) -> None:
        new = NewRun(run_in(Status.QUEUED))
        failed = state.fail(self.ASKED, LATER, error="E", reason="error", keep=DAY, then=(new,))
        ended = state.obey_cancel(self.ASKED, failed, KEEP)
        assert (ended.status, ended.then) == (Status.FAILED, ())

    def test_others_are_left_alone(self) -> None:
        run = run_in(Status.RUNNING)
        change = state.release(run, LATER)
        assert state.obey_cancel(run, change, KEEP) is change

    def test_it_keeps_the_time_that_the_run_asked_to_be_kept(self) -> None:
        text = msgspec.json.encode(Options(remove_delay=5)).decode()
        run = msgspec.structs.replace(self.ASKED, options_text=text)
        assert state.obey_cancel(run, state.release(run, LATER), KEEP).remove_at == LATER + timedelta(seconds=5)


@pytest.mark.parametrize("status", Status)
def test_only_a_run_that_has_not_started_is_replaced(status: Status) -> None:
    old, new = run_in(status), run_in(Status.QUEUED)
    if status not in PENDING:
        with pytest.raises(IllegalMove, match="has not started"):
            state.replace(old, LATER, by=new, why="of the same tag", keep=KEEP)
        return
    change = state.replace(old, LATER, by=new, why="of the same tag", keep=KEEP)
    assert (change.status, change.reason) == (Status.CANCELED, f"replaced by run {new.id} of the same tag")
    assert change.remove_at == LATER + KEEP.other
