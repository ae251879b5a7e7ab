"""Log line of a handler, stored with its run."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from workbell.model.clock import Instant


class LogLine(msgspec.Struct, frozen=True):
    """A log line; lines are numbered within an attempt, from 0."""

    run: str
    attempt: int
    line: Annotated[int, Meta(description="Its number within the attempt, from 0.")]
    at: Instant
    level: Annotated[str, Meta(description="`INFO`, `WARNING`, `ERROR`, as the logging system names them.")]
    message: Annotated[str, Meta(description="The message, with the traceback below it if there was one.")]
