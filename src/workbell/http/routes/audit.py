"""The audit log: what operators did."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from workbell.access.describe import describe_entry
from workbell.errors import Forbidden
from workbell.http.answers import JsonResponse
from workbell.http.bounded_pages import WITH_TEXT, PageSource, by_id, read_page
from workbell.http.call import call_of
from workbell.http.routing import Routes
from workbell.http.schemas.audit import AuditShown
from workbell.http.schemas.base import Limit, ListPage
from workbell.model.access import EVERY_TENANT, Scope

routes = Routes("audit")


@routes.add("GET", "/audit", needs=Scope.ADMIN, answers=ListPage[AuditShown])
async def list(  # noqa: A001
    request: Request,
    every_tenant: Annotated[bool, Query(description="Of all tenants; only with a token of all.")] = False,
    before: Annotated[str | None, Query(description="The cursor: `next` of the page before.", max_length=100)] = None,
    limit: Limit = 100,
) -> Response:
    """List what operators did, newest first."""
    call = call_of(request)
    if every_tenant and call.access.tenant != EVERY_TENANT:
        raise Forbidden("Only a token of all tenants may see what was done for all.")
    whose = EVERY_TENANT if every_tenant else None
    audit = call.client.audit
    source = PageSource(
        lambda cursor, number: audit.list(before=cursor, limit=number, tenant=whose), by_id, describe_entry, WITH_TEXT
    )
    page = await call.client.runtime.hop(read_page, source, before, limit)
    return JsonResponse(page.answer(by_id))
