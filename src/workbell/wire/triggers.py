"""Triggers, and the retry policies of event jobs. `If-Match` prevents lost updates."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from workbell.model.access import Scope
from workbell.model.event_subscribers import Matched
from workbell.model.retry import Retry
from workbell.model.run_defaults import RunDefaults
from workbell.model.schema_examples import RUN_ID
from workbell.model.trigger import OPTION_FIELDS, RetryConfig, Trigger, config_of, retry_from
from workbell.model.unreadable import UNREADABLE, sentence_of, told
from workbell.wire.fields import Cursor, Limit, Name, Time, given
from workbell.wire.operation import ListPage, Operations, Query, RequestBody, Shown
from workbell.wire.run_settings import RunSettingsBody, RunSettingsShown

LONGEST = 3_153_600_000_000  # milliseconds: a hundred years

Milliseconds = Annotated[float, Meta(ge=0, le=LONGEST)]
Pattern = Annotated[str, Meta(min_length=1, max_length=256)]
Description = Annotated[str, Meta(max_length=2000)]

_MODEL_WORDS = {"event_pattern": "pattern", "processor_name": "job"}  # names of the API, and of `Trigger`
_VERB_WORDS = {"event_pattern": "pattern", "processor_name": "processor"}  # and of the options of `bell.triggers`


class RetryConfigBody(RequestBody, frozen=True, kw_only=True):
    """How often something is tried, and how long is waited in between. Triggers have 3 attempts by default, after 1 s
    and 2 s, and webhook endpoints 10 over three and a half days. A field that you leave out has its default; in a
    change it stays as it is."""

    max_attempts: Annotated[int, Meta(ge=1, le=1_000_000)] | UnsetType = UNSET
    initial_delay_ms: Milliseconds | UnsetType = UNSET
    backoff_multiplier: Annotated[float, Meta(ge=1, le=1000)] | UnsetType = UNSET
    max_delay_ms: Milliseconds | UnsetType = UNSET

    def config(self) -> RetryConfig:
        found: RetryConfig = msgspec.to_builtins(self)
        return found


class NewTrigger(RunSettingsBody, frozen=True, kw_only=True):
    """A job to be started on every event that matches."""

    name: Name
    event_pattern: Annotated[Pattern, Meta(examples=["posts.*"])]
    processor_name: Annotated[
        Name, Meta(description="A job that takes an event, or `webhook-delivery`: to all endpoints.")
    ]
    description: Description = ""
    enabled: bool = True
    retry_config: RetryConfigBody | None = None

    def options(self) -> dict[str, Any]:
        """Options of `bell.triggers.add`; null counts as left out."""
        return {word: value for word, value in _options(self).items() if value is not None}


class TriggerChange(RunSettingsBody, frozen=True, kw_only=True):
    """Changes of a trigger. Null counts as left out, but removes an option of its runs."""

    name: Name | UnsetType | None = UNSET
    event_pattern: Pattern | UnsetType | None = UNSET
    processor_name: Name | UnsetType | None = UNSET
    description: Description | UnsetType | None = UNSET
    enabled: bool | UnsetType | None = UNSET
    retry_config: RetryConfigBody | UnsetType | None = UNSET

    def options(self) -> dict[str, Any]:
        """Options of `bell.triggers.update`."""
        removable = ("retry_config", *OPTION_FIELDS)
        return {word: value for word, value in _options(self).items() if value is not None or word in removable}


def _options(body: NewTrigger | TriggerChange) -> dict[str, Any]:
    found = {_VERB_WORDS.get(word, word): value for word, value in given(body).items()}
    if isinstance(body.retry_config, RetryConfigBody):
        found["retry_config"] = body.retry_config.config()
    return found


class RetryConfigShown(Shown, frozen=True, kw_only=True):
    """A retry policy in the words of event jobs."""

    max_attempts: int
    initial_delay_ms: float
    backoff_multiplier: float
    max_delay_ms: float

    @classmethod
    def of(cls, retry: Retry | None) -> RetryConfigShown | None:
        return None if retry is None else cls(**config_of(retry))

    def value(self) -> Retry | None:
        return retry_from(msgspec.to_builtins(self))


class TriggerShown(RunSettingsShown, frozen=True, kw_only=True):
    """Which events start which job."""

    id: Annotated[str, Meta(examples=[RUN_ID])]
    name: Annotated[str, Meta(examples=["mails"])]
    description: str
    event_pattern: Annotated[str, Meta(description="Which events.", examples=["posts.*"])]
    processor_name: Annotated[str, Meta(description="The job that they start.", examples=["mail"])]
    enabled: Annotated[bool, Meta(description="False: what it matches is noted, and starts nothing.")]
    retry_config: Annotated[
        RetryConfigShown | None, Meta(description="The retry policy of its runs; null: the job's own.")
    ]
    source: Annotated[str, Meta(description="Who declared it: `api`, `code:` or `file:` with the project's name.")]
    tenant: str
    created_at: Time
    updated_at: Time
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    @classmethod
    def of(cls, trigger: Trigger) -> TriggerShown:
        return cls(
            **{word: getattr(trigger, _MODEL_WORDS.get(word, word)) for word in _OWN},
            **{word: getattr(trigger.options, word) for word in OPTION_FIELDS},
            retry_config=RetryConfigShown.of(trigger.retry),
            unreadable=sentence_of(trigger),
        )

    def value(self) -> Trigger:
        return Trigger(
            **{_MODEL_WORDS.get(word, word): getattr(self, word) for word in _OWN},
            options=RunDefaults(**{word: getattr(self, word) for word in OPTION_FIELDS}),
            retry=None if self.retry_config is None else self.retry_config.value(),
            unreadable=told(self.unreadable),
        )


_OWN = [name for name in TriggerShown.__struct_fields__ if name not in ("retry_config", "unreadable", *OPTION_FIELDS)]


class TriggersQuery(Query, frozen=True, kw_only=True):
    after: Annotated[Name | None, Meta(description="The cursor: `next` of the page before.")] = None
    limit: Limit = 1000


class TriggerMatchesQuery(Query, frozen=True, kw_only=True):
    before: Cursor | None = None
    limit: Limit = 100


operations = Operations("triggers")

add = operations.add(
    "add",
    "POST",
    "/triggers",
    Scope.OPERATE,
    TriggerShown,
    "Start a job on every event that matches a pattern.",
    status=201,
    creates=True,
    body=NewTrigger,
    shown=TriggerShown,
    examples=[{"name": "mails", "event_pattern": "posts.*", "processor_name": "mail"}],
)
list_ = operations.add(
    "list",
    "GET",
    "/triggers",
    Scope.READ,
    ListPage[TriggerShown],
    "List all triggers by name, also those that code declares.",
    query=TriggersQuery,
)
get = operations.add(
    "get",
    "GET",
    "/triggers/{name_or_id}",
    Scope.READ,
    TriggerShown,
    "Show a trigger.",
    versioned=True,
)
matches = operations.add(
    "matches",
    "GET",
    "/triggers/{name_or_id}/matches",
    Scope.READ,
    ListPage[Matched],
    "List the events that matched a trigger with their outcomes, newest first.",
    query=TriggerMatchesQuery,
)
change = operations.add(
    "change",
    "PATCH",
    "/triggers/{name_or_id}",
    Scope.OPERATE,
    TriggerShown,
    "Change what is named, and leave the rest. One that code declares can only be switched.",
    body=TriggerChange,
    shown=TriggerShown,
    examples=[{"event_pattern": "posts.**"}],
    versioned=True,
)
enable = operations.add(
    "enable",
    "POST",
    "/triggers/{name_or_id}/enable",
    Scope.OPERATE,
    TriggerShown,
    "Let a trigger start runs again, from now on.",
    versioned=True,
)
disable = operations.add(
    "disable",
    "POST",
    "/triggers/{name_or_id}/disable",
    Scope.OPERATE,
    TriggerShown,
    "Start no more runs; what matches meanwhile is recorded as matched while disabled.",
    versioned=True,
)
delete = operations.add(
    "delete",
    "DELETE",
    "/triggers/{name_or_id}",
    Scope.OPERATE,
    NoneType,
    "Remove a trigger; its runs stay. One that code declares comes back while that code runs.",
    status=204,
    versioned=True,
)
