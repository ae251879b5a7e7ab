"""A run in the agent's hands: what was asked of it meanwhile, and what it has to tell."""

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

LINES = 200  # of a log in one post


class Handed(msgspec.Struct, frozen=True):
    """What the server hands out."""

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


def run_of(handed: Handed, worker: str, now: datetime) -> Run:
    """The run as handlers know it."""
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


class Hand:
    """Mutable: asked by the program, told by the handler, from any thread."""

    def __init__(self, run: Run, renewed_at: float) -> None:
        self.run = run
        self.work: Work | None = None  # for a handler
        self.stop = asyncio.Event()  # for a command
        self.renewed_at = renewed_at  # by the monotonic clock, from before the server was asked
        self.cancel_reason: str | None = None
        self.lost = False
        self.release = False
        self.finished = False  # what came of it is known here, and is told until the server says what becomes of it
        self.settled = False
        self.told: Callable[[], None] = lambda: None
        self.sending = asyncio.Lock()  # held while news are on their way: the result must not overtake them
        self._lock = threading.Lock()
        self._progress: dict[str, Any] | None = None
        self._lines: list[dict[str, Any]] = []

    @property
    def key(self) -> tuple[str, int]:
        return self.run.id, self.run.token

    @property
    def stopping(self) -> bool:
        return self.lost or self.release or self.cancel_reason is not None

    def mark(self, *, cancel: str | None = None, lost: bool = False, release: bool = False) -> None:
        """Note what is asked of it, also for the handler. On the event loop's own thread it is then made to stop."""
        self.cancel_reason = self.cancel_reason or cancel
        self.lost, self.release = self.lost or lost, self.release or release
        if self.work is not None:
            self.work.cancel_reason, self.work.lost, self.work.release = self.cancel_reason, self.lost, self.release

    # What it tells

    def progress(self, _held: Held, text: str) -> bool:
        with self._lock:
            self._progress = msgspec.json.decode(text)
        self.told()
        return not self.lost

    def keep(self, _token: int, line: LogLine) -> None:
        told = {"message": line.message, "level": line.level, "line": line.line, "at": line.at.isoformat()}
        with self._lock:
            self._lines.append(told)
        self.told()

    def news(self) -> dict[str, Any] | None:
        """What has not been sent yet; what could not be sent is put back with `put_back`."""
        with self._lock:
            progress, self._progress = self._progress, None
            lines, self._lines = self._lines[:LINES], self._lines[LINES:]
        return {**(progress or {}), "logs": lines} if progress or lines else None

    def put_back(self, news: dict[str, Any]) -> None:
        with self._lock:
            self._lines = [*news["logs"], *self._lines]
            if self._progress is None and "done" in news:
                self._progress = {name: news[name] for name in ("done", "total", "message")}
