"""Handler of the audit log."""

from __future__ import annotations

from workbell.errors import Forbidden
from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_id, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.access import EVERY_TENANT
from workbell.wire import audit
from workbell.wire.audit import AuditQuery, AuditShown
from workbell.wire.operation import ListPage

served = Served()


@served(audit.list_)
async def list_(call: ApiCall, query: AuditQuery) -> ListPage[AuditShown]:
    if query.every_tenant and call.access.tenant != EVERY_TENANT:
        raise Forbidden("Only a token of all tenants may see what was done for all.")
    whose = EVERY_TENANT if query.every_tenant else None
    entries = call.client.audit
    source = PageSource(
        lambda cursor, number: entries.list(before=cursor, limit=number, tenant=whose), by_id, AuditShown.of, WITH_TEXT
    )
    page = await call.client.runtime.hop(read_page, source, query.before, query.limit)
    return page.answer(by_id)
