"""Audit log: which action an actor did, on what, when and from where."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from workbell.model.users import UserId


class ActorKind(StrEnum):
    """Kind of an actor. Workbell sets it; names are chosen by callers, and prove nothing."""

    TOKEN = "token"  # noqa: S105  # a caller of the HTTP API, by a token
    SESSION = "session"  # a browser that signed in
    AGENT = "agent"
    APP = "app"  # named by the application: by its auth hook, or with `bell.audit.add`
    CLI = "cli"  # a system user at the command line
    ANYBODY = "anybody"  # over HTTP, where no token is needed


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """Actor of an audit entry. As text it is `kind:name`, so that no name can pretend to be of another kind."""

    kind: ActorKind
    name: str = ""
    token: str | None = None  # the id of the token that was shown
    made_with: str | None = None  # of a session or an agent: the id of the token that it was exchanged for
    user_id: UserId | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name not in ("", self.kind) else str(self.kind)

    def facts(self) -> dict[str, Any]:
        """Ids beside the name, for the detail of an entry; empty where there are none."""
        known = {"token": self.token, "made_with": self.made_with, "user_id": self.user_id}
        found = {name: value for name, value in known.items() if value is not None}
        return {"kind": self.kind.value, **found} if found else {}


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One action. `detail_text` is JSON, and never holds a secret; its `by` has the ids of the actor."""

    id: str
    tenant: str
    at: datetime
    actor: str  # "token:grafana", "session:eve", "cli:ada@shop": kind and name
    action: str  # "runs.cancel", "tokens.create": the resource and the verb
    subject: str = ""  # the id or name of what it was done to
    detail_text: str | None = None
    address: str | None = None  # of the caller
