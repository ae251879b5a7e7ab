"""Agents, and the protocol between an agent and the server: a run travels as `HandedRun`, its end as `ResultBody`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workbell.model.access import Scope, Token, TokenKind
from workbell.model.agent import (
    CAPACITY,
    LONGEST_LEASE,
    MOST_HELD,
    MOST_JOBS,
    MOST_LABELS,
    MOST_LINES,
    SESSION_LIMIT,
    SHORTEST_LEASE,
    Agent,
    Ending,
)
from workbell.model.clock import EPOCH
from workbell.model.ids import MOST_TOKEN
from workbell.model.request import encoded
from workbell.model.run import Lane, Options, Run, Status
from workbell.model.schema_examples import RUN_ID
from workbell.model.unreadable import UNREADABLE, sentence_of, told
from workbell.model.users import user_number, user_text
from workbell.wire.fields import Limit, Name, Seconds, Time, When, raw, raw_object
from workbell.wire.operation import IDEMPOTENCY_KEY, AgentBody, ListPage, Operations, Query, RequestBody, Shown

Session = Annotated[str, Meta(min_length=1, max_length=SESSION_LIMIT, pattern=r"^[A-Za-z0-9._:-]+$")]
Lease = Annotated[float, Meta(ge=SHORTEST_LEASE.total_seconds(), le=LONGEST_LEASE.total_seconds())]
Labels = Annotated[list[Name], Meta(max_length=MOST_LABELS)]
LeaseToken = Annotated[int, Meta(ge=0, le=MOST_TOKEN)]
Amount = Annotated[float, Meta(ge=0, lt=2**63)]

SESSION = "Drawn anew at each start of the agent: of two with one identity, each has its own runs."


class AgentShown(Shown, frozen=True, kw_only=True):
    """A program on another machine that works for runs aimed at it, or at one of its labels."""

    id: Annotated[str, Meta(examples=[RUN_ID])]
    name: Annotated[str, Meta(description="Its name, at which runs are aimed.", examples=["web-1"])]
    tenant: str
    labels: Annotated[
        tuple[str, ...], Meta(description="A run for `label:x` is for each agent with the label x.", examples=[["gpu"]])
    ]
    jobs: Annotated[
        tuple[str, ...] | None, Meta(description="What it said it can run; null: anything, or it has not polled yet.")
    ]
    version: str
    host: str
    metrics: Annotated[dict[str, Any] | None, Meta(description="What it reported with its last heartbeat.")]
    enabled: Annotated[bool, Meta(description="False: it gets no more runs.")]
    alive: Annotated[bool, Meta(description="Whether it was seen lately.")]
    seen_at: Time | None
    created_at: Time
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    @classmethod
    def of(cls, agent: Agent, now: datetime) -> AgentShown:
        """An agent as it is sent."""
        return cls(
            **{name: getattr(agent, name) for name in _OF_AGENT},
            metrics=raw(agent.metrics_text),  # type: ignore[arg-type]
            alive=agent.is_alive(now),
            unreadable=sentence_of(agent),
        )

    def value(self) -> Agent:
        own = {name: getattr(self, name) for name in _OF_AGENT}
        text = None if self.metrics is None else msgspec.json.encode(self.metrics).decode()
        return Agent(**own, metrics_text=text, unreadable=told(self.unreadable))


_OF_AGENT = [name for name in AgentShown.__struct_fields__ if name in Agent.__struct_fields__ and name != "unreadable"]


class AgentsQuery(Query, frozen=True, kw_only=True):
    after: Annotated[str, Meta(max_length=200, description="The cursor: `next` of the page before.")] = ""
    limit: Limit = 100


class AgentChange(RequestBody, frozen=True, kw_only=True):
    """Changes of an agent; fields that are left out stay."""

    labels: Labels | None = None
    enabled: bool | None = None


# Pairing


class NewPairing(RequestBody, frozen=True, kw_only=True):
    """A pairing to be allowed."""

    name: Annotated[
        Name | None, Meta(description="The agent's name; it cannot choose another. One that exists moves.")
    ] = None
    labels: Annotated[
        Labels, Meta(description="Its labels; it cannot choose others. One that moves keeps its own if there are none.")
    ] = []
    expires: Annotated[float, Meta(ge=60, le=7 * 86400)] = 900.0


class PairingShown(Shown, frozen=True, kw_only=True):
    """A token for `POST /agents/pair`, good for once; its text is not shown again."""

    id: str
    token: Annotated[
        str | None, Meta(description="The text, shown this once; null where an Idempotency-Key repeats the answer.")
    ]
    expires_at: Time

    def value(self) -> Token:
        """The token; of its fields the server sends few."""
        return Token(
            id=self.id, hash="", created_at=EPOCH, tenant="", kind=TokenKind.PAIRING, expires_at=self.expires_at
        )


class PairBody(AgentBody, frozen=True, kw_only=True):
    """A pairing token, and who comes with it."""

    token: Annotated[str, Meta(min_length=1, max_length=200)]
    name: Name | None = None
    labels: Labels | None = None
    host: Annotated[str, Meta(max_length=200)] = ""
    version: Annotated[str, Meta(max_length=100)] = ""


class PairedShown(Shown, frozen=True, kw_only=True):
    """The agent, and the token that it works with from now on; it is not shown again."""

    agent: AgentShown
    token: str


# The protocol


class HeldLease(AgentBody, frozen=True, kw_only=True):
    """A run that the agent has, with the token it got with it."""

    id: Annotated[str, Meta(max_length=100, examples=[RUN_ID])]
    token: LeaseToken


class PollBody(AgentBody, frozen=True, kw_only=True):
    """Capacity of an agent, and the runs that it holds."""

    wait: Annotated[float, Meta(ge=0, le=60, description="Seconds to wait for a run, if there is none.")] = 0
    jobs: Annotated[
        Annotated[list[Name], Meta(max_length=MOST_JOBS)] | None,
        Meta(description="Jobs that it can run; null: any."),
    ] = None
    capacity: Annotated[int, Meta(ge=0, le=CAPACITY, description="How many runs it can take now.")] = 1
    session: Annotated[Session | None, Meta(description=SESSION)] = None
    holding: Annotated[
        list[HeldLease],
        Meta(
            max_length=MOST_HELD,
            description="What it has already: other runs of its session are handed out again, their answer was lost.",
        ),
    ] = []
    lease: Annotated[Lease | None, Meta(description="Seconds within which it will send a heartbeat.")] = None


class HandedRun(Shown, frozen=True, kw_only=True):
    """A run to be worked on. Every post about it carries its token."""

    id: Annotated[str, Meta(examples=[RUN_ID])]
    token: int
    job: Annotated[str, Meta(examples=["backup"])]
    handler: Annotated[
        str,
        Meta(description="The job whose code runs: `job`, or what its definition names.", examples=["backup"]),
    ]
    input: Annotated[dict[str, Any], Meta(examples=[{"source": "/srv"}])]
    attempt: int
    lease_until: Time | None
    timeout: float | None
    cancel: Annotated[str | None, Meta(description="Its end was asked for already, for this reason.")]
    tenant: str
    queue: str
    target: str | None
    priority: int
    tag: str | None
    user_id: int | str
    schedule: str | None
    event: str | None
    scheduled_for: Time
    created_at: Time

    @classmethod
    def of(cls, run: Run, *, handler: str, timeout: float | None, cancel: str | None) -> HandedRun:
        """A claimed run as it is sent."""
        own = {name: getattr(run, name) for name in cls.__struct_fields__ if name not in _OF_THE_HANDOUT}
        return cls(
            **own,
            handler=handler,
            timeout=timeout,
            cancel=cancel,
            input=raw_object(run.input_text),  # type: ignore[arg-type]
        )

    def value(self, worker: str, now: datetime) -> Run:
        """The run as handlers get it, begun now by this worker."""
        return Run(
            self.id,
            Lane(self.tenant, self.queue, self.job, self.target),
            Status.RUNNING,
            -self.priority,
            self.scheduled_for,
            self.created_at,
            now,
            attempt=self.attempt,
            token=self.token,
            lease_until=self.lease_until,
            worker=worker,
            started_at=now,
            input_text=msgspec.json.encode(self.input).decode(),
            options_text=encoded(Options(timeout=self.timeout, user=user_text(self.user_id))),
            tag=self.tag,
            user_number=user_number(self.user_id),
            schedule=self.schedule,
            event=self.event,
        )


_OF_THE_HANDOUT = frozenset({"handler", "timeout", "cancel", "input"})


class HandedRuns(Shown, frozen=True, kw_only=True):
    runs: list[HandedRun]


class TakeBody(AgentBody, frozen=True, kw_only=True):
    """Take of one run by its id: by which session, and for how long."""

    session: Annotated[Session | None, Meta(description=SESSION)] = None
    lease: Annotated[Lease | None, Meta(description="Seconds within which it will send a heartbeat.")] = None


class RunTaken(Shown, frozen=True, kw_only=True):
    """The run, if the agent has it now."""

    run: HandedRun | None
    status: Annotated[
        Status,
        Meta(
            description="Of the run. `queued` without a run: a pause or a limit holds it back, or another takes it now."
        ),
    ]


class HeartbeatBody(AgentBody, frozen=True, kw_only=True):
    """Runs that the agent holds, to renew their leases."""

    holding: Annotated[list[HeldLease], Meta(max_length=MOST_HELD)] = []
    session: Annotated[Session | None, Meta(description=SESSION)] = None
    lease: Lease | None = None
    metrics: Annotated[dict[str, Any] | None, Meta(examples=[{"load": 0.4}])] = None


class LeaseShown(Shown, frozen=True, kw_only=True):
    """Whether a lease is good; `cancel` says that the run's end was asked for, and why."""

    id: str
    token: int
    held: bool
    lease_until: Time | None
    cancel: str | None


class LeasesShown(Shown, frozen=True, kw_only=True):
    runs: list[LeaseShown]


class AgentLogLine(AgentBody, frozen=True, kw_only=True):
    """A log line; with a number, from 0 on, it is stored once however often it comes."""

    message: Annotated[str, Meta(max_length=100_000)]
    level: Annotated[str, Meta(max_length=20)] = "INFO"
    line: Annotated[int, Meta(ge=0, lt=2**31)] | None = None
    at: When | None = None


class ProgressBody(AgentBody, frozen=True, kw_only=True):
    """Progress and log lines of a run."""

    token: LeaseToken
    session: Session | None = None
    done: Amount | None = None
    total: Amount | None = None
    message: Annotated[str, Meta(max_length=100_000)] | None = None
    logs: Annotated[list[AgentLogLine], Meta(max_length=MOST_LINES)] = []


class AttemptReport(AgentBody, frozen=True, kw_only=True):
    """Report of an agent on how an attempt ended."""

    status: Ending
    result: Any = None
    error: str | None = None
    reason: str | None = None
    kinds: Annotated[tuple[str, ...], Meta(max_length=100, description="The error's classes, for `give_up_on`.")] = ()
    retry_after: Annotated[Seconds | None, Meta(description="No sooner; of a snoozed run, when.")] = None
    final: Annotated[bool, Meta(description="Another try could not help.")] = False


class ResultBody(AttemptReport, frozen=True, kw_only=True):
    """Result of a run."""

    token: LeaseToken
    session: Session | None = None


class TakenShown(Shown, frozen=True, kw_only=True):
    """Whether the report is new; false: it is a repeat, or came after the end."""

    taken: bool


operations = Operations("agents")

poll = operations.add(
    "poll",
    "POST",
    "/agents/self/poll",
    Scope.AGENT,
    HandedRuns,
    "Take runs that are aimed at this agent, waiting for one if there is none; empty after the wait.",
    body=PollBody,
)
take = operations.add(
    "take",
    "POST",
    "/agents/self/runs/{run_id}/take",
    Scope.AGENT,
    RunTaken,
    "Take one run by its id, if it is aimed at this agent and waits in the queue.",
    body=TakeBody,
)
heartbeat = operations.add(
    "heartbeat",
    "POST",
    "/agents/self/heartbeat",
    Scope.AGENT,
    LeasesShown,
    "Renew the leases of runs; the answer names lost leases and cancel requests.",
    body=HeartbeatBody,
)
progress = operations.add(
    "progress",
    "POST",
    "/agents/self/runs/{run_id}/progress",
    Scope.AGENT,
    TakenShown,
    "Report the progress and log lines of a run.",
    body=ProgressBody,
)
result = operations.add(
    "result",
    "POST",
    "/agents/self/runs/{run_id}/result",
    Scope.AGENT,
    TakenShown,
    "Report the result of a run. Idempotent: it is taken once.",
    body=ResultBody,
)
me = operations.add("me", "GET", "/agents/self", Scope.AGENT, AgentShown, "Show the calling agent.")
pair = operations.add(
    "pair",
    "POST",
    "/agents/pair",
    None,
    PairedShown,
    "Become an agent: exchange a pairing token for one's own.",
    status=201,
    open=True,
    body=PairBody,
)
allow = operations.add(
    "allow",
    "POST",
    "/agents/pairings",
    Scope.ADMIN,
    PairingShown,
    """Allow one machine to pair: make the token that it needs.

With an `Idempotency-Key` nothing is made twice; but the text, which is not stored, is in the first answer only.""",
    status=201,
    body=NewPairing,
    headers=(IDEMPOTENCY_KEY,),
)
list_ = operations.add(
    "list", "GET", "/agents", Scope.READ, ListPage[AgentShown], "List agents by name.", query=AgentsQuery
)
get = operations.add("get", "GET", "/agents/{name}", Scope.READ, AgentShown, "Show an agent, by its name or id.")
change = operations.add(
    "change",
    "PATCH",
    "/agents/{name}",
    Scope.ADMIN,
    AgentShown,
    "Give an agent other labels, or switch it off and on.",
    body=AgentChange,
)
delete = operations.add(
    "delete",
    "DELETE",
    "/agents/{name}",
    Scope.ADMIN,
    type(None),
    "Remove an agent, and revoke its token.",
    status=204,
)
