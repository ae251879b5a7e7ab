"""A run that an agent holds: requests to stop it, and its unsent progress and log lines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from workbell.engine.work import Work
from workbell.model.log_line import LogLine
from workbell.model.run import Run
from workbell.process.platform import boot_clock
from workbell.stores.port import Held
from workbell.wire.agents import AgentLogLine, HeldLease, ProgressBody

LINES = 200  # log lines in one request
lease_time = boot_clock()  # leases run on while the machine is suspended


class HeldRun:
    """State of a held run. The program requests its stop, the handler reports; from any thread."""

    def __init__(self, run: Run, handler: str, renewed_at: float) -> None:
        self.run = run
        self.handler = handler  # the job whose code or command it is
        self.work: Work | None = None  # for a handler
        self.stop = asyncio.Event()  # for a command
        self.renewed_at = renewed_at  # of `lease_time`, from before the server was asked
        self.cancel_reason: str | None = None
        self.lost = False
        self.release = False
        self.finished = False  # its outcome is known here, and is sent until the server answers
        self.settled = False
        self.on_report: Callable[[], None] = lambda: None
        self.sending = asyncio.Lock()  # held while reports are being sent: the result must not overtake them
        self._lock = threading.Lock()
        self._progress: dict[str, Any] | None = None
        self._lines: list[AgentLogLine] = []

    @property
    def key(self) -> tuple[str, int]:
        return self.run.id, self.run.token

    @property
    def lease(self) -> HeldLease:
        return HeldLease(id=self.run.id, token=self.run.token)

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
        entry = AgentLogLine(message=line.message, level=line.level, line=line.line, at=line.at)
        with self._lock:
            self._lines.append(entry)
        self.on_report()

    def unsent(self, session: str) -> ProgressBody | None:
        """Take the unsent reports; `put_back` returns those that could not be sent."""
        with self._lock:
            progress, self._progress = self._progress, None
            lines, self._lines = self._lines[:LINES], self._lines[LINES:]
        if not progress and not lines:
            return None
        return ProgressBody(token=self.run.token, session=session, logs=lines, **(progress or {}))

    def put_back(self, unsent: ProgressBody) -> None:
        with self._lock:
            self._lines = [*unsent.logs, *self._lines]
            if self._progress is None and unsent.done is not None:
                self._progress = {name: getattr(unsent, name) for name in ("done", "total", "message")}
