"""Schedules: their settings, the outcomes of their ticks, and previews of the next ones."""

from __future__ import annotations

from datetime import timedelta
from types import NoneType
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from workbell.errors import JobsError
from workbell.model.access import Scope
from workbell.model.alert import URLS, shown_url
from workbell.model.retry import RetryWords, policy_of
from workbell.model.run import Outside
from workbell.model.schedule import CatchUp, FireStatus, Overlap, Schedule, ScheduleKind, ScheduleOptions, Tick
from workbell.model.unreadable import told
from workbell.model.upcoming_ticks import TriedTiming, UpcomingTicks
from workbell.timing import timing_options
from workbell.wire.fields import JsonObject, Limit, Name, Seconds, Time, When, given, raw_object, text_of
from workbell.wire.operation import ListPage, Operations, Query, RequestBody
from workbell.wire.retry import RetryShown, ScheduleRetryBody
from workbell.wire.run_settings import RunSettingsBody, RunSettingsShown
from workbell.wire.runs import RunShown

Clock = Annotated[str, Meta(pattern=r"^\d{1,2}:\d{2}$")]
CronText = Annotated[str, Meta(max_length=200)]
Zone = Annotated[str, Meta(max_length=100)]
Url = Annotated[str, Meta(max_length=2000)]


class ScheduleTerms(RunSettingsBody, frozen=True, kw_only=True):
    """Options of a schedule."""

    cron: Annotated[CronText | UnsetType | None, Meta(description="Five fields, or six with seconds first.")] = UNSET
    every: Annotated[Seconds | UnsetType | None, Meta(description="An interval in seconds.")] = UNSET
    anchor: When | UnsetType | None = UNSET
    at: Annotated[When | UnsetType | None, Meta(description="Once, at this time.")] = UNSET
    kind: ScheduleKind | UnsetType | None = UNSET
    expression: Annotated[
        Annotated[str, Meta(max_length=200)] | UnsetType | None,
        Meta(description="With `kind`, in place of these four, as a schedule is shown.", examples=["0 3 * * *"]),
    ] = UNSET
    timezone: Zone | UnsetType | None = UNSET
    input: dict[str, Any] | UnsetType | None = UNSET
    window: tuple[Clock, Clock] | UnsetType | None = UNSET
    outside: Outside | UnsetType | None = UNSET
    overlap: Overlap | UnsetType | None = UNSET
    catch_up: CatchUp | UnsetType | None = UNSET
    catch_up_cap: Annotated[int, Meta(ge=1, le=10_000)] | UnsetType | None = UNSET
    jitter: Seconds | UnsetType | None = UNSET
    retry: ScheduleRetryBody | UnsetType | None = UNSET
    retry_policy: Annotated[
        RetryWords | UnsetType | None, Meta(description="It only shows `retry` in other words; both must agree.")
    ] = UNSET
    description: Annotated[str, Meta(max_length=2000)] | UnsetType | None = UNSET
    created_by: Annotated[str, Meta(max_length=200)] | UnsetType | None = UNSET
    enabled: bool | UnsetType | None = UNSET
    alert_url: Url | UnsetType | None = UNSET
    ping_url: Url | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        shown = self._shown_when()
        for word in _WHEN if shown else ():
            said = shown.get(word)
            if getattr(self, word) not in (UNSET, None, said, _plain(said)):
                raise ValueError(f"{word} says something else than kind and expression; leave one of the two out")
        if isinstance(self.retry_policy, RetryWords) and self.retry_policy != self._retry_words():
            raise ValueError(
                "retry_policy shows retry in other words, and here the two differ; change retry, and leave "
                "retry_policy out"
            )

    def _retry_words(self) -> RetryWords | None:
        return policy_of(self.retry.policy()) if isinstance(self.retry, ScheduleRetryBody) else None

    def _shown_when(self) -> dict[str, Any]:
        """When it ticks, if it is said as a schedule is shown."""
        match self.kind, self.expression:
            case ScheduleKind() as kind, str() as expression:
                try:
                    return timing_options(kind.value, expression)
                except JobsError as error:
                    raise ValueError(f"its kind is {kind}, but {str(error).removesuffix('.')}") from None
            case UnsetType() | None, UnsetType() | None:
                return {}
            case _:
                raise ValueError("kind and expression go together; give both, or one of cron, every and at")

    def options(self) -> dict[str, Any]:
        """Options of `bell.schedules` that the request names, besides the job."""
        found = given(self) | self._shown_when()
        for word in ("job", "kind", "expression", "retry_policy"):
            found.pop(word, None)
        if isinstance(self.retry, ScheduleRetryBody):
            found["retry"] = self.retry.policy()
        return found


_WHEN = ("cron", "every", "anchor", "at")


def _plain(said: Any) -> Any:
    """As a body says it: a span in seconds."""
    return said.total_seconds() if isinstance(said, timedelta) else said


class ScheduleBody(ScheduleTerms, frozen=True, kw_only=True):
    """A schedule to put. One of `cron`, `every` and `at` says when, or `kind` and `expression` do."""

    job: Name


class ScheduleUpdateBody(ScheduleTerms, frozen=True, kw_only=True):
    """Changes of a schedule. Null takes a setting back to its default."""

    job: Annotated[Name | UnsetType, Meta(description="Another job.")] = UNSET

    def options(self) -> dict[str, Any]:
        found = ScheduleTerms.options(self)
        if isinstance(self.retry, ScheduleRetryBody):
            found["retry"] = self.retry.change()
        return found


class ScheduleShown(RunSettingsShown, frozen=True, kw_only=True):
    """When a job runs by itself, and how that goes."""

    id: str
    name: Annotated[str, Meta(examples=["nightly"])]
    tenant: str
    job: str
    kind: ScheduleKind
    expression: Annotated[
        str,
        Meta(description="A cron expression; `5m from 2026-11-16T00:00:00Z`; or an instant.", examples=["0 3 * * *"]),
    ]
    in_words: Annotated[str, Meta(examples=["at 03:00"])]
    timezone: str
    enabled: Annotated[bool, Meta(description="False: its declaration has switched it off, or is gone.")]
    paused: bool
    reason: Annotated[str | None, Meta(description="Why it is paused or switched off.")]
    source: Annotated[str, Meta(description="Who declared it: `api`, `code:` or `file:` with the project's name.")]
    input: Annotated[JsonObject, Meta(description="The arguments of every run.")]
    next_run_at: Time | None
    last_run_at: Time | None
    last_run_id: str | None
    run_count: int
    failure_count: Annotated[
        int, Meta(description="Runs that failed for good, and ticks at which the scheduler failed.")
    ]
    last_fire_status: Annotated[FireStatus | None, Meta(description="The scheduler's last outcome.")]
    last_fire_at: Time | None
    last_run_status: Annotated[str | None, Meta(description="Outcome of its last ended run: `success` or `failed`.")]
    last_status: Annotated[str | None, Meta(description="The newer of the two.")]
    last_error: str | None
    broken: Annotated[
        bool,
        Meta(description="It makes no runs: it cannot be read, or the scheduler failed with it at its last check."),
    ]
    last_scheduled_at: Annotated[Time | None, Meta(description="Every tick up to here is accounted for.")]
    created_at: Time
    updated_at: Time
    retry: RetryShown | None
    retry_policy: Annotated[
        RetryWords | None,
        Meta(description="The same in the words of scheduling services, if they can say it."),
    ]
    window: Annotated[tuple[str, str] | None, Meta(description="Two times of day between which runs may start.")]
    outside: Annotated[Outside, Meta(description="A tick, or a start of its run, outside the window.")]
    overlap: Annotated[Overlap, Meta(description="A tick while an earlier run lives.")]
    catch_up: Annotated[CatchUp, Meta(description="Ticks that no scheduler was there for.")]
    catch_up_cap: Annotated[int, Meta(description="Most runs that `all` makes.")]
    jitter: Annotated[float, Meta(description="Seconds over which its runs are spread.")]
    description: str
    created_by: str
    alert_url: Annotated[str | None, Meta(description="Called when a run fails for good.")]
    ping_url: Annotated[str | None, Meta(description="Called at every end of a run.")]

    @classmethod
    def of(cls, schedule: Schedule, in_words: str) -> ScheduleShown:
        """A schedule as it is sent; its input is passed on without being decoded."""
        options = schedule.options
        return cls(
            **{name: getattr(schedule, name) for name in OWN_FIELDS if name != "input"},
            **{name: getattr(options, name) for name in OPTION_FIELDS if name != "retry"},
            in_words=in_words,
            input=raw_object(options.input),
            retry=RetryShown.of(options.retry),
            retry_policy=None if options.retry is None else policy_of(options.retry),
            alert_url=shown_url(options.alert_url),
            ping_url=shown_url(options.ping_url),
        )

    def value(self) -> Schedule:
        """The schedule, with what a server shows of its URLs."""
        settings = {name: getattr(self, name) for name in (*OPTION_FIELDS, *URLS) if name != "retry"}
        # The API says which of the two statuses is newer, and not when the run ended.
        ran = self.last_run_status is not None and self.last_status == self.last_run_status
        return Schedule(
            **{name: getattr(self, name) for name in OWN_FIELDS if name in Schedule.__struct_fields__},
            options=ScheduleOptions(
                **settings, input=text_of(self.input), retry=None if self.retry is None else self.retry.value()
            ),
            unreadable=told(self.last_error) if self.broken else None,
            failed_runs=self.failure_count,
            last_run_ended_at=(self.last_fire_at or self.updated_at) if ran else None,
        )


_OPTIONS = frozenset(ScheduleOptions.__struct_fields__) - {"input"}
OWN_FIELDS = [
    name
    for name in ScheduleShown.__struct_fields__
    if name not in _OPTIONS and name not in ("in_words", "retry_policy")
]
"""Names of the fields and properties of a schedule that are shown."""
OPTION_FIELDS = [name for name in ScheduleShown.__struct_fields__ if name in _OPTIONS and name not in URLS]
"""Names of those of its options, but for the URLs, of which only a part is shown."""


class CronAsked(RequestBody, frozen=True, kw_only=True):
    """A timing to be tried out. One of `cron`, `every` and `at` says when, as in a schedule."""

    cron: Annotated[CronText | None, Meta(description="Five fields, or six with seconds first.")] = None
    every: Annotated[Seconds | None, Meta(description="An interval in seconds.")] = None
    anchor: Annotated[When | None, Meta(description="Where the interval is counted from; otherwise from now.")] = None
    at: Annotated[When | None, Meta(description="Once, at this time.")] = None
    timezone: Zone = "UTC"
    window: Annotated[tuple[Clock, Clock] | None, Meta(description="Between which runs may start.")] = None
    outside: Outside | None = None
    n: Annotated[int, Meta(ge=1, le=100)] = 5


class SchedulesQuery(Query, frozen=True, kw_only=True):
    after: Annotated[str, Meta(max_length=200)] = ""
    limit: Limit = 100


class PreviewQuery(Query, frozen=True, kw_only=True):
    n: Annotated[int, Meta(ge=1, le=1000)] = 5
    after: When | None = None


class TicksQuery(Query, frozen=True, kw_only=True):
    before: When | None = None
    limit: Limit = 100


operations = Operations("schedules")

list_ = operations.add(
    "list",
    "GET",
    "/schedules",
    Scope.READ,
    ListPage[ScheduleShown],
    "List the schedules by name; `after` is the cursor.",
    query=SchedulesQuery,
)
get = operations.add(
    "get",
    "GET",
    "/schedules/{name}",
    Scope.READ,
    ScheduleShown,
    "Show a schedule.",
    versioned=True,
)
put = operations.add(
    "put",
    "PUT",
    "/schedules/{name}",
    Scope.OPERATE,
    ScheduleShown,
    """Make or change a schedule: put again with the same settings, nothing changes.

With `If-Match` only if it is still as it was read; with `If-None-Match: *` only if there is none.""",
    body=ScheduleBody,
    shown=ScheduleShown,
    examples=[
        {
            "job": "send",
            "cron": "0 3 * * *",
            "timezone": "Europe/Paris",
            "input": {"to": "a@b.c"},
            "window": ["02:00", "06:00"],
        }
    ],
    versioned=True,
)
change = operations.add(
    "change",
    "PATCH",
    "/schedules/{name}",
    Scope.OPERATE,
    ScheduleShown,
    """Change what is named, and leave the rest; null takes a setting back to its default.

With `If-Match` only if it is still as it was read. One that code or a job file declares is changed there.""",
    body=ScheduleUpdateBody,
    shown=ScheduleShown,
    examples=[{"cron": "0 4 * * *"}, {"window": None, "priority": 5}],
    versioned=True,
    verb="schedules.update",
)
delete = operations.add(
    "delete",
    "DELETE",
    "/schedules/{name}",
    Scope.OPERATE,
    NoneType,
    "Remove a schedule; its runs stay.",
    status=204,
    versioned=True,
)
pause = operations.add(
    "pause",
    "POST",
    "/schedules/{name}/pause",
    Scope.OPERATE,
    ScheduleShown,
    "Pause a schedule: no tick makes a run until it is resumed.",
)
resume = operations.add(
    "resume",
    "POST",
    "/schedules/{name}/resume",
    Scope.OPERATE,
    ScheduleShown,
    "Go on from the next tick.",
)
run = operations.add(
    "run",
    "POST",
    "/schedules/{name}/run",
    Scope.OPERATE,
    RunShown,
    "Run its job now, with its input and settings; its ticks go on as before.",
    status=201,
    creates=True,
)
preview = operations.add(
    "preview",
    "GET",
    "/schedules/{name}/preview",
    Scope.READ,
    UpcomingTicks,
    "Say when the next runs will be due: `n` of them, or fewer where the search for rare ones takes long.",
    query=PreviewQuery,
    verb="schedules.preview_local",
)
ticks = operations.add(
    "ticks",
    "GET",
    "/schedules/{name}/ticks",
    Scope.READ,
    ListPage[Tick],
    "List the outcomes of a schedule's ticks, newest first; `before` is the cursor.",
    query=TicksQuery,
)
try_cron = operations.add(
    "try_cron",
    "POST",
    "/cron/preview",
    Scope.READ,
    TriedTiming,
    "Try a timing before it is saved: in words, and when its next runs would be due, without any jitter.",
    body=CronAsked,
    examples=[
        {"cron": "0 3 * * MON-FRI", "timezone": "Europe/Paris"},
        {"every": 900, "window": ["02:00", "06:00"], "outside": "skip"},
    ],
    verb="schedules.try_out",
)
