"""Run: one request to run a job, from its enqueue to its result."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

from workbell.model.error_text import error_type
from workbell.model.ids import lane_id
from workbell.model.keys import shown_key
from workbell.model.retry import DEFAULT, Retry
from workbell.model.unreadable import FAILURES, about, decode_json, failure_of, value_in_row
from workbell.model.users import UserId, shown_user

# gc=False: the structs below cannot be part of a reference cycle, so the garbage collector skips them.


class Status(StrEnum):
    """The six statuses of a run. The first three are live, the last three are final."""

    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def final(self) -> bool:
        return self in FINAL


LIVE = (Status.SCHEDULED, Status.QUEUED, Status.RUNNING)
PENDING = (Status.SCHEDULED, Status.QUEUED)
FINAL = (Status.SUCCEEDED, Status.FAILED, Status.CANCELED)


class Lane(msgspec.Struct, frozen=True, gc=False):
    """Lane: the runs of one tenant, queue, job and target.

    Where a limit of the job counts by a key, also of one value of that key.
    """

    tenant: str
    queue: str
    job: str
    target: str | None = None
    key: str | None = None

    @property
    def id(self) -> int:
        return lane_id(self.tenant, self.queue, self.job, self.target, self.key)


class Outside(StrEnum):
    """The fate of a tick outside the schedule's window, and of a run that would start there."""

    DEFER = "defer"  # its run is due when the window opens; of ticks, one run for all of them
    SKIP = "skip"


class RunWindow(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The window that a run may start in: that of its schedule when the tick made it."""

    start: str  # HH:MM, as in the schedule
    end: str
    timezone: str
    outside: Outside = Outside.DEFER


class Options(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Settings of one run that nothing searches by; stored together as JSON, and as NULL when all are defaults."""

    retry: Retry | None = None
    timeout: float | None = None
    auto_reschedule: float | None = None
    reschedules_left: int | None = None
    remove_delay: float | None = None
    trigger: str | None = None  # the trigger or endpoint whose event made it
    depth: int = 0  # of the event that made it, or that lies behind the run that did
    quiet: bool = False  # made by an event of Workbell's own: it emits none itself
    alerts: bool = False  # its schedule has an alert URL
    pings: bool = False  # and a ping URL
    request: str | None = None  # the fingerprint of the request that made it under an Idempotency-Key or a chosen id
    parent: str | None = None  # the run whose handler made it
    user: str | None = None  # whom it belongs to, if that is a text
    window: RunWindow | None = None  # of a run that a tick made, and of its follow-ups
    imported_id: str | None = None  # the id that it was imported with, where `id` stands for that text


NO_OPTIONS = Options()
_options = msgspec.json.Decoder(Options)


def read_options(text: str | None) -> Options:
    """The options of a run; none, where they cannot be read: such a run is shown as unreadable, and never started."""
    try:
        return NO_OPTIONS if text is None else _options.decode(text)
    except FAILURES:
        return NO_OPTIONS


def options_failure(text: str | None) -> str | None:
    """Why the options of a run cannot be read; none: they can."""
    try:
        if text is not None:
            _options.decode(text)
    except FAILURES as error:
        return str(error)
    return None


_REMEDY_LIVE = "cancel it, and enqueue it again."
_REMEDY_ENDED = "it is removed when its retention is over."


class Run(msgspec.Struct, frozen=True, gc=False):
    """One execution of a job. Times are aware and in UTC; `input` and `result` are plain JSON values."""

    # The order of these fields is the order of the columns that every store reads: see stores/rows.py. From
    # `finished_at` on they are those of history alone.
    id: str
    lane: Lane
    status: Status
    rank: int
    scheduled_for: datetime
    created_at: datetime
    updated_at: datetime
    attempt: int = 0
    failures: int = 0
    losses: int = 0
    crashes: int = 0
    suspect: bool = False
    alone: bool = False
    token: int = 0
    lease_until: datetime | None = None
    worker: str | None = None
    cancel_requested: bool = False
    started_at: datetime | None = None
    input_text: str | None = None
    options_text: str | None = None
    tag: str | None = None
    key_text: str | None = None  # the key as it is stored, with its scope: see model/keys.py
    user_number: int = 0  # that stands for the user: see model/users.py
    schedule: str | None = None
    event: str | None = None
    retry_of: str | None = None
    rescheduled_from: str | None = None
    accepted_by: str | None = None
    expires_at: datetime | None = None
    progress_text: str | None = None
    error: str | None = None
    reason: str | None = None
    finished_at: datetime | None = None
    result_text: str | None = None
    remove_at: datetime | None = None

    @property
    def job(self) -> str:
        return self.lane.job

    @property
    def queue(self) -> str:
        return self.lane.queue

    @property
    def tenant(self) -> str:
        return self.lane.tenant

    @property
    def target(self) -> str | None:
        return self.lane.target

    @property
    def key(self) -> str | None:
        """The key that it was enqueued with."""
        return None if self.key_text is None else shown_key(self.key_text)

    @property
    def user_id(self) -> UserId:
        """Whom it belongs to; 0 is the system."""
        return self.user_number if self.user_number >= 0 else shown_user(self.user_number, self.options.user)

    @property
    def priority(self) -> int:
        """From -100 to 100; higher runs first."""
        return -self.rank

    @property
    def persistent(self) -> bool:
        """Whether the run outlives the server process that accepted it."""
        return self.accepted_by is None

    @property
    def options(self) -> Options:
        return read_options(self.options_text)

    @property
    def parent(self) -> str | None:
        """The run whose handler enqueued it, or retried another run by it."""
        return self.options.parent

    @property
    def imported_id(self) -> str | None:
        """The id that it had where it was imported from, if that is no UUID; it is found by that as well."""
        return self.options.imported_id

    @property
    def timeout(self) -> float | None:
        """Seconds for one attempt, if it has a timeout of its own."""
        return self.options.timeout

    @property
    def auto_reschedule(self) -> float | None:
        """Seconds after which a new run follows, if it fails for good."""
        return self.options.auto_reschedule

    @property
    def remove_delay(self) -> float | None:
        """Seconds for which it is kept after its end, if it says that."""
        return self.options.remove_delay

    @property
    def ends_chain(self) -> bool:
        """Whether its chain is as long as it gets: no run follows if it fails, although it asked for that."""
        options = NO_OPTIONS if self.options_text is None else self.options
        return options.auto_reschedule is not None and not options.reschedules_left

    @property
    def retry(self) -> Retry:
        return self.options.retry or DEFAULT

    @property
    def input(self) -> dict[str, Any]:
        """The arguments, by name."""
        return value_in_row(f"the input of run {self.id}", self.input_text) or {}

    @property
    def result(self) -> Any:
        """Result of the handler."""
        return value_in_row(f"the result of run {self.id}", self.result_text)

    @property
    def unreadable_columns(self) -> dict[str, str]:
        """The columns that cannot be read, and why. For lists: most runs have none."""
        found = {
            "options": options_failure(self.options_text),
            "input": failure_of(self.input_text, is_object=True),
            "progress": failure_of(self.progress_text, is_object=True),
            "result": failure_of(self.result_text),
        }
        return {name: error for name, error in found.items() if error is not None}

    @property
    def unreadable(self) -> str | None:
        """What the store holds of it that cannot be read, in a sentence; none: all can."""
        # Written out, as every run of every list passes here: 0.5 µs, and by the columns one by one 2.3.
        try:
            if self.options_text is not None:
                _options.decode(self.options_text)
            if self.result_text is not None:
                decode_json(self.result_text)
            given: Any = {} if self.input_text is None else decode_json(self.input_text)
            progress: Any = {} if self.progress_text is None else decode_json(self.progress_text)
            if type(given) is dict and type(progress) is dict:
                return None
        except FAILURES:
            pass
        failed = self.unreadable_columns
        return about(failed, _REMEDY_ENDED if self.status.final else _REMEDY_LIVE)

    @property
    def error_type(self) -> str | None:
        """The class path of the exception that `error` is about, such as `builtins.ValueError`; none of mere words."""
        return error_type(self.error)

    @property
    def progress(self) -> dict[str, Any] | None:
        """`{"done", "total", "message"}` as last reported by the handler."""
        progress: dict[str, Any] | None = value_in_row(f"the progress of run {self.id}", self.progress_text)
        return progress

    def __repr__(self) -> str:
        """One line, for a REPL and for tests that fail; `as_dict()` has it all."""
        word, at = "due", self.scheduled_for
        if self.finished_at is not None:
            word, at = "ended", self.finished_at
        elif self.status is Status.RUNNING and self.started_at is not None:
            word, at = "since", self.started_at
        return f"<Run {self.job} …{self.id[-8:]} {self.status}, attempt {self.attempt}, {word} {at:%Y-%m-%d %H:%M:%SZ}>"

    def as_dict(self) -> dict[str, Any]:
        """The run in the words of the public API, ready for JSON."""
        from workbell.wire.runs import PUBLIC_FIELDS

        failed = self.unreadable_columns
        return {name: None if name in failed else getattr(self, name) for name in PUBLIC_FIELDS}


class AttemptStatus(StrEnum):
    """Attempt: how one try of a run ended, or that it has not."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"
    RELEASED = "released"
    SNOOZED = "snoozed"
    CANCELED = "canceled"


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """One try of a run: who worked on it, and how it ended."""

    run: str
    number: int
    status: AttemptStatus
    started_at: datetime | None
    finished_at: datetime | None = None
    worker: str | None = None
    error: str | None = None
    result_text: str | None = None
    token: int = 0  # of its lease; 0 where that is not known: of an import, of a service

    @property
    def result(self) -> Any:
        """Result of the handler, or the one it gave with its error."""
        return value_in_row(f"the result of attempt {self.number} of run {self.run}", self.result_text)

    @property
    def error_type(self) -> str | None:
        """The class path of the exception that `error` is about."""
        return error_type(self.error)


class OnDuplicate(StrEnum):
    """Duplicate policy: what happens when the key of a new run is taken."""

    RETURN = "return"  # the caller gets the existing run
    REJECT = "reject"  # the caller gets a DuplicateRun
    REPLACE = "replace"  # the existing run, if it has not started, is canceled; the new one takes the key


class IdempotencyKey(msgspec.Struct, frozen=True, gc=False):
    """The Idempotency-Key of a request over HTTP, and the fingerprint of its body: one key stands for one request."""

    key: str
    fingerprint: str


class NewRun(msgspec.Struct, frozen=True, gc=False):
    """A request for a run, complete and checked: everything the store needs to make it."""

    run: Run
    on_duplicate: OnDuplicate = OnDuplicate.RETURN
    key_span: timedelta | None = None  # how long the key is taken; none: while the run is live
    replace_tag: bool = False
    once: IdempotencyKey | None = None  # the request of the key; a holder of another request: KeyReused
    chosen: bool = False  # the id was chosen by the client: there may be a run of it already


class Added(msgspec.Struct, frozen=True, gc=False):
    """The store's answer: which run or event stands for what was asked for, and whether it was made just now."""

    id: str
    created: bool


def last_attempt(run: Run) -> Attempt | None:
    """The newest attempt, which is stored in the run itself."""
    if run.status in PENDING or not run.attempt or run.started_at is None:
        return None
    status = AttemptStatus(run.status.value)
    error = None if run.status is Status.RUNNING else run.error  # a running run keeps that of the attempt before
    told = (run.started_at, run.finished_at, run.worker, error, run.result_text)
    return Attempt(run.id, run.attempt, status, *told, run.token)
