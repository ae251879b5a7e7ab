"""The recorder: what processes saw, one JSON line for each event, kept also when the process is killed.

A line is a single `write` to a file opened for appending: lines of many processes do not mix, and what was written
before a SIGKILL is there. A SIGKILL may cut a write off at the border of a page; then the next line follows the torn
one without a break. Events: `acknowledged` (an enqueue returned), `started` (a handler was called), `moved` (a worker
was told that its write about a run was accepted).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbell.model.run import Run
from workbell.notices.bus import Notice

Event = dict[str, Any]


class Recorder:
    """Appends events to a file, from any number of threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def note(self, kind: str, **facts: Any) -> None:
        event = {"kind": kind, "pid": os.getpid(), "at": time.time(), "monotonic": time.monotonic(), **facts}
        os.write(self._descriptor, json.dumps(event).encode() + b"\n")

    def acknowledged(self, runs: Sequence[Run], tenant: str = "default") -> None:
        """Called after the enqueue has returned, never before."""
        self.note("acknowledged", runs=[run.id for run in runs], tenant=tenant)

    def started(self, run: Run, tenant: str | None = None) -> dict[str, int]:
        """Called first thing in a handler; its answer is what the handler is to return."""
        self.note("started", run=run.id, token=run.token, attempt=run.attempt, tenant=tenant or run.tenant)
        return {"token": run.token, "attempt": run.attempt}

    def moved(self, notices: Sequence[Notice]) -> None:
        """A listener for `bell.host.bus`."""
        for notice in notices:
            run = notice.run
            self.note("moved", move=notice.move.value, run=run.id, token=run.token, status=run.status.value)

    def close(self) -> None:
        os.close(self._descriptor)


def read(path: Path) -> list[Event]:
    """Every event so far."""
    return read_from(path, 0)[0]


def read_from(path: Path, place: int) -> tuple[list[Event], int]:
    """The events beyond a place in the file, and the place behind them; a line still being written is left out."""
    with path.open("rb") as file:
        file.seek(place)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    return [event_of(line) for line in whole.splitlines()], place + len(whole)


def event_of(line: bytes) -> Event:
    """The event of a line, or of what follows a torn one."""
    event: Event = json.loads(line[line.rindex(b'{"kind": ') :])
    return event
