"""Background jobs and schedules for Python that need nothing but a file.

from workbell import Workbell

bell = Workbell("sqlite:///workbell.db")

@bell.job
def greet(name: str) -> str:
    return f"Hello {name}"

greet.enqueue(name="Ada")
bell.run()
"""

from typing import TYPE_CHECKING, Any

from workbell.app import Workbell
from workbell.errors import (
    AgentExists,
    AgentNotFound,
    ClockSkew,
    DatabaseUnavailable,
    DuplicateRun,
    EndpointNotFound,
    EndpointRefused,
    EventNotFound,
    Forbidden,
    InvalidEvent,
    InvalidOption,
    InvalidPayload,
    InvalidSignature,
    InvalidUrl,
    JobDisabled,
    JobExists,
    JobInUse,
    JobsError,
    KeyReused,
    LeaseLost,
    MissingPackage,
    NotFound,
    PreconditionFailed,
    QueueUnavailable,
    RunNotFinished,
    RunNotFound,
    ScheduleNotFound,
    SchemaMismatch,
    SecretSealed,
    SendFailed,
    ServiceUnavailable,
    SettingsError,
    StoredFileNotFound,
    StoreError,
    StoreUnavailable,
    TenantNotFound,
    TokenNotFound,
    TooLarge,
    TooMany,
    TriggerExists,
    TriggerNotFound,
    Unauthorized,
    UnknownJob,
    UnknownMessage,
    UnknownProcessor,
    UnreadableRow,
    Untrusted,
    WaitTimeout,
    WorkbellError,
    WorkerNotFound,
    WrongConnection,
)
from workbell.handlers.context import Context
from workbell.model.access import Access, Scope
from workbell.model.cancel_snooze import Cancel, Snooze, TryAgain
from workbell.model.endpoint import Endpoint
from workbell.model.event import Event
from workbell.model.execution import Execution, Invocation
from workbell.model.job import Job
from workbell.model.one_shot import Answer, Consumed, ConsumedRun, Dispatched
from workbell.model.pause import Pause
from workbell.model.request import Request
from workbell.model.retry import Retry
from workbell.model.run import Attempt, Run, Status
from workbell.model.schedule import Schedule, Tick
from workbell.model.trigger import Trigger
from workbell.stores.callers import prepare_sqlite
from workbell.timing import Cron
from workbell.version import __version__

if TYPE_CHECKING:
    from workbell.remote.client import Client

__all__ = [
    "Access",
    "AgentExists",
    "AgentNotFound",
    "Answer",
    "Attempt",
    "Cancel",
    "Client",
    "ClockSkew",
    "Consumed",
    "ConsumedRun",
    "Context",
    "Cron",
    "DatabaseUnavailable",
    "Dispatched",
    "DuplicateRun",
    "Endpoint",
    "EndpointNotFound",
    "EndpointRefused",
    "Event",
    "EventNotFound",
    "Execution",
    "Forbidden",
    "InvalidEvent",
    "InvalidOption",
    "InvalidPayload",
    "InvalidSignature",
    "InvalidUrl",
    "Invocation",
    "Job",
    "JobDisabled",
    "JobExists",
    "JobInUse",
    "JobsError",
    "KeyReused",
    "LeaseLost",
    "MissingPackage",
    "NotFound",
    "Pause",
    "PreconditionFailed",
    "QueueUnavailable",
    "Request",
    "Retry",
    "Run",
    "RunNotFinished",
    "RunNotFound",
    "Schedule",
    "ScheduleNotFound",
    "SchemaMismatch",
    "Scope",
    "SecretSealed",
    "SendFailed",
    "ServiceUnavailable",
    "SettingsError",
    "Snooze",
    "Status",
    "StoreError",
    "StoreUnavailable",
    "StoredFileNotFound",
    "TenantNotFound",
    "Tick",
    "TokenNotFound",
    "TooLarge",
    "TooMany",
    "Trigger",
    "TriggerExists",
    "TriggerNotFound",
    "TryAgain",
    "Unauthorized",
    "UnknownJob",
    "UnknownMessage",
    "UnknownProcessor",
    "UnreadableRow",
    "Untrusted",
    "WaitTimeout",
    "Workbell",
    "WorkbellError",
    "WorkerNotFound",
    "WrongConnection",
    "__version__",
    "prepare_sqlite",
]


def __getattr__(name: str) -> Any:
    """`Client` is loaded when it is first asked for: most programs that use Workbell need no HTTP."""
    if name == "Client":
        from workbell.remote.client import Client

        return Client
    raise AttributeError(f"module 'workbell' has no attribute {name!r}")
