"""Handler of the doctor: health checks of the store, workers and schedules."""

from __future__ import annotations

from workbell.errors import Forbidden
from workbell.http.features.doctor_checks import shown
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.access import EVERY_TENANT
from workbell.wire import doctor
from workbell.wire.doctor import Findings

served = Served()


@served(doctor.examine)
async def examine(call: ApiCall) -> Findings:
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("The doctor checks the whole store, and so needs a token of all tenants, not of one.")
    found = await call.service.doctor.examine(call.service.client)
    items = [shown(finding) for finding in found.findings]
    return Findings(items=items, complete=found.complete, at=call.client.store.clock.now())
