"""Tenants, and what can be set for one."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from workbell.model.access import Scope
from workbell.model.clock import EPOCH, Instant
from workbell.model.limit import MOST_RUNNING
from workbell.model.schema_examples import AT
from workbell.model.tenant import WEIGHTS, Tenant
from workbell.model.unreadable import UNREADABLE, sentence_of, told
from workbell.wire.fields import Limit, NameCursor
from workbell.wire.operation import ListPage, Operations, Query, RequestBody, Shown

NEVER = EPOCH  # when a tenant was changed for which nothing was ever set


class TenantShown(Shown, frozen=True, kw_only=True):
    """A tenant. Where several have runs waiting, each gets starts in proportion to its weight."""

    name: Annotated[str, Meta(examples=["acme"])]
    description: Annotated[str, Meta(description="Who it is.")]
    weight: Annotated[int, Meta(description="Its share of the starts, from 1 to 1,000.", examples=[1])]
    concurrency: Annotated[int | None, Meta(description="How many of its runs may be running at once.", examples=[10])]
    rate: Annotated[str | None, Meta(description="How many may start.", examples=["100/m"])]
    created_at: Annotated[Instant | None, Meta(description="Null where nothing was set.", examples=[AT])]
    updated_at: Instant | None
    unreadable: Annotated[str | None, Meta(description=UNREADABLE)]

    @classmethod
    def of(cls, tenant: Tenant) -> TenantShown:
        own = msgspec.structs.asdict(tenant) | {"unreadable": sentence_of(tenant)}
        return cls(**own | {name: None for name in ("created_at", "updated_at") if own[name] == NEVER})

    def value(self) -> Tenant:
        own = msgspec.structs.asdict(self) | {"unreadable": told(self.unreadable)}
        return Tenant(**own | {name: own[name] or NEVER for name in ("created_at", "updated_at")})


class TenantBody(RequestBody, frozen=True, kw_only=True):
    """Settings of a tenant; those that are left out stay, and null removes a limit."""

    weight: Annotated[int, Meta(ge=WEIGHTS[0], le=WEIGHTS[-1])] | UnsetType = UNSET
    concurrency: Annotated[int, Meta(ge=1, le=MOST_RUNNING)] | UnsetType | None = UNSET
    rate: Annotated[str, Meta(min_length=3, max_length=30)] | UnsetType | None = UNSET
    description: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET


class TenantsQuery(Query, frozen=True, kw_only=True):
    """Page of tenants."""

    after: NameCursor = ""
    limit: Limit = 100


operations = Operations("tenants")

list_ = operations.add(
    "list",
    "GET",
    "/tenants",
    Scope.ADMIN,
    ListPage[TenantShown],
    "List tenants by name: all of them with a token of all, else one's own.",
    query=TenantsQuery,
)
get = operations.add("get", "GET", "/tenants/{name}", Scope.ADMIN, TenantShown, "Show a tenant.")
put = operations.add(
    "put",
    "PUT",
    "/tenants/{name}",
    Scope.ADMIN,
    TenantShown,
    "Set a tenant's weight and limits; what is not named stays. Only with a token of all tenants.",
    body=TenantBody,
    examples=[{"weight": 3, "concurrency": 10, "rate": "100/m"}],
)
delete = operations.add(
    "delete",
    "DELETE",
    "/tenants/{name}",
    Scope.ADMIN,
    type(None),
    "Forget what was set for a tenant; its runs stay. Only with a token of all tenants.",
    status=204,
)
