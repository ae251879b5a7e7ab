"""Agent: a program on another machine that takes the runs of its target over HTTP.

A run's target is the name of an agent, or `label:gpu` for any agent that has the label.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec

from workbell.model.job import TENANT
from workbell.model.unreadable import UnreadableColumns

LABEL = "label:"
LOST_AFTER = timedelta(seconds=45)
SHORTEST_LEASE, LONGEST_LEASE = timedelta(seconds=5), timedelta(hours=1)
HOLDER = "agent/"  # prefix of the names under which agents hold leases
MOST_LABELS = 50  # of an agent
MOST_JOBS = 1000  # that an agent names in a poll
CAPACITY = 100  # runs of one poll
MOST_HELD = 1000  # runs that a poll or a heartbeat names
MOST_LINES = 1000  # log lines of one report
SESSION_LIMIT = 64  # characters


class Ending(StrEnum):
    """Statuses of an agent's finished attempt."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"
    SNOOZED = "snoozed"
    RELEASED = "released"


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent. The runs that it holds are decided by leases alone, never by when it was seen."""

    id: str
    name: str
    created_at: datetime
    tenant: str = TENANT
    labels: tuple[str, ...] = ()
    jobs: tuple[str, ...] | None = None  # what it said it can run; none: it has not said
    version: str = ""
    host: str = ""
    metrics_text: str | None = None  # its last reported metrics, as JSON
    seen_at: datetime | None = None
    enabled: bool = True
    unreadable: UnreadableColumns | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets whose runs this agent gets."""
        return (self.name, *(f"{LABEL}{label}" for label in self.labels))

    def is_alive(self, now: datetime) -> bool:
        return self.seen_at is not None and abs(now - self.seen_at) <= LOST_AFTER


def is_agent(worker: str) -> bool:
    """Whether this holder of a lease is an agent."""
    return worker.startswith(HOLDER)


def out_of_reach(agents: Sequence[Agent], target: str, job: str, now: datetime) -> str | None:
    """Why no agent takes a run of a job with this target, and what to do; None, if one does.

    `agents` are those that the target means.
    """
    label = target.removeprefix(LABEL) if target.startswith(LABEL) else None
    who = f"agent {target!r}" if label is None else f"agent with the label {label!r}"
    if not agents:
        return f"There is no {who}; pair one: `workbell agents pair`."
    enabled = [agent for agent in agents if agent.enabled]
    if not enabled:
        return f"The {who} is disabled; enable it." if len(agents) == 1 else f"Every {who} is disabled; enable one."
    alive = [agent for agent in enabled if agent.is_alive(now)]
    if not alive:
        last = max((agent.seen_at for agent in enabled if agent.seen_at is not None), default=None)
        if last is None:
            return f"No {who} has ever polled; start it: `workbell agent`."
        return f"No {who} has polled since {last:%Y-%m-%d %H:%M:%S} UTC; is it running, and can it reach the server?"
    if not any(agent.jobs is None or job in agent.jobs for agent in alive):
        return f"The {who} does not know job {job!r}; give it a handler or a command of this name."
    return None
