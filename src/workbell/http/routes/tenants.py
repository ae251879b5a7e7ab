"""Tenants: see them, and set their weights and limits."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.access.describe import describe_tenant
from workbell.access.tenants import TenantSettings
from workbell.errors import Forbidden, TenantNotFound
from workbell.http.answers import JsonResponse, nothing
from workbell.http.call import ApiCall, call_of
from workbell.http.routing import Routes
from workbell.http.schemas.base import Limit, ListPage
from workbell.http.schemas.tenants import TenantBody, TenantShown
from workbell.model.access import EVERY_TENANT, Scope

routes = Routes("tenants")


@routes.add("GET", "/tenants", needs=Scope.ADMIN, answers=ListPage[TenantShown])
async def list(  # noqa: A001
    request: Request,
    after: Annotated[str, Query(description="The cursor: `next` of the page before.", max_length=200)] = "",
    limit: Limit = 100,
) -> Response:
    """List tenants by name: all of them with a token of all, else one's own."""
    call = call_of(request)
    known = await call.client.tenants.alist()
    found = [one for one in known if one.name > after and call.access.may_act_for(one.name)]
    following = found[limit - 1].name if len(found) > limit else None
    return JsonResponse({"items": [describe_tenant(tenant) for tenant in found[:limit]], "next": following})


@routes.add("GET", "/tenants/{name}", needs=Scope.ADMIN, answers=TenantShown)
async def get(request: Request, name: str) -> Response:
    """Show a tenant."""
    call = call_of(request)
    _check_known(call, name)
    return JsonResponse(describe_tenant(await call.client.tenants.aget(name)))


@routes.add("PUT", "/tenants/{name}", needs=Scope.ADMIN, answers=TenantShown)
async def put(request: Request, name: str, asked: TenantBody) -> Response:
    """Set a tenant's weight and limits; what is not named stays. Only with a token of all tenants."""
    call = call_of(request)
    _check_may_change(call, name)
    settings: TenantSettings = asked.model_dump(include=asked.model_fields_set)  # type: ignore[assignment]
    tenant = await call.client.tenants.aput(name, **settings)
    call.tenant = name  # the entry in the audit log is for the tenant to read
    return JsonResponse(describe_tenant(tenant))


@routes.add("DELETE", "/tenants/{name}", needs=Scope.ADMIN, status=204)
async def delete(request: Request, name: str) -> Response:
    """Forget what was set for a tenant; its runs stay. Only with a token of all tenants."""
    call = call_of(request)
    _check_may_change(call, name)
    await call.client.tenants.adelete(name)
    call.tenant = name
    return nothing()


def _check_known(call: ApiCall, name: str) -> None:
    """Raise NotFound for another tenant: a token of one tenant must not learn which others exist."""
    if not call.access.may_act_for(name):
        raise TenantNotFound(f"There is no tenant {name[:40]!r} here.")


def _check_may_change(call: ApiCall, name: str) -> None:
    """A tenant must not raise its own limits."""
    _check_known(call, name)
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("A tenant's weight and limits are set with a token of all tenants, not with its own.")
