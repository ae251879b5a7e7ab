"""Default options of runs, set on a schedule, a trigger or a job; and which of several levels counts."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from workbell.model.retry import Retry

RESCHEDULES = 10  # new runs that `auto_reschedule` makes, one after another, before a chain ends


class RunDefaults(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Defaults of the runs that a job, schedule or trigger makes. None: not set, and the next level counts."""

    queue: str | None = None
    priority: int | None = None
    retry: Retry | None = None
    timeout: float | None = None
    target: str | None = None
    tag: str | None = None
    replace_tag: bool | None = None
    user_id: int | str | None = None
    persistent: bool | None = None
    auto_reschedule: float | None = None
    remove_delay: float | None = None
    expires: float | None = None  # seconds from when the run is due


NO_DEFAULTS = RunDefaults()
RUN_WORDS = RunDefaults.__struct_fields__
_decoder = msgspec.json.Decoder(RunDefaults)


def to_text(options: RunDefaults) -> str | None:
    """The stored form beside a job or a trigger: NULL, if nothing is set."""
    return None if options == NO_DEFAULTS else msgspec.json.encode(options).decode()


def from_text(text: str | None) -> RunDefaults:
    return NO_DEFAULTS if text is None else _decoder.decode(text)


def layered(first: RunDefaults, then: RunDefaults) -> RunDefaults:
    """Merged defaults of two levels: for each option, the first level that sets it."""
    if then == NO_DEFAULTS and type(first) is RunDefaults:
        return first
    return RunDefaults(
        **{word: getattr(then, word) if (value := getattr(first, word)) is None else value for word in RUN_WORDS}
    )


class Maker(NamedTuple):
    """The process that makes runs: whom one that is not persistent belongs to, and how long its chains get."""

    process: str
    reschedules: int = RESCHEDULES
