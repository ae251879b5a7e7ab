"""The state machine: statuses of a run, the moves between them, a constructor for each; quarantine after crashes.

A transition is a value: which run, what must still be true of it (status and lease token), and the complete new
values of everything that can change. Stores write transitions and know nothing of the rules; a row that no longer
has the expected status and token is left alone, which makes every move idempotent and fences off a lost lease.

A run with a cancel asked for can only end: stores refuse every move after which it would go on, and `obey_cancel`
turns such a move into the cancel.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec

from workbell.errors import WorkbellError
from workbell.model.event import Event
from workbell.model.run import FINAL, PENDING, Attempt, AttemptStatus, NewRun, Run, Status

CANCELED = "canceled on request"
OUTSIDE_WINDOW = "outside the window"  # why a run is put off to the opening of its window
WINDOW = "window"  # the reason of a run that ends because it could not start in its window
CRASH_LIMIT = 3
CRASHED = "crashed"  # the reason of a run whose own process died, or that was quarantined
SUSPECT_LOSSES = 2  # lost leases that make a suspect, where it is unknown what the lost worker was executing


class Move(StrEnum):
    DISPATCH = "dispatch"
    START = "start"
    SUCCEED = "succeed"
    RETRY = "retry"
    FAIL = "fail"
    RELEASE = "release"
    SNOOZE = "snooze"
    LOSE = "lose"
    CANCEL = "cancel"


class MoveRule(NamedTuple):
    sources: tuple[Status, ...]
    targets: tuple[Status, ...]
    meaning: str


MOVES: dict[Move, MoveRule] = {
    Move.DISPATCH: MoveRule((Status.SCHEDULED,), (Status.QUEUED,), "its time has come"),
    Move.START: MoveRule((Status.QUEUED,), (Status.RUNNING,), "a worker takes a lease, with a new token"),
    Move.SUCCEED: MoveRule((Status.RUNNING,), (Status.SUCCEEDED,), "the handler returned"),
    Move.RETRY: MoveRule(
        (Status.RUNNING,), (Status.SCHEDULED,), "the handler raised, and the policy allows another try"
    ),
    Move.FAIL: MoveRule((Status.RUNNING,), (Status.FAILED,), "the handler raised, and no try is left"),
    Move.RELEASE: MoveRule((Status.RUNNING,), (Status.QUEUED,), "a stopping worker hands it back; nothing is spent"),
    Move.SNOOZE: MoveRule(
        (Status.RUNNING,), (Status.SCHEDULED,), "the handler asked for later, or the window is closed; nothing is spent"
    ),
    Move.LOSE: MoveRule((Status.RUNNING,), (Status.QUEUED, Status.FAILED), "the lease ran out: its worker is gone"),
    Move.CANCEL: MoveRule(
        (Status.SCHEDULED, Status.QUEUED, Status.RUNNING),
        (Status.CANCELED,),
        "someone ended it, or its expiry or window did",
    ),
}


class Retention(NamedTuple):
    """Retention: how long finished runs, events (with notifications) and audit entries stay."""

    succeeded: timedelta = timedelta(days=7)
    other: timedelta = timedelta(days=30)
    events: timedelta = timedelta(days=30)
    audit: timedelta = timedelta(days=365)


def retention_of(run: Run, keep: Retention) -> Retention:
    """The retention of this run: its own (`remove_delay`), else the rule."""
    own = None if run.options_text is None else run.options.remove_delay
    return keep if own is None else keep._replace(succeeded=timedelta(seconds=own), other=timedelta(seconds=own))


class Transition(msgspec.Struct, frozen=True, gc=False):
    """One guarded write: move this run, if it still has this status and token, to exactly these values."""

    move: Move
    run_id: str
    expected: Status
    expected_token: int
    status: Status
    scheduled_for: datetime
    updated_at: datetime
    attempt: int
    failures: int
    losses: int
    crashes: int
    alone: bool
    worker: str | None
    lease_until: datetime | None
    started_at: datetime | None
    error: str | None
    reason: str | None
    token: int  # as it is afterwards: only a start makes a new one
    suspect: bool = False
    finished_at: datetime | None = None
    result_text: str | None = None
    remove_at: datetime | None = None
    cancel_requested: bool = False  # always False: every move clears it, or is refused where it is set
    ended: Attempt | None = None  # the attempt that this move ends, where the run itself goes on
    then: tuple[NewRun, ...] = ()  # runs to be made in the same write, if this move happens
    emits: tuple[Event, ...] = ()  # emitted in the same write, if this move happens
    tenant: str = ""  # of the run, as are the key that it may hold and its schedule: what else its end concerns
    key: str | None = None
    schedule: str | None = None
    raised: BaseException | None = None  # what the handler raised, for the logs of this process

    @property
    def called_at(self) -> datetime | None:
        """When the handler was called, in the attempt that this move ends."""
        return self.started_at if self.ended is None else self.ended.started_at

    def after(self, run: Run) -> Run:
        """The run as it is once this transition is written."""
        return msgspec.structs.replace(run, **{name: getattr(self, name) for name in CHANGED})


# What a transition may change in a run; everything else about a run is fixed when it is made.
CHANGED = (
    "status scheduled_for updated_at attempt failures losses crashes alone worker lease_until started_at error "
    "reason token suspect finished_at result_text remove_at cancel_requested"
).split()


# The columns that are written when the run ends, after those of the guard.
FINISHED = (
    "run_id expected expected_token status failures losses crashes started_at error reason finished_at result_text "
    "remove_at"
).split()


class IllegalMove(WorkbellError):
    """The state machine has no such move: an error in Workbell itself, never in its use."""


def _move(
    move: Move,
    run: Run,
    status: Status,
    now: datetime,
    *,
    scheduled_for: datetime | None = None,
    attempt: int | None = None,
    failures: int | None = None,
    losses: int | None = None,
    crashes: int | None = None,
    error: str | None = None,
    reason: str | None = None,
    suspect: bool = False,
    result: str | None = None,
    keep: timedelta | None = None,
    started_at: datetime | None = None,
    ended: AttemptStatus | None = None,
    then: tuple[NewRun, ...] = (),
) -> Transition:
    _check(move, run, status)
    final = status in FINAL
    begun = run.started_at if started_at is None else started_at  # a claim's time is not yet the handler's
    record = None
    if ended is not None:
        record = Attempt(run.id, run.attempt, ended, begun, now, run.worker, error, result, run.token)
    return Transition(
        move,
        run.id,
        run.status,
        run.token,
        status,
        run.scheduled_for if scheduled_for is None else scheduled_for,
        now,
        run.attempt if attempt is None else attempt,
        run.failures if failures is None else failures,
        run.losses if losses is None else losses,
        run.crashes if crashes is None else crashes,
        run.alone if final else False,
        run.worker if final else None,
        None,
        begun if final else None,
        error,
        reason,
        run.token,
        suspect and not final,
        now if final else None,
        result if final else None,
        None if keep is None else now + keep,
        False,
        record,
        then,
        tenant=run.lane.tenant,
        key=run.key_text,
        schedule=run.schedule,
    )


def _check(move: Move, run: Run, status: Status) -> None:
    rule = MOVES[move]
    if run.status not in rule.sources or status not in rule.targets:
        raise IllegalMove(f"run {run.id}: {move} does not lead from {run.status} to {status}.")


def dispatch(run: Run, now: datetime) -> Transition:
    return _move(Move.DISPATCH, run, Status.QUEUED, now, error=run.error, reason=run.reason, suspect=run.suspect)


def start(run: Run, now: datetime, *, worker: str, lease_until: datetime, token: int) -> Transition:
    """A claim. The SQL stores write it as one statement for many runs; the contract compares the two."""
    _check(Move.START, run, Status.RUNNING)
    return Transition(
        Move.START,
        run.id,
        run.status,
        run.token,
        Status.RUNNING,
        run.scheduled_for,
        now,
        run.attempt + 1,
        run.failures,
        run.losses,
        run.crashes,
        run.alone,
        worker,
        lease_until,
        now,
        run.error,
        run.reason,
        token,
        run.suspect,
    )


def succeed(
    run: Run, now: datetime, *, result: str | None, keep: timedelta, started_at: datetime | None = None
) -> Transition:
    """Written out, because most runs end like this: by `_move` it takes twice as long."""
    if run.status is not Status.RUNNING:
        _check(Move.SUCCEED, run, Status.SUCCEEDED)
    return Transition(
        Move.SUCCEED,
        run.id,
        run.status,
        run.token,
        Status.SUCCEEDED,
        run.scheduled_for,
        now,
        run.attempt,
        run.failures,
        run.losses,
        run.crashes,
        run.alone,
        run.worker,
        None,
        run.started_at if started_at is None else started_at,
        None,
        None,
        run.token,
        False,
        now,
        result,
        now + keep,
        False,
        None,
        (),
        (),
        run.lane.tenant,
        run.key_text,
        run.schedule,
    )


def retry(
    run: Run,
    now: datetime,
    *,
    error: str,
    reason: str,
    wait: timedelta,
    started_at: datetime | None = None,
    result: str | None = None,
) -> Transition:
    return _move(
        Move.RETRY,
        run,
        Status.SCHEDULED,
        now,
        scheduled_for=now + wait,
        failures=run.failures + 1,
        error=error,
        reason=reason,
        started_at=started_at,
        ended=AttemptStatus.FAILED,
        result=result,
    )


def fail(
    run: Run,
    now: datetime,
    *,
    error: str,
    reason: str,
    keep: timedelta,
    started_at: datetime | None = None,
    then: tuple[NewRun, ...] = (),
    result: str | None = None,
) -> Transition:
    return _move(
        Move.FAIL,
        run,
        Status.FAILED,
        now,
        failures=run.failures + 1,
        error=error,
        reason=reason,
        keep=keep,
        started_at=started_at,
        then=then,
        result=result,
    )


def release(run: Run, now: datetime, *, started_at: datetime | None = None) -> Transition:
    """Hand a run back. One whose handler had not begun is as if it had never been claimed."""
    if started_at is None:
        return _move(
            Move.RELEASE,
            run,
            Status.QUEUED,
            now,
            attempt=run.attempt - 1,
            error=run.error,
            reason=run.reason,
            suspect=run.suspect,
        )
    return _move(
        Move.RELEASE,
        run,
        Status.QUEUED,
        now,
        started_at=started_at,
        suspect=run.suspect,
        ended=AttemptStatus.RELEASED,
    )


def snooze(
    run: Run, now: datetime, *, wait: timedelta, reason: str | None, started_at: datetime | None = None
) -> Transition:
    return _move(
        Move.SNOOZE,
        run,
        Status.SCHEDULED,
        now,
        scheduled_for=now + wait,
        reason=reason,
        started_at=started_at,
        ended=AttemptStatus.SNOOZED,
    )


def put_off(run: Run, now: datetime, *, until: datetime) -> Transition:
    """A claimed run whose window is closed waits for the opening. Its handler had not begun: it is as if it had never
    been claimed."""
    return _move(
        Move.SNOOZE,
        run,
        Status.SCHEDULED,
        now,
        scheduled_for=until,
        attempt=run.attempt - 1,
        error=run.error,
        reason=OUTSIDE_WINDOW,
        suspect=run.suspect,
    )


def shut_out(run: Run, now: datetime, *, keep: timedelta) -> Transition:
    """A claimed run whose window is closed ends. Its handler had not begun; the error of an earlier attempt stays."""
    ended = _move(Move.CANCEL, run, Status.CANCELED, now, error=run.error, reason=WINDOW, keep=keep)
    return msgspec.structs.replace(ended, started_at=None)


def lose(
    run: Run, now: datetime, *, keep: timedelta, blamed: bool | None = None, how: str = "stopped renewing its lease"
) -> Transition:
    """The lease was lost with its worker. Only a death while running alone counts against the run itself.

    Its supervisor knows what a dead child was executing: then the run is `blamed`, which makes it a suspect, or it is
    known to be innocent. Where that is unknown, a run becomes a suspect when it is lost a second time.

    The error does not name the worker: its id names a host, and the error goes to whoever may see the run, in events
    and webhooks too. The attempt has it, for operators.
    """
    crashes = run.crashes + (run.alone and blamed is not False)
    suspect = run.suspect or (run.losses + 1 >= SUSPECT_LOSSES if blamed is None else blamed)
    error = f"The worker {how} while it held this run."
    return _lost(run, now, crashes=crashes, suspect=suspect, error=error, reason="worker lost", keep=keep)


def crash(run: Run, now: datetime, *, keep: timedelta, how: str, started_at: datetime | None = None) -> Transition:
    """The process that the run had for itself is dead. It was alone there, so that no neighbour comes into question;
    and it took no worker with it, so that it is no suspect either."""
    error = f"The process of this run {how}."
    return _lost(
        run,
        now,
        crashes=run.crashes + 1,
        suspect=run.suspect,
        error=error,
        reason=CRASHED,
        keep=keep,
        started_at=started_at,
    )


def _lost(
    run: Run,
    now: datetime,
    *,
    crashes: int,
    suspect: bool,
    error: str,
    reason: str,
    keep: timedelta,
    started_at: datetime | None = None,
) -> Transition:
    """Back to the queue, with the attempt on record; or quarantined, after too many deaths alone."""
    over = crashes >= CRASH_LIMIT
    return _move(
        Move.LOSE,
        run,
        Status.FAILED if over else Status.QUEUED,
        now,
        losses=run.losses + 1,
        crashes=crashes,
        error=error,
        reason=CRASHED if over else reason,
        suspect=suspect,
        keep=keep if over else None,
        started_at=started_at,
        ended=None if over else AttemptStatus.LOST,
    )


def cancel(run: Run, now: datetime, *, reason: str, keep: timedelta, started_at: datetime | None = None) -> Transition:
    """The end of a run. The row of a running one becomes that of its last attempt, which has no error of its own."""
    error = None if run.status is Status.RUNNING else run.error
    return _move(Move.CANCEL, run, Status.CANCELED, now, reason=reason, error=error, keep=keep, started_at=started_at)


def replace(run: Run, now: datetime, *, by: Run, why: str, keep: Retention) -> Transition:
    """The cancel of a waiting run that a new one replaces, by its tag or its key."""
    if run.status not in PENDING:
        raise IllegalMove(f"run {run.id}: it is {run.status}, and only a run that has not started can be replaced.")
    return cancel(run, now, reason=replaced_by(by, why), keep=retention_of(run, keep).other)


def replaced_by(new: Run, why: str) -> str:
    """The reason of a run that was replaced."""
    return f"replaced by run {new.id} {why}"


def ask_cancel(run: Run, reason: str) -> Run:
    """A running run with a cancel asked for. Its worker learns of it soon; the run can only end now."""
    if run.status is not Status.RUNNING:
        raise IllegalMove(f"run {run.id}: it is {run.status}, and only a running one is asked to end.")
    return msgspec.structs.replace(run, cancel_requested=True, reason=reason)


def restart_wait(run: Run, now: datetime) -> Run:
    """Restart of a wait that began later than now, by a clock that was put back since: it waits as long from now.

    A retry, a snooze and an automatic reschedule wait for a span of time. A run that has not started was given a time
    on the wall clock, or a delay that was turned into one, which stays.
    """
    waits = run.status is Status.SCHEDULED and (run.attempt > 0 or run.rescheduled_from is not None)
    if not waits or run.updated_at <= now:
        return run
    return msgspec.structs.replace(run, scheduled_for=now + (run.scheduled_for - run.updated_at), updated_at=now)


def obey_cancel(run: Run, change: Transition, keep: Retention) -> Transition:
    """The transition itself; of a run with a cancel asked for, the cancel instead of a move that goes on.

    What the run has reached by itself counts: it may still succeed or fail. But nothing follows a failure then. The
    cancel has what the move would have noted: the error, and what was spent.
    """
    if not run.cancel_requested:
        return change
    if change.status in FINAL:
        return msgspec.structs.replace(change, then=()) if change.then else change
    ended = cancel(run, change.updated_at, reason=run.reason or CANCELED, keep=retention_of(run, keep).other)
    return msgspec.structs.replace(
        ended,
        started_at=change.called_at,
        failures=change.failures,
        losses=change.losses,
        crashes=change.crashes,
        error=None if change.ended is None else change.ended.error,
    )


def diagram() -> str:
    """The moves as a Mermaid state diagram: what the docs show."""
    lines = ["stateDiagram-v2", "    [*] --> scheduled: create", "    [*] --> queued: create, due at once"]
    for move, rule in MOVES.items():
        for source in rule.sources:
            lines += [f"    {source} --> {target}: {move}" for target in rule.targets]
    return "\n".join([*lines, *(f"    {status} --> [*]" for status in FINAL)])
