"""The doctor: how the store is, and who looks after what is in it."""

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
    """Look at the store and say what is fine, what to note and what is a problem, as `workbell doctor` does.

    Only with a token of all tenants: it looks at the whole store. What takes too long is left out, and said to be.
    """
    call = call_of(request)
    if call.access.tenant != EVERY_TENANT:
        raise Forbidden("The doctor looks at the whole store, and so needs a token of all tenants, not of one.")
    found = await call.service.doctor.examine(call.service.client)
    return JsonResponse({"items": [shown(finding) for finding in found], "at": call.client.store.clock.now()})
