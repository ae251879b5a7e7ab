"""A run that an agent holds: requests to stop it, and its unsent progress and log lines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from workbell.engine.work import Work
from workbell.model.log_line import LogLine
from workbell.model.request import encoded
from workbell.model.run import Lane, Options, Run, Status
from workbell.model.users import UserId, user_number, user_text
from workbell.stores.port import Held

LINES = 200  # log lines in one request


class Handed(msgspec.Struct, frozen=True):
    """A run as the server hands it out."""

    id: str
    token: int
    job: str
    attempt: int
    tenant: str
    scheduled_for: datetime
    created_at: datetime
    input: dict[str, Any] = {}
    timeout: float | None = None
    cancel: str | None = None
    queue: str = "default"
    target: str | None = None
    priority: int = 0
    tag: str | None = None
    user_id: UserId = 0
    schedule: str | None = None
    event: str | None = None
    handler: str | None = None  # the job whose code or command it is; none: `job`, by an older server


def run_of(handed: Handed, worker: str, now: datetime) -> Run:
    """The run as handlers get it."""
    options = Options(timeout=handed.timeout, user=user_text(handed.user_id))
    return Run(
        handed.id,
        Lane(handed.tenant, handed.queue, handed.job, handed.target),
        Status.RUNNING,
        -handed.priority,
        handed.scheduled_for,
        handed.created_at,
        now,
        attempt=handed.attempt,
        token=handed.token,
        worker=worker,
        started_at=now,
        input_text=msgspec.json.encode(handed.input).decode(),
        options_text=encoded(options),
        tag=handed.tag,
        user_number=user_number(handed.user_id),
        schedule=handed.schedule,
        event=handed.event,
    )


class HeldRun:
    """State of a held run. The program requests its stop, the handler reports; from any thread."""

    def __init__(self, run: Run, renewed_at: float, handler: str | None = None) -> None:
        self.run = run
        self._handler = handler
        self.work: Work | None = None  # for a handler
        self.stop = asyncio.Event()  # for a command
        self.renewed_at = renewed_at  # by the monotonic clock, from before the server was asked
        self.cancel_reason: str | None = None
        self.lost = False
        self.release = False
        self.finished = False  # its outcome is known here, and is sent until the server answers
        self.settled = False
        self.on_report: Callable[[], None] = lambda: None
        self.sending = asyncio.Lock()  # held while reports are being sent: the result must not overtake them
        self._lock = threading.Lock()
        self._progress: dict[str, Any] | None = None
        self._lines: list[dict[str, Any]] = []

    @property
    def handler(self) -> str:
        """The job whose code or command it is."""
        return self._handler or self.run.job

    @property
    def key(self) -> tuple[str, int]:
        return self.run.id, self.run.token

    @property
    def stopping(self) -> bool:
        return self.lost or self.release or self.cancel_reason is not None

    def mark(self, *, cancel: str | None = None, lost: bool = False, release: bool = False) -> None:
        """Note a cancel, a lost lease or a release, also for the handler. The event loop's thread then stops it."""
        self.cancel_reason = self.cancel_reason or cancel
        self.lost, self.release = self.lost or lost, self.release or release
        if self.work is not None:
            self.work.cancel_reason, self.work.lost, self.work.release = self.cancel_reason, self.lost, self.release

    # Reports

    def progress(self, _held: Held, text: str) -> bool:
        with self._lock:
            self._progress = msgspec.json.decode(text)
        self.on_report()
        return not self.lost

    def add_log_line(self, _token: int, line: LogLine) -> None:
        entry = {"message": line.message, "level": line.level, "line": line.line, "at": line.at.isoformat()}
        with self._lock:
            self._lines.append(entry)
        self.on_report()

    def unsent(self) -> dict[str, Any] | None:
        """Take the unsent reports; `put_back` returns those that could not be sent."""
        with self._lock:
            progress, self._progress = self._progress, None
            lines, self._lines = self._lines[:LINES], self._lines[LINES:]
        return {**(progress or {}), "logs": lines} if progress or lines else None

    def put_back(self, unsent: dict[str, Any]) -> None:
        with self._lock:
            self._lines = [*unsent["logs"], *self._lines]
            if self._progress is None and "done" in unsent:
                self._progress = {name: unsent[name] for name in ("done", "total", "message")}
