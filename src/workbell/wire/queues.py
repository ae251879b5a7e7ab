"""Queues: what waits in each, and pausing one; and all that is paused."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.pause import Pause
from workbell.model.queue_scale import Scale
from workbell.model.queue_state import QueueState
from workbell.wire.fields import Limit, Name
from workbell.wire.operation import ListPage, Operations, Query, RequestBody
from workbell.wire.pauses import Resumed


class QueuesQuery(Query, frozen=True, kw_only=True):
    after: Annotated[str, Meta(max_length=200, description="The cursor: `next` of the page before.")] = ""
    limit: Limit = 1000


class PausesQuery(Query, frozen=True, kw_only=True):
    after: Annotated[str, Meta(max_length=1000, description="The cursor: `next` of the page before.")] = ""
    limit: Limit = 1000


class ScaleQuery(Query, frozen=True, kw_only=True):
    queue: Annotated[
        list[Name], Meta(max_length=100, description="Names of queues; without them, the 1,000 that want most.")
    ] = []


class QueueBody(RequestBody, frozen=True, kw_only=True):
    """Only the runs of one job in the queue."""

    job: Name | None = None


operations = Operations("queues")

list_ = operations.add(
    "list",
    "GET",
    "/queues",
    Scope.READ,
    ListPage[QueueState],
    "List the queues: what waits and runs in each, for how long, and what is paused.",
    query=QueuesQuery,
)
scale = operations.add(
    "scale",
    "GET",
    "/scale",
    Scope.READ,
    Scale,
    "Show how much load there is for workers, by queue: for autoscalers.\n\nEvery queue that is asked for is in the "
    "answer, with 0 where nothing waits. Without a name, the 1,000 that want most are in it; `total` counts all.",
    query=ScaleQuery,
)
pause = operations.add(
    "pause",
    "POST",
    "/queues/{name}/pause",
    Scope.OPERATE,
    Pause,
    "Start no more runs of a queue, or of one job in it, until it is resumed; what is running goes on.",
    body=QueueBody,
    body_required=False,
    examples=[{"job": "send"}],
)
resume = operations.add(
    "resume",
    "POST",
    "/queues/{name}/resume",
    Scope.OPERATE,
    Resumed,
    "End the pause of a queue and those of single jobs in it, or that of one job.",
    body=QueueBody,
    body_required=False,
    examples=[{"job": "send"}],
)
pauses = operations.add(
    "pauses",
    "GET",
    "/pauses",
    Scope.READ,
    ListPage[Pause],
    "List what is paused, and since when.",
    verb="pauses.__call__",
    query=PausesQuery,
)
