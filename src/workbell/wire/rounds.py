"""One-shot calls: a round of dispatch, and a round of work."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.one_shot import (
    CONSUME_SECONDS,
    CONSUMED_RUNS,
    DISPATCH_LIMIT,
    MOST_CONSUMED,
    MOST_DISPATCHED,
    VERSION,
    Consumed,
    Dispatched,
)
from workbell.model.schema_examples import RUN_ID
from workbell.wire.operation import Operations, RequestBody

LONGEST = 900.0  # seconds: as long as Cloudflare lets the consumer of a queue wait


class DispatchBody(RequestBody, frozen=True, kw_only=True):
    """A round of dispatch."""

    limit: Annotated[int, Meta(ge=1, le=MOST_DISPATCHED, description="How much of each kind at the most.")] = (
        DISPATCH_LIMIT
    )


class ConsumeBody(RequestBody, frozen=True, kw_only=True):
    """A round of work: on the runs that messages of a queue name, or on what the server chooses."""

    version: Annotated[int, Meta(description="The version of the messages that named the runs.")] = VERSION
    runs: Annotated[
        Annotated[list[str], Meta(max_length=MOST_CONSUMED)] | None, Meta(description="Ids of runs: just these.")
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_CONSUMED)] | None,
        Meta(description=f"Without `runs`: how many; {CONSUMED_RUNS} if not given."),
    ] = None
    seconds: Annotated[float, Meta(gt=0, le=LONGEST, description="What has not ended by then is handed back.")] = (
        CONSUME_SECONDS
    )


operations = Operations("rounds")

dispatch = operations.add(
    "dispatch",
    "POST",
    "/dispatch",
    Scope.DISPATCH,
    Dispatched,
    """Do one round of due schedules, events, runs and lost workers; send what was queued to the queue.

For cron triggers, where no engine runs all the time. Only with a token of all tenants.""",
    body=DispatchBody,
    body_required=False,
)
consume = operations.add(
    "consume",
    "POST",
    "/consume",
    Scope.CONSUME,
    Consumed,
    """Have this server execute queued runs, and answer when they have ended.

For queues that push messages, and for serverless hosts. Only with a token of all tenants. Messages of an unknown
version are refused, and nothing is taken.""",
    body=ConsumeBody,
    body_required=False,
    examples=[{"version": VERSION, "runs": [RUN_ID]}, {"limit": 20, "seconds": 50}],
)
