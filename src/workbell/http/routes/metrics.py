"""`/metrics`, for Prometheus: with a token that may read, unless the setting http_metrics_open says that none is
needed. A token of one tenant sees the runs and queues of that tenant, and what all tenants share only if that is the
tenant of the program."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from workbell.http.features.exposition import CONTENT_TYPE
from workbell.http.features.metrics import MetricsScope
from workbell.http.service import service_of
from workbell.model.access import EVERY_TENANT, Scope


async def metrics(request: Request) -> Response:
    service = service_of(request)
    asked, tenant, shared = request.query_params, None, True
    if not service.settings.http_metrics_open:
        call = await service.admit(request, Scope.READ)
        if call.access.tenant != EVERY_TENANT or "tenant" in asked:
            tenant = call.tenant
        shared = call.is_operator
    view = MetricsScope(tenant, asked.get("by_tenant") in ("1", "true"), shared)
    return Response(await service.metrics.page(view), media_type=CONTENT_TYPE)
