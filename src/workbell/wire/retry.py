"""Retry policies: of runs and jobs, of schedules, and as they are shown."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from workbell.model.retry import Retry, RetryChange, RetryWords, read_retry
from workbell.wire.fields import Name, Seconds, given
from workbell.wire.operation import RequestBody, Shown

Attempts = Annotated[int, Meta(ge=1, le=1_000_000, examples=[5])]
Delay = Annotated[Seconds, Meta(examples=[1])]
Factor = Annotated[float, Meta(ge=1, le=1000, examples=[2])]
Cap = Annotated[Seconds, Meta(examples=[60])]
Jitter = Annotated[float, Meta(ge=0, le=10, examples=[0.1])]
ErrorNames = Annotated[list[Name], Meta(max_length=100)]
GivingUp = Annotated[ErrorNames, Meta(description="Errors that end the run at once.")]
OnlyOn = Annotated[ErrorNames, Meta(description="If given, all other errors do.")]


class RetryBody(RequestBody, frozen=True, kw_only=True):
    """How often a run is tried, and how long is waited in between: delay × factor^(failures − 1), up to the cap."""

    attempts: Attempts = 3
    delay: Delay = 1.0
    factor: Factor = 2.0
    cap: Cap = 60.0
    jitter: Jitter = 0.1
    give_up_on: GivingUp = []
    only_on: OnlyOn = []

    def policy(self) -> Retry:
        return Retry(**msgspec.structs.asdict(self))

    @classmethod
    def of(cls, retry: Retry) -> RetryBody:
        return cls(**msgspec.structs.asdict(retry))


class RetryChangeBody(RequestBody, frozen=True, kw_only=True):
    """Changes of a retry policy. A field that you leave out stays as it is; without a policy, it has its default."""

    attempts: Attempts | UnsetType = UNSET
    delay: Delay | UnsetType = UNSET
    factor: Factor | UnsetType = UNSET
    cap: Cap | UnsetType = UNSET
    jitter: Jitter | UnsetType = UNSET
    give_up_on: GivingUp | UnsetType = UNSET
    only_on: OnlyOn | UnsetType = UNSET

    def policy(self) -> Retry:
        return Retry(**given(self))

    def change(self) -> RetryChange:
        return RetryChange(given(self), self.policy())


class ScheduleRetryBody(RetryChangeBody, frozen=True, kw_only=True):
    """Retry policy of a schedule: the fields of a retry policy, or those of scheduling services (`max_retries`,
    `backoff_ms`, `backoff_type`), but not some of both. `{}` is one of the latter, with all its defaults. In a change,
    a field that you leave out stays as it is.
    """

    max_retries: (
        Annotated[int, Meta(ge=0, le=1_000_000, description="Attempts after the first one; 2 if left out.")] | UnsetType
    ) = UNSET
    backoff_ms: (
        Annotated[float, Meta(ge=0, le=1e12, description="Milliseconds between attempts; 2,000 if left out.")]
        | UnsetType
    ) = UNSET
    backoff_type: (
        Annotated[str, Meta(pattern="^(fixed|exponential)$", description="`fixed` if left out.")] | UnsetType
    ) = UNSET

    def __post_init__(self) -> None:
        said = given(self).keys()
        theirs, ours = [word for word in _SERVICE_WORDS if word in said], said - set(_SERVICE_WORDS)
        if theirs and ours:
            raise ValueError(f"{theirs[0]} and {min(ours)} belong to two kinds of policies; leave one of them out")

    def policy(self) -> Retry:
        said = given(self)
        return read_retry(said) if said.keys() <= set(_SERVICE_WORDS) else Retry(**said)

    def change(self) -> RetryChange:
        said, alone = given(self), self.policy()
        if said.keys() == set(_SERVICE_WORDS):  # a whole policy, in their words
            return RetryChange(msgspec.structs.asdict(alone), alone)
        return RetryChange({_FIELDS.get(word, word): getattr(alone, _FIELDS.get(word, word)) for word in said}, alone)


_SERVICE_WORDS = RetryWords.__struct_fields__
_FIELDS = {"max_retries": "attempts", "backoff_ms": "delay", "backoff_type": "factor"}


class RetryShown(Shown, frozen=True, kw_only=True):
    """Retry policy: delay × factor^(failures − 1) is waited between attempts, up to the cap."""

    attempts: int
    delay: float
    factor: float
    cap: float
    jitter: float
    give_up_on: Annotated[tuple[str, ...], Meta(description="Errors that end the run at once.")]
    only_on: Annotated[tuple[str, ...], Meta(description="If given, all other errors do.")]

    @classmethod
    def of(cls, retry: Retry | None) -> RetryShown | None:
        return None if retry is None else cls(**msgspec.structs.asdict(retry))

    def value(self) -> Retry:
        return Retry(**msgspec.structs.asdict(self))
