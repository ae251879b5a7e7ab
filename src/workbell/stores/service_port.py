"""What a store must do for the service: tokens and tenants, the audit log, notifications, agents, tallies.

A part of the contract in `port.py`, with the same rules: every verb is one atomic unit, and guarded.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from workbell.model.access import Token
from workbell.model.agent import Agent
from workbell.model.audit import AuditEntry
from workbell.model.notification import Notification
from workbell.model.remembered import Remembered
from workbell.model.run import Lane
from workbell.model.tally import Tally, TallySum
from workbell.model.tenant import Tenant
from workbell.model.users import UserId


class Head(NamedTuple):
    """A lane that has queued runs of a rank: where a claim may look."""

    lane_id: int
    rank: int
    lane: Lane


class ServiceStore(Protocol):
    """The part of a store that the service needs."""

    # Tokens
    def add_token(self, token: Token) -> None: ...

    def find_token(self, token_hash: str) -> Token | None:
        """By the SHA-256 of its text; also one that is revoked or has expired."""

    def list_tokens(self, tenant: str | None = None) -> list[Token]:
        """The tokens of a tenant, or of all, oldest first."""

    def redeem_token(self, token_hash: str, now: datetime) -> Token | None:
        """Use up a token that is good for once: for the first to ask it is still valid, then it is revoked."""

    def revoke_tokens(self, ids: Sequence[str], now: datetime) -> set[str]:
        """Let these be valid no more; those that were not revoked before."""

    def see_tokens(self, ids: Sequence[str], now: datetime) -> None:
        """Note that these were used."""

    # Tenants
    def put_tenant(self, tenant: Tenant) -> None: ...

    def delete_tenant(self, name: str) -> bool:
        """Forget what was set for a tenant; its runs stay."""

    def list_tenants(self) -> list[Tenant]:
        """Those that something was set for, by name."""

    def known_tenants(self) -> list[str]:
        """Every tenant that has a lane, a token or a setting, by name."""

    # The audit log
    def add_audit(self, entries: Sequence[AuditEntry]) -> None: ...

    def list_audit(self, tenant: str | None, *, before: str | None, limit: int) -> list[AuditEntry]:
        """Entries of a tenant, or of all, newest first."""

    # Idempotency keys
    def remember(self, asked: Remembered) -> Remembered | None:
        """Take a key for a request; none: it is yours. Else what stands there, as long as its time is not over."""

    def answer(self, answered: Remembered) -> None:
        """Keep the answer to the request that took the key."""

    def forget(self, tenant: str, key: str, fingerprint: str) -> None:
        """Let go of a key whose request came to nothing."""

    # Notifications
    def add_notifications(self, new: Sequence[Notification]) -> None: ...

    def list_notifications(
        self, tenant: str, user_id: UserId, *, unread: bool, before: str | None, limit: int
    ) -> list[Notification]:
        """A person's own and everybody's, newest first, each with the person's own read mark."""

    def new_notifications(self, after: str, limit: int) -> list[Notification]:
        """Those of all tenants and people with ids beyond `after`, oldest first: for who passes them on."""

    def mark_read(self, tenant: str, user_id: UserId, ids: Sequence[str] | None, now: datetime) -> int:
        """Note that a person has read these, or all that are there; how many were unread."""

    # Agents
    def put_agent(self, agent: Agent) -> bool:
        """Make an agent known, or change what is known of it; false, if another one has its name."""

    def see_agent(
        self, agent_id: str, now: datetime, *, jobs: Sequence[str] | None = None, metrics_text: str | None = None
    ) -> None:
        """Note that it was heard of, and what it told of itself; what it did not tell stays as it is."""

    def find_agent(self, agent_id: str) -> Agent | None: ...

    def list_agents(self, tenant: str | None = None) -> list[Agent]:
        """The agents of a tenant, or of all, by name."""

    def delete_agent(self, agent_id: str) -> bool: ...

    def survey_targets(self, tenant: str, targets: Sequence[str], limit: int) -> list[Head]:
        """Lanes of a tenant that are aimed at one of these, have queued runs and are not paused."""

    def waiting_targets(self) -> set[tuple[str, str]]:
        """Tenants and targets for which something is queued: so that many who wait need one look."""

    def survey_tenant(self, tenant: str, limit: int) -> list[Head]:
        """Some lanes of a tenant that have queued runs and are not paused, each with its best rank."""

    # Tallies
    def add_tallies(self, tallies: Sequence[Tally]) -> None:
        """Add to what is there for the minute, tenant, queue, job and status."""

    def list_tallies(self, *, tenant: str | None, since: datetime) -> list[Tally]:
        """By minute, from then on."""

    def sum_tallies(
        self, tenant: str, *, since: datetime, until: datetime, step: int, job: str | None, queue: str | None
    ) -> list[TallySum]:
        """How many ended from then on and before, by steps of so many seconds: added up by the store, in no order."""

    def total_tallies(self) -> list[Tally]:
        """All of each tenant, queue, job and status added up, also those that were removed since: never smaller."""
