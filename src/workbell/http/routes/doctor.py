"""Route of the doctor: health checks of the store, workers and schedules."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import Forbidden
from workbell.http.answers import JsonResponse
from workbell.http.call import call_of
from workbell.http.doctor_checks import shown
from workbell.http.routing import Routes
from workbell.http.schemas.doctor import Findings
from workbell.model.access import EVERY_TENANT, Scope

routes = Routes("doctor")


@routes.add("GET", "/doctor", needs=Scope.READ, answers=Findings)
async def examine(request: Request) -> Response:
    """Check the store: what is fine, what to note and what is a problem, as `workbell doctor` does.

    Only with a token of all tenants: it checks the whole store. A check that takes too long is left out, with a note.
    """
    call = call_of(request)
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("The doctor checks the whole store, and so needs a token of all tenants, not of one.")
    found = await call.service.doctor.examine(call.service.client)
    return JsonResponse({"items": [shown(finding) for finding in found], "at": call.client.store.clock.now()})
