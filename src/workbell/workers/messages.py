"""The messages between a supervisor and its children: frozen, typed, sent as JSON over a pipe."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from workbell.engine.finish import KeptOutcome
from workbell.model.job import TENANT
from workbell.notices.push_message import Broadcast, SendToUser

# From a child


class WorkerStarted(msgspec.Struct, frozen=True, tag="worker-started"):
    """The child has loaded the jobs, and its engine runs."""

    worker: str
    pid: int
    jobs: int
    poll: float  # seconds between polls of the store


class StoreNamed(msgspec.Struct, frozen=True, tag="store-named"):
    """Where the store is: only the code of the app may know. Never logged, as a URL can hold a password."""

    url: str
    lease: float
    keep_succeeded: float
    keep_other: float
    tenant: str = TENANT  # for which its jobs are stored
    file: str | None = None  # the path, if the store is a file
    queue_url: str = "store://"
    poll: float = 1.0


class WorkerShutdown(msgspec.Struct, frozen=True, tag="worker-shutdown"):
    """The child has ended as it was asked to."""

    worker: str
    handed_back: int
    holds_nothing: bool = True  # else the keeper gives back what the store still has as its


class WorkerError(msgspec.Struct, frozen=True, tag="worker-error"):
    """The child cannot go on."""

    error: str
    exit_code: int


class ExecutingRun(msgspec.Struct, frozen=True):
    run_id: str
    job: str
    seconds: float


class ChildHeartbeat(msgspec.Struct, frozen=True, tag="heartbeat"):
    """The child is alive: its executing runs, booked runs and memory."""

    worker: str
    executing: list[ExecutingRun]
    booked: int
    memory: int
    silent: float | None = None  # seconds for which a poll is overdue; none: no poll was answered yet
    drained: bool = False


class OutcomesKept(msgspec.Struct, frozen=True, tag="outcomes-kept"):
    """Outcomes that the child could not book before it must end. The supervisor passes them on to the keeper."""

    id: str
    worker: str
    outcomes: list[KeptOutcome]


# To a child


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Claim nothing more, let handlers end, hand the rest back; at once, if there is no time."""

    at_once: bool = False
    patience: float = 0.0  # seconds that the keeper may try on to book outcomes


# To the keeper


class LeasesKept(msgspec.Struct, frozen=True):
    worker: str
    pid: int


class KeepLeases(msgspec.Struct, frozen=True, tag="keep"):
    """Workers whose leases the keeper renews from now on."""

    children: list[LeasesKept]


class DeathVerdict(StrEnum):
    """What the death of a child means for the runs that it was executing."""

    BLAMED = "blamed"  # one of them may have killed it: they are executed alone from now on
    INNOCENT = "innocent"  # it died of something else
    HANDED_BACK = "handed-back"  # it was asked to stop, and did not in time


class Bury(msgspec.Struct, frozen=True, tag="bury"):
    """A child is dead: reclaim its runs. Lists are of run ids; runs in `returned` were begun, and are not booked."""

    worker: str
    how: str
    verdict: DeathVerdict
    executing: list[str]
    timed_out: list[str]
    returned: list[str] = []


# From the keeper


class OutcomesSettled(msgspec.Struct, frozen=True, tag="outcomes-settled"):
    """Outcomes of these messages are booked, superseded, or named in the log as dropped."""

    ids: list[str]


Message = (
    WorkerStarted
    | StoreNamed
    | WorkerShutdown
    | WorkerError
    | ChildHeartbeat
    | OutcomesKept
    | OutcomesSettled
    | Stop
    | KeepLeases
    | Bury
    | SendToUser
    | Broadcast
)

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Message).decode


def shown(message: Message) -> str:
    """A message for the log, without the store's URL, and without texts of users."""
    name = str(message.__struct_config__.tag)
    hidden = isinstance(message, StoreNamed | OutcomesKept | SendToUser | Broadcast)
    return name if hidden else f"{name} {encode(message).decode()}"
