"""Handlers of tenants: see them, and set their weights and limits."""

from __future__ import annotations

from workbell.errors import Forbidden, TenantNotFound
from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_name, page_of, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.access import EVERY_TENANT
from workbell.wire import tenants
from workbell.wire.fields import given
from workbell.wire.operation import ListPage
from workbell.wire.tenants import TenantBody, TenantShown, TenantsQuery

served = Served()


@served(tenants.list_)
async def list_(call: ApiCall, query: TenantsQuery) -> ListPage[TenantShown]:
    if call.access.tenant == EVERY_TENANT:
        tenants = call.client.tenants
        source = PageSource(
            lambda after, number: tenants.list(after=after or "", limit=number), by_name, TenantShown.of, WITH_TEXT
        )
        page = await call.client.runtime.hop(read_page, source, query.after, query.limit)
        return page.answer(by_name)
    try:
        own = [await call.client.tenants.aget(call.access.tenant)]
    except TenantNotFound:
        own = []
    return page_of(own, by_name, query.after, query.limit, TenantShown.of)


@served(tenants.get)
async def get(call: ApiCall, name: str) -> TenantShown:
    _check_known(call, name)
    return TenantShown.of(await call.client.tenants.aget(name))


@served(tenants.put)
async def put(call: ApiCall, name: str, body: TenantBody) -> TenantShown:
    _check_may_change(call, name)
    call.tenant = name  # the entry in the audit log is for the tenant to read
    tenant = await call.client.tenants.aput(name, **given(body))
    return TenantShown.of(tenant)


@served(tenants.delete)
async def delete(call: ApiCall, name: str) -> None:
    _check_may_change(call, name)
    call.tenant = name
    await call.client.tenants.adelete(name)


def _check_known(call: ApiCall, name: str) -> None:
    """Raise NotFound for another tenant: a token of one tenant must not learn which others exist."""
    if not call.access.may_act_for(name):
        raise TenantNotFound(f"There is no tenant {name[:40]!r} here.")


def _check_may_change(call: ApiCall, name: str) -> None:
    """A tenant must not raise its own limits."""
    _check_known(call, name)
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("A tenant's weight and limits are set with a token of all tenants, not with its own.")
