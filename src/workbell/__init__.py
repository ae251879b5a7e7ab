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
from workbell.errors import (
    DuplicateRun,
    EndpointNotFound,
    EndpointRefused,
    EventNotFound,
    InvalidEvent,
    InvalidOption,
    InvalidPayload,
    InvalidSignature,
    InvalidUrl,
    JobsError,
    LeaseLost,
    MissingPackage,
    RunNotFinished,
    RunNotFound,
    ScheduleNotFound,
    SchemaMismatch,
    SecretSealed,
    SettingsError,
    StoreError,
    StoreUnavailable,
    TriggerExists,
    TriggerNotFound,
    UnknownJob,
    UnknownProcessor,
    WaitTimeout,
    WorkbellError,
    WrongConnection,
)
from workbell.handlers.context import Context
from workbell.handlers.signals import Cancel, Snooze, TryAgain
from workbell.model.endpoint import Endpoint
from workbell.model.event import Event
from workbell.model.execution import Execution, Invocation
from workbell.model.pause import Pause
from workbell.model.request import Request
from workbell.model.retry import Retry
from workbell.model.run import Attempt, Run, Status
from workbell.model.schedule import Schedule, Tick
from workbell.model.trigger import Trigger
from workbell.timing import Cron
from workbell.version import __version__

__all__ = [
    "Attempt",
    "Cancel",
    "Context",
    "Cron",
    "DuplicateRun",
    "Endpoint",
    "EndpointNotFound",
    "EndpointRefused",
    "Event",
    "EventNotFound",
    "Execution",
    "InvalidEvent",
    "InvalidOption",
    "InvalidPayload",
    "InvalidSignature",
    "InvalidUrl",
    "Invocation",
    "JobsError",
    "LeaseLost",
    "MissingPackage",
    "Pause",
    "Request",
    "Retry",
    "Run",
    "RunNotFinished",
    "RunNotFound",
    "Schedule",
    "ScheduleNotFound",
    "SchemaMismatch",
    "SecretSealed",
    "SettingsError",
    "Snooze",
    "Status",
    "StoreError",
    "StoreUnavailable",
    "Tick",
    "Trigger",
    "TriggerExists",
    "TriggerNotFound",
    "TryAgain",
    "UnknownJob",
    "UnknownProcessor",
    "WaitTimeout",
    "Workbell",
    "WorkbellError",
    "WrongConnection",
    "__version__",
]
