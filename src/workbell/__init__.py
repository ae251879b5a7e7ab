"""Background jobs and schedules for Python that need nothing but a file.

from workbell import Workbell

bell = Workbell("sqlite:///workbell.db")

@bell.job
def greet(name: str) -> str:
    return f"Hello {name}"

greet.enqueue(name="Ada")
bell.run()
"""

from workbell.app import Workbell
from workbell.client import Request
from workbell.errors import (
    DuplicateRun,
    InvalidOption,
    InvalidPayload,
    InvalidUrl,
    JobsError,
    LeaseLost,
    RunNotFinished,
    RunNotFound,
    ScheduleNotFound,
    SchemaMismatch,
    SettingsError,
    StoreError,
    StoreUnavailable,
    UnknownJob,
    WaitTimeout,
    WorkbellError,
    WrongConnection,
)
from workbell.handlers.context import Context
from workbell.handlers.signals import Cancel, Snooze
from workbell.model.pause import Pause
from workbell.model.retry import Retry
from workbell.model.run import Attempt, Run, Status
from workbell.model.schedule import Schedule, Tick
from workbell.timing import Cron
from workbell.version import __version__

__all__ = [
    "Attempt",
    "Cancel",
    "Context",
    "Cron",
    "DuplicateRun",
    "InvalidOption",
    "InvalidPayload",
    "InvalidUrl",
    "JobsError",
    "LeaseLost",
    "Pause",
    "Request",
    "Retry",
    "Run",
    "RunNotFinished",
    "RunNotFound",
    "Schedule",
    "ScheduleNotFound",
    "SchemaMismatch",
    "SettingsError",
    "Snooze",
    "Status",
    "StoreError",
    "StoreUnavailable",
    "Tick",
    "UnknownJob",
    "WaitTimeout",
    "Workbell",
    "WorkbellError",
    "WrongConnection",
    "__version__",
]
