"""Background jobs and schedules for Python that need nothing but a file.

from workbell import Workbell

bell = Workbell("sqlite:///workbell.db")

@bell.job
def greet(name: str) -> str:
    return f"Hello {name}"

greet.enqueue(name="Ada")
bell.run()
"""

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
    InvalidInput,
    InvalidOption,
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
from workbell.version import __version__

TYPE_CHECKING = False  # as in `typing`, which is not loaded for that alone
if TYPE_CHECKING:
    from workbell.app import Workbell
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
    from workbell.remote.client import Client
    from workbell.stores.callers import prepare_sqlite
    from workbell.timing.cron import Cron

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
    "InvalidInput",
    "InvalidOption",
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

# A program pays for the names that it uses: each is loaded when it is first asked for. Errors are one small module.
_MODULES = {
    "Access": "workbell.model.access",
    "Answer": "workbell.model.one_shot",
    "Attempt": "workbell.model.run",
    "Cancel": "workbell.model.cancel_snooze",
    "Client": "workbell.remote.client",
    "Consumed": "workbell.model.one_shot",
    "ConsumedRun": "workbell.model.one_shot",
    "Context": "workbell.handlers.context",
    "Cron": "workbell.timing.cron",
    "Dispatched": "workbell.model.one_shot",
    "Endpoint": "workbell.model.endpoint",
    "Event": "workbell.model.event",
    "Execution": "workbell.model.execution",
    "Invocation": "workbell.model.execution",
    "Job": "workbell.model.job",
    "Pause": "workbell.model.pause",
    "Request": "workbell.model.request",
    "Retry": "workbell.model.retry",
    "Run": "workbell.model.run",
    "Schedule": "workbell.model.schedule",
    "Scope": "workbell.model.access",
    "Snooze": "workbell.model.cancel_snooze",
    "Status": "workbell.model.run",
    "Tick": "workbell.model.schedule",
    "Trigger": "workbell.model.trigger",
    "TryAgain": "workbell.model.cancel_snooze",
    "Workbell": "workbell.app",
    "prepare_sqlite": "workbell.stores.callers",
}


if not TYPE_CHECKING:  # a type checker has the imports above, and finds a name that is misspelt

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module 'workbell' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(_MODULES[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
