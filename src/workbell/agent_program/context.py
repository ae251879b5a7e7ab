"""The context of a handler on an agent: its run, progress, a logger, files and a database of this machine.

There is no store here: what would need one says so.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NoReturn

from workbell.agent_program.held_run import Hand
from workbell.errors import WorkbellError
from workbell.handlers.app_database import AppDatabase, DatabaseUse
from workbell.handlers.context import Context
from workbell.handlers.files import Storage
from workbell.handlers.resources import Resources
from workbell.handlers.run_logger import RunLogger
from workbell.model.clock import SystemClock


class NotOnAnAgent(WorkbellError):
    """What was asked for needs the store, and an agent has none."""


class AgentContext(Context):
    """What works without a store works as on a worker."""

    __slots__ = ("_resources",)

    def __init__(self, hand: Hand, resources: Resources) -> None:
        self.run = hand.run
        self._report = hand.progress
        self._keep = hand.keep
        self._is_canceled = lambda: hand.stopping
        self._resources = resources
        self._logger = RunLogger(hand.run, hand.keep, lambda: datetime.now(UTC))
        self._use = None
        self._event = None

    @property
    def db(self) -> Any:
        if self._use is None:
            self._use = DatabaseUse(AppDatabase(self._resources.database, None).open)
        return self._use.connection()

    @property
    def storage(self) -> Storage:
        return Storage(self._resources.storage, tenant=self.run.tenant, clock=SystemClock())

    @property
    def event(self) -> NoReturn:
        raise _missing("ctx.event")

    def enqueue(self, *_args: Any, **_options: Any) -> NoReturn:
        raise _missing("ctx.enqueue")

    def emit(self, *_args: Any, **_options: Any) -> NoReturn:
        raise _missing("ctx.emit")

    async def aemit(self, *_args: Any, **_options: Any) -> NoReturn:
        raise _missing("ctx.aemit")

    def notify(self, *_args: Any, **_options: Any) -> NoReturn:
        raise _missing("ctx.notify")

    async def anotify(self, *_args: Any, **_options: Any) -> NoReturn:
        raise _missing("ctx.anotify")

    def broadcast(self, *_args: Any, **_options: Any) -> NoReturn:
        raise _missing("ctx.broadcast")

    async def abroadcast(self, *_args: Any, **_options: Any) -> NoReturn:
        raise _missing("ctx.abroadcast")


def _missing(what: str) -> NotOnAnAgent:
    return NotOnAnAgent(
        f"{what}: an agent has no store; use workbell.Client(url, token) with a token of your own, or return what a "
        "worker is to go on with."
    )
