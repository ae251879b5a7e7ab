"""One-shot calls: a round of dispatch, and a round of work."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

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
    """A round of work: on the run of a message of a queue, as it was delivered; on the runs that several messages name;
    or on what the server chooses."""

    version: Annotated[int, Meta(description="The version of the message, or of those that named the runs.")] = VERSION
    run: Annotated[str, Meta(description="Of a message: the id of its run.")] | UnsetType = UNSET
    kumofire_run: Annotated[str, Meta(description="The same in a message of Kumofire Jobs.")] | UnsetType = (
        msgspec.field(default=UNSET, name="kumofireJobRunId")
    )
    runs: Annotated[
        Annotated[list[str], Meta(max_length=MOST_CONSUMED)] | None, Meta(description="Ids of runs: just these.")
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=MOST_CONSUMED)] | None,
        Meta(description=f"Without a message or `runs`: how many; {CONSUMED_RUNS} if not given."),
    ] = None
    seconds: Annotated[float, Meta(gt=0, le=LONGEST, description="What has not ended by then is handed back.")] = (
        CONSUME_SECONDS
    )

    def message(self) -> dict[str, Any] | None:
        """The message that the body is, if it is one."""
        fields = {"run": self.run, "kumofireJobRunId": self.kumofire_run}
        named = {name: value for name, value in fields.items() if value is not UNSET}
        return {"version": self.version, **named} if named else None


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

For queues that push messages, and for serverless hosts: the message itself, as it was delivered, is a body. Only with
a token of all tenants. Messages of an unknown version are refused, and nothing is taken.""",
    body=ConsumeBody,
    body_required=False,
    examples=[
        {"version": VERSION, "run": RUN_ID},
        {"version": VERSION, "runs": [RUN_ID]},
        {"limit": 20, "seconds": 50},
    ],
)
