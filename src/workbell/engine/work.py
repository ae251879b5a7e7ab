"""Work: a run that this worker holds, with its lease as last known, and requests to stop it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from workbell.handlers.job_function import JobFunction
from workbell.model.clock import Clock
from workbell.model.run import Run
from workbell.stores.port import Held


class Work:
    """Mutable, and owned by the worker process; everything durable about it is in the store."""

    __slots__ = (
        "begun",
        "cancel_reason",
        "claimed",
        "isolated",
        "job",
        "journal_offset",
        "lost",
        "on_loop",
        "overdue",
        "release",
        "returned",
        "run",
        "settled",
        "started_at",
        "task",
        "timed_out",
        "timeout",
        "valid_until",
    )

    def __init__(
        self,
        run: Run,
        job: JobFunction[Any, Any],
        *,
        apart: bool = False,
        claimed: float = 0.0,
        valid_until: float | None = 0.0,
    ) -> None:
        self.run = run
        self.job = job
        self.isolated = apart or job.isolation is not None  # executed in a process of its own
        self.on_loop = job.is_async and not self.isolated
        own = None if run.options_text is None else run.options.timeout
        self.timeout = job.timeout if own is None else own
        self.claimed = claimed  # the moment of its claim, of monotonic time
        self.started_at: datetime | None = None  # when the handler was really called
        self.begun: float | None = None  # the same as a moment of monotonic time: by which its timeout goes
        self.task: asyncio.Task[None] | None = None  # the slot that executes it, if its handler is async
        self.valid_until = valid_until  # the end of its lease as last renewed, of boot time; none: not ours to ask
        self.journal_offset: int | None = None  # of its entry in the journal
        self.returned = False  # the handler's thread is done with it
        self.settled = False  # an outcome was taken; whatever comes later is too late
        self.cancel_reason: str | None = None
        self.timed_out = False
        self.lost = False  # the store, or a later lease of ours, says so
        self.overdue = False  # its lease is over by our own clock, and the store did not answer: it may still be ours
        self.release = False

    def begin(self, clock: Clock) -> None:
        """Its handler is called now."""
        self.started_at = clock.now()
        self.begun = clock.monotonic()

    @property
    def held(self) -> Held:
        return Held(self.run.id, self.run.token)

    @property
    def stopping(self) -> bool:
        """Value of `ctx.canceled`."""
        return self.lost or self.overdue or self.timed_out or self.release or self.cancel_reason is not None
