"""Workers: who is there to run something, and what they are doing."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from workbell.http.answers import Answer
from workbell.http.call import call_of
from workbell.http.routing import Routes
from workbell.http.schemas.workers import Workers
from workbell.model.access import Scope
from workbell.model.worker import SeenWorker

routes = Routes("workers")


@routes.add("GET", "/workers", needs=Scope.READ, answers=Workers)
async def list(request: Request) -> Response:  # noqa: A001
    """List the workers of all machines: how much each does, and which of it is the tenant's.

    Lost ones are listed for a day.
    """
    return Answer({"items": [_shown(seen) for seen in await call_of(request).client.aworkers()]})


def _shown(seen: SeenWorker) -> dict[str, Any]:
    told = msgspec.structs.asdict(seen.worker) | {"alive": seen.alive, "busy": seen.busy}
    return told | {"runs": [run.as_dict() for run in seen.runs]}
