"""The context of a handler on an agent: its run, progress, a logger, files and a database of this machine.

An agent has no store: methods that need one raise NotOnAnAgent.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NoReturn

from workbell.agent_program.held_run import HeldRun
from workbell.errors import WorkbellError
from workbell.handlers.app_database import AppDatabase, DatabaseUse
from workbell.handlers.context import Context
from workbell.handlers.files import Storage
from workbell.handlers.resources import Resources
from workbell.handlers.run_logger import RunLogger
from workbell.model.clock import SystemClock


class NotOnAnAgent(WorkbellError):
    """The method needs the store, and an agent has none."""


class AgentContext(Context):
    """Context without a store; the rest works as on a worker."""

    __slots__ = ("_resources",)

    def __init__(self, held: HeldRun, resources: Resources) -> None:
        self.run = held.run
        self._report = held.progress
        self._save_line = held.add_log_line
        self._is_canceled = lambda: held.stopping
        self._resources = resources
        self._logger = RunLogger(held.run, held.add_log_line, lambda: datetime.now(UTC))
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
