"""Schemas of agents, pairing, handed-out runs and reports."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from workbell.agents.naming import MOST_LABELS, SESSION_LIMIT
from workbell.agents.reports import Ending
from workbell.agents.working import CAPACITY, MOST_HELD, MOST_JOBS
from workbell.http.schemas.base import AT, RUN_ID, AgentBody, Json, Name, RequestBody, Seconds, Shown, When
from workbell.model.run import Status

Session = Annotated[str, Field(min_length=1, max_length=SESSION_LIMIT, pattern=r"^[A-Za-z0-9._:-]+$")]
Lease = Annotated[float, Field(ge=5, le=3600)]
Labels = Annotated[list[Name], Field(max_length=MOST_LABELS)]
Token = Annotated[int, Field(ge=0, lt=2**31)]

SESSION = "Drawn anew at each start of the agent: of two with one identity, each has its own runs."


class AgentShown(Shown):
    """A program on another machine that works for runs aimed at it, or at one of its labels."""

    id: str = Field(examples=[RUN_ID])
    name: str = Field(examples=["web-1"])
    tenant: str
    labels: list[str] = Field(examples=[["gpu"]])
    jobs: list[str] | None = Field(description="What it said it can run; null: anything, or it has not polled yet.")
    version: str
    host: str
    metrics: dict[str, Any] | None = Field(description="What it reported with its last heartbeat.")
    enabled: bool
    alive: bool
    seen_at: datetime | None = Field(examples=[AT])
    created_at: datetime


class NewPairing(RequestBody):
    """A pairing to be allowed."""

    name: Name | None = Field(None, description="The agent's name; it cannot choose another. One that exists moves.")
    labels: Labels = Field(default_factory=list, description="Its labels; if there are any, it cannot choose others.")
    expires: Seconds = Field(900.0, ge=60, le=7 * 86400)


class PairingShown(Shown):
    """A token for `POST /agents/pair`, good for once; its text is not shown again."""

    id: str
    token: str
    expires_at: datetime


class PairBody(AgentBody):
    """A pairing token, and who comes with it."""

    token: str = Field(min_length=1, max_length=200)
    name: Name | None = None
    labels: Labels | None = None
    host: str = Field("", max_length=200)
    version: str = Field("", max_length=100)


class PairedShown(Shown):
    """The agent, and the token that it works with from now on; it is not shown again."""

    agent: AgentShown
    token: str


class AgentChange(RequestBody):
    """Changes of an agent; fields that are left out stay."""

    labels: Labels | None = None
    enabled: bool | None = None


class HeldRun(AgentBody):
    """A run that the agent has, with the token it got with it."""

    id: str = Field(max_length=100, examples=[RUN_ID])
    token: Token


class PollBody(AgentBody):
    """Capacity of an agent, and the runs that it holds."""

    wait: float = Field(0, ge=0, le=60, description="Seconds to wait for a run, if there is none.")
    jobs: list[Name] | None = Field(None, max_length=MOST_JOBS, description="Jobs that it can run; null: any.")
    capacity: int = Field(1, ge=0, le=CAPACITY, description="How many runs it can take now.")
    session: Session | None = Field(None, description=SESSION)
    holding: list[HeldRun] = Field(
        default_factory=list,
        max_length=MOST_HELD,
        description="What it has already: other runs of its session are handed out again, their answer was lost.",
    )
    lease: Lease | None = Field(None, description="Seconds within which it will send a heartbeat.")


class HandedRun(Shown):
    """A run to be worked on. Every post about it carries its token."""

    id: str = Field(examples=[RUN_ID])
    token: int
    job: str = Field(examples=["backup"])
    handler: str = Field(
        description="The job whose code runs: `job`, or what its definition names.", examples=["backup"]
    )
    input: dict[str, Any] = Field(examples=[{"source": "/srv"}])
    attempt: int
    lease_until: datetime | None
    timeout: float | None
    cancel: str | None = Field(description="Its end was asked for already, for this reason.")
    tenant: str
    queue: str
    target: str | None
    priority: int
    tag: str | None
    user_id: int | str
    schedule: str | None
    event: str | None
    scheduled_for: datetime
    created_at: datetime


class HandedRuns(Shown):
    runs: list[HandedRun]


class TakeBody(AgentBody):
    """Take of one run by its id: by which session, and for how long."""

    session: Session | None = Field(None, description=SESSION)
    lease: Lease | None = Field(None, description="Seconds within which it will send a heartbeat.")


class RunTaken(Shown):
    """The run, if the agent has it now."""

    run: HandedRun | None
    status: Status = Field(
        description="Of the run. `queued` without a run: a pause or a limit holds it back, or another takes it now."
    )


class HeartbeatBody(AgentBody):
    """Runs that the agent holds, to renew their leases."""

    holding: list[HeldRun] = Field(default_factory=list, max_length=MOST_HELD)
    session: Session | None = Field(None, description=SESSION)
    lease: Lease | None = None
    metrics: dict[str, Any] | None = Field(None, examples=[{"load": 0.4}])


class LeaseShown(Shown):
    """Whether a lease is good; `cancel` says that the run's end was asked for, and why."""

    id: str
    token: int
    held: bool
    lease_until: datetime | None
    cancel: str | None


class LeasesShown(Shown):
    runs: list[LeaseShown]


class LineBody(AgentBody):
    """A log line; with a number, from 0 on, it is stored once however often it comes."""

    message: str = Field(max_length=100_000)
    level: str = Field("INFO", max_length=20)
    line: int | None = Field(None, ge=0, lt=2**31)
    at: When | None = None


class ProgressBody(AgentBody):
    """Progress and log lines of a run."""

    token: Token
    session: Session | None = None
    done: float | None = Field(None, ge=0, lt=2**63, allow_inf_nan=False)
    total: float | None = Field(None, ge=0, lt=2**63, allow_inf_nan=False)
    message: str | None = Field(None, max_length=100_000)
    logs: list[LineBody] = Field(default_factory=list, max_length=1000)


class ResultBody(AgentBody):
    """Result of a run."""

    token: Token
    session: Session | None = None
    status: Ending
    result: Json = None
    error: str | None = None
    reason: str | None = None
    kinds: list[str] = Field(default_factory=list, max_length=100, description="The error's classes, for `give_up_on`.")
    retry_after: Seconds | None = Field(None, description="No sooner; of a snoozed run, when.")
    final: bool = Field(False, description="Another try could not help.")


class TakenShown(Shown):
    """Whether the report is new; false: it is a repeat, or came after the end."""

    taken: bool
