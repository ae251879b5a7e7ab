"""Runs, their attempts and their log lines."""

from __future__ import annotations

from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.clock import Instant
from workbell.model.keys import KeyScope
from workbell.model.log_line import LogLine
from workbell.model.run import Attempt, AttemptStatus, OnDuplicate, Run, Status
from workbell.model.schema_examples import AT, RUN_ID
from workbell.model.state import CANCELED
from workbell.model.unreadable import UNREADABLE
from workbell.wire.fields import ChosenId, Cursor, Limit, Name, Priority, Seconds, User, When, raw, raw_object, readable
from workbell.wire.operation import (
    IDEMPOTENCY_KEY,
    Content,
    Items,
    ListPage,
    Operations,
    Query,
    RequestBody,
    Shown,
)
from workbell.wire.retry import RetryBody
from workbell.wire.run_filter import RunFilter

LONGEST_WAIT = 60.0  # seconds


class RunBody(RequestBody, frozen=True, kw_only=True):
    """A run to be made."""

    job: Name
    input: dict[str, Any] = {}
    id: Annotated[
        ChosenId | None,
        Meta(
            description="A UUID of version 7, made by the client now. Sent again with the same body, the same run is "
            "answered, and none is made twice."
        ),
    ] = None
    run_at: Annotated[When | None, Meta(description="Not before this time, with its zone.")] = None
    delay: Annotated[Seconds | None, Meta(description="Not before this many seconds from now.")] = None
    expires: Annotated[Seconds | When | None, Meta(description="Canceled if it has not started by then.")] = None
    key: Annotated[Name | None, Meta(description="Of a job's runs with one key there is one at a time.")] = None
    key_scope: Annotated[
        KeyScope | None, Meta(description="Among which runs: those of the job, or all of the tenant.")
    ] = None
    on_duplicate: OnDuplicate | None = None
    key_for: Annotated[Seconds | None, Meta(description="How long the key is taken; else while the run is live.")] = (
        None
    )
    tag: Name | None = None
    replace_tag: bool | None = None
    priority: Priority | None = None
    queue: Name | None = None
    user_id: Annotated[
        User | None,
        Meta(
            description="Whose it is: a number or a text; 0 is the system. Left out: the caller's. Only operators, and "
            "callers without a `user_id`, may name somebody else."
        ),
    ] = None
    target: Annotated[Name | None, Meta(description="The agent that is to run it, or `label:x`.")] = None
    retry: RetryBody | None = None
    timeout: Seconds | None = None
    persistent: bool | None = None
    auto_reschedule: Seconds | None = None
    remove_delay: Seconds | None = None

    def options(self) -> dict[str, Any]:
        """Options of `bell.enqueue`; null counts as left out."""
        if self == RunBody(job=self.job, input=self.input, id=self.id):  # most have none; compared in C
            return {}
        found = {name: value for name in _OPTIONS if (value := getattr(self, name)) is not None}
        if self.retry is not None:
            found["retry"] = self.retry.policy()
        return found


_OPTIONS = [name for name in RunBody.__struct_fields__ if name not in ("job", "input", "id")]


class NewRuns(RequestBody, frozen=True, kw_only=True):
    """Many runs, made in one transaction: all of them or none."""

    runs: Annotated[list[RunBody], Meta(min_length=1, max_length=1000)]


class MadeRun(Shown, frozen=True, kw_only=True):
    """A run that stands for what was asked for."""

    id: Annotated[
        str, Meta(description="Its id, a UUID of version 7: ids sort by the time they were made.", examples=[RUN_ID])
    ]
    status: Status


class RunShown(MadeRun, frozen=True, kw_only=True):
    """One execution of a job: the fields that everybody sees."""

    job: Annotated[str, Meta(description="The name of the job.", examples=["send"])]
    attempt: Annotated[int, Meta(description="How often a worker has started it.")]
    failures: Annotated[int, Meta(description="How often its handler has failed: what the retry policy counts.")]
    losses: Annotated[int, Meta(description="How often its worker was lost.")]
    scheduled_for: Annotated[Instant, Meta(description="When it is due, or was.", examples=[AT])]
    started_at: Annotated[Instant | None, Meta(description="When the current or last attempt began.")]
    finished_at: Annotated[Instant | None, Meta(description="When it ended.")]
    input: Annotated[dict[str, Any], Meta(description="The arguments, by name.", examples=[{"to": "a@b.c"}])]
    result: Annotated[Any, Meta(description="What the handler returned.")]
    error: Annotated[
        str | None,
        Meta(
            description="Of the last attempt that ended with one: the error on the first line; its traceback, notes "
            "and causes below."
        ),
    ]
    error_type: Annotated[
        str | None,
        Meta(
            description="The class path of that exception; none if only a message was given.",
            examples=["builtins.ValueError"],
        ),
    ]
    reason: Annotated[
        str | None,
        Meta(
            description="Why it is where it is: `error`, `timeout`, `input`, `result`, `memory`, `cpu`, `isolate`, "
            "`internal`, `unreadable`, `worker lost`, `crashed`, `expired`, `window`, `outside the window`, or the "
            "text given to `cancel` or to a `Snooze`."
        ),
    ]
    queue: Annotated[str, Meta(description="The queue it belongs to.")]
    priority: Annotated[int, Meta(description="From -100 to 100; higher first.")]
    tag: Annotated[str | None, Meta(description="The word given with `tag=`.")]
    key: Annotated[str | None, Meta(description="The word given with `key=`.")]
    user_id: Annotated[int | str, Meta(description="Whom it belongs to: a number or a text; 0 is the system.")]
    tenant: Annotated[str, Meta(description="The tenant it belongs to.")]
    schedule: Annotated[str | None, Meta(description="The id of the schedule that made it.")]
    event: Annotated[str | None, Meta(description="The id of the event that made it.")]
    target: Annotated[
        str | None, Meta(description="The agent that is to run it, or `label:x`; no worker takes a run with a target.")
    ]
    parent: Annotated[str | None, Meta(description="The run whose handler made it.")]
    retry_of: Annotated[str | None, Meta(description="The finished run that this one repeats (`bell.retry`).")]
    rescheduled_from: Annotated[
        str | None, Meta(description="The failed run that this one follows (`auto_reschedule=`).")
    ]
    imported_id: Annotated[
        str | None,
        Meta(description="The id that it was imported with, if that is no UUID; it is found by that as well."),
    ]
    persistent: Annotated[
        bool, Meta(description="False: it ends if the process that enqueued it is restarted before it starts.")
    ]
    expires_at: Annotated[Instant | None, Meta(description="Not started by then: canceled.")]
    timeout: Annotated[float | None, Meta(description="Seconds for one attempt; null: as the job says.")]
    auto_reschedule: Annotated[
        float | None, Meta(description="Seconds after which a new run follows, if it fails for good.")
    ]
    remove_delay: Annotated[
        float | None, Meta(description="Seconds for which it is kept after its end; null: the setting's time.")
    ]
    remove_at: Annotated[Instant | None, Meta(description="When it is removed from history.")]
    progress: Annotated[
        dict[str, Any] | None, Meta(description='`{"done", "total", "message"}` as last reported by the handler.')
    ]
    cancel_requested: Annotated[
        bool, Meta(description="True: a cancel was asked for, and its handler has not ended yet.")
    ]
    created_at: Annotated[Instant, Meta(description="When it was asked for.")]
    updated_at: Annotated[Instant, Meta(description="When it last moved.")]
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    def as_dict(self) -> dict[str, Any]:
        """The public fields of a run."""
        return {name: getattr(self, name) for name in PUBLIC_FIELDS}

    @classmethod
    def of(cls, run: Run, **more: Any) -> Self:
        """A run as it is sent. What is stored as JSON is passed on as it is, if it can be read."""
        plain = {name: getattr(run, name) for name in _PLAIN}
        failed = () if plain["unreadable"] is None else run.unreadable_columns
        return cls(
            **plain,
            input=raw_object(None if "input" in failed else run.input_text),  # type: ignore[arg-type]
            result=raw(None if "result" in failed else run.result_text),
            progress=raw(None if "progress" in failed else run.progress_text),  # type: ignore[arg-type]
            **more,
        )

    @property
    def input_text(self) -> str:
        return msgspec.json.encode(self.input).decode()

    @property
    def result_text(self) -> str | None:
        return None if self.result is None else msgspec.json.encode(self.result).decode()


_STORED_AS_JSON = frozenset({"input", "result", "progress"})
PUBLIC_FIELDS = RunShown.__struct_fields__
_PLAIN = [name for name in PUBLIC_FIELDS if name not in _STORED_AS_JSON]
_OF_RUN = [name for name in PUBLIC_FIELDS if name in Run.__struct_fields__]


class RetriedBy(Shown, frozen=True, kw_only=True):
    """The newest run that was made by a retry."""

    id: Annotated[str, Meta(examples=[RUN_ID])]
    status: Status


class FoundRun(RunShown, frozen=True, kw_only=True):
    """A run of a list, with the newest retry of it."""

    retried_by: RetriedBy | None


class AttemptShown(Shown, frozen=True, kw_only=True):
    """One try of a run."""

    run: str
    number: int
    status: AttemptStatus
    started_at: Instant | None
    finished_at: Instant | None
    worker: str | None
    error: str | None
    error_type: str | None
    result: Any

    @classmethod
    def of(cls, attempt: Attempt, worker: str | None) -> AttemptShown:
        """An attempt as it is sent, with the worker's id or its alias."""
        own = {name: getattr(attempt, name) for name in cls.__struct_fields__ if name not in ("result", "worker")}
        return cls(**own, worker=worker, result=raw(readable(attempt.result_text)))

    def value(self) -> Attempt:
        own = {name: getattr(self, name) for name in Attempt.__struct_fields__ if name not in ("result_text", "token")}
        return Attempt(**own, result_text=None if self.result is None else msgspec.json.encode(self.result).decode())


class WhyShown(Shown, frozen=True, kw_only=True):
    """Why a run is not running, or how it ended."""

    run: str
    status: Status
    why: str


class CancelBody(RequestBody, frozen=True, kw_only=True):
    """Reason of a cancel."""

    reason: Annotated[str, Meta(min_length=1, max_length=500)] = CANCELED


class EnqueueQuery(Query, frozen=True, kw_only=True):
    full: Annotated[bool, Meta(description="Answer with the whole run, as GET /runs/{run_id} does.")] = False


class RunsQuery(RunFilter, frozen=True, kw_only=True):
    before: Cursor | None = None
    limit: Limit = 100


class RunQuery(Query, frozen=True, kw_only=True):
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the run to end.")] = 0


class AttemptsQuery(Query, frozen=True, kw_only=True):
    """A page of attempts; the cursor is the number of the last one before it."""

    after: Annotated[
        Annotated[int, Meta(ge=0, le=2**63 - 1)] | None, Meta(description="The cursor: `next` of the page before.")
    ] = None
    limit: Limit = 1000


class LogsQuery(Query, frozen=True, kw_only=True):
    after: Annotated[str, Meta(pattern=r"^\d{1,9}:\d{1,9}$", description="`attempt:line`, the cursor.")] | None = None
    limit: Limit = 100


operations = Operations("runs")

enqueue = operations.add(
    "enqueue",
    "POST",
    "/runs",
    Scope.ENQUEUE,
    MadeRun,
    """Enqueue a run: have a job run by a worker.

The `Idempotency-Key` becomes the run's key for 24 hours, in the transaction that makes the run. If the run has
a key of its own, the answer is remembered instead. An `id` in the body does the same without a key.""",
    status=201,
    body=RunBody,
    examples=[{"job": "send", "input": {"to": "a@b.c"}, "delay": 60}],
    query=EnqueueQuery,
    headers=(IDEMPOTENCY_KEY,),
)
enqueue_batch = operations.add(
    "enqueue_batch",
    "POST",
    "/runs/batch",
    Scope.ENQUEUE,
    Items[MadeRun],
    "Enqueue up to 1,000 runs in one transaction: all of them or none.",
    status=201,
    body=NewRuns,
    query=EnqueueQuery,
    headers=(IDEMPOTENCY_KEY,),
)
list_ = operations.add(
    "list",
    "GET",
    "/runs",
    Scope.READ,
    ListPage[FoundRun],
    "List runs by filter, newest first.",
    query=RunsQuery,
    input_fields=True,
)
get = operations.add(
    "get",
    "GET",
    "/runs/{run_id}",
    Scope.READ,
    FoundRun,
    "Show a run, or wait for up to a minute until it has ended.",
    query=RunQuery,
)
attempts = operations.add(
    "attempts",
    "GET",
    "/runs/{run_id}/attempts",
    Scope.READ,
    ListPage[AttemptShown],
    "List every attempt of a run, oldest first.",
    query=AttemptsQuery,
)
logs = operations.add(
    "logs",
    "GET",
    "/runs/{run_id}/logs",
    Scope.READ,
    ListPage[LogLine],
    "Read what a run's handler logged, oldest first.",
    query=LogsQuery,
)
why = operations.add(
    "why",
    "GET",
    "/runs/{run_id}/why",
    Scope.READ,
    WhyShown,
    "Say why a run is not running, or how it ended.",
)
cancel = operations.add(
    "cancel",
    "POST",
    "/runs/{run_id}/cancel",
    Scope.OPERATE,
    RunShown,
    "Cancel a run. `canceled`: no worker has it, and its handler is not called any more. `running` with "
    "`cancel_requested`: its worker is asked to stop it.",
    body=CancelBody,
    body_required=False,
)
retry = operations.add(
    "retry",
    "POST",
    "/runs/{run_id}/retry",
    Scope.OPERATE,
    RunShown,
    "Run a finished run's job again with the same input: a new run, linked by `retry_of`.",
    status=201,
    creates=True,
)
stream = operations.add(
    "stream",
    "GET",
    "/runs/{run_id}/stream",
    Scope.READ,
    object,
    "Watch a run with curl: server-sent events `run` and `log`, until it has ended.",
    answers_with=Content("text/event-stream", text="Server-sent events."),
)
