"""Entries of the audit log."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.audit import AuditEntry
from workbell.model.clock import Instant
from workbell.model.schema_examples import AT, RUN_ID
from workbell.wire.fields import Cursor, Limit, raw
from workbell.wire.operation import ListPage, Operations, Query, Shown


class AuditShown(Shown, frozen=True, kw_only=True):
    """An action of an operator: on what, when and from where."""

    id: Annotated[str, Meta(examples=[RUN_ID])]
    tenant: str
    at: Annotated[Instant, Meta(examples=[AT])]
    actor: Annotated[
        str, Meta(description="Kind and name; the kind is not the caller's to choose.", examples=["token:grafana"])
    ]
    action: Annotated[str, Meta(examples=["runs.cancel"])]
    subject: Annotated[str, Meta(description="To what.", examples=[RUN_ID])]
    detail: Annotated[
        Any,
        Meta(
            description="More about it; `by` has the ids of the actor.",
            examples=[{"method": "POST", "by": {"kind": "token", "token": RUN_ID}}],
        ),
    ]
    address: Annotated[str | None, Meta(description="From where.", examples=["127.0.0.1"])]

    @classmethod
    def of(cls, entry: AuditEntry) -> AuditShown:
        own = msgspec.structs.asdict(entry)
        return cls(detail=raw(own.pop("detail_text")), **own)

    def value(self) -> AuditEntry:
        own = msgspec.structs.asdict(self)
        detail = own.pop("detail")
        return AuditEntry(detail_text=None if detail is None else msgspec.json.encode(detail).decode(), **own)


class AuditQuery(Query, frozen=True, kw_only=True):
    """Page of the audit log."""

    every_tenant: Annotated[bool, Meta(description="Of all tenants; only with a token of all.")] = False
    before: Cursor | None = None
    limit: Limit = 100


operations = Operations("audit")

list_ = operations.add(
    "list",
    "GET",
    "/audit",
    Scope.ADMIN,
    ListPage[AuditShown],
    "List what operators did, newest first.",
    query=AuditQuery,
)
