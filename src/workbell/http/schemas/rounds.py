"""One-shot calls: a round of dispatch, and a round of work."""

from __future__ import annotations

from pydantic import ConfigDict, Field, StrictInt

from workbell.engine.one_shot import LIMIT, MOST, MOST_RUNS, RUNS, SECONDS
from workbell.http.schemas.base import RUN_ID, RequestBody, Shown
from workbell.model.one_shot import Answer
from workbell.model.run import Status
from workbell.queues.message import VERSION

LONGEST = 900.0  # seconds: as long as Cloudflare lets the consumer of a queue wait


class DispatchBody(RequestBody):
    """A round of dispatch."""

    limit: int = Field(LIMIT, ge=1, le=MOST, description="How much of each kind at the most.")


class DispatchedShown(Shown):
    """Counts of a round of dispatch."""

    fired: int = Field(description="Schedules of which ticks were due.")
    fanned_out: int = Field(description="Events that were given to their triggers and endpoints.")
    queued: int = Field(description="Runs whose time had come, retries among them.")
    recovered: int = Field(description="Runs whose worker is gone, and waiting runs that expired.")
    removed: int = Field(description="Rows of history past their retention.")
    sent: int = Field(description="Messages to the queue beside the store.")


class ConsumeBody(RequestBody):
    """A round of work: on the runs that messages of a queue name, or on what the server chooses."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"version": 1, "runs": [RUN_ID]}, {"limit": 20, "seconds": 50}]}
    )

    version: StrictInt = Field(VERSION, description="The version of the messages that named the runs.")
    runs: list[str] | None = Field(None, max_length=MOST_RUNS, description="Ids of runs: just these.")
    limit: int | None = Field(None, ge=1, le=MOST_RUNS, description=f"Without `runs`: how many; {RUNS} if not given.")
    seconds: float = Field(SECONDS, gt=0, le=LONGEST, description="What has not ended by then is handed back.")


class ConsumedRunShown(Shown):
    """Answer for one run of a round."""

    run: str = Field(examples=[RUN_ID])
    answer: Answer = Field(description="`done` and `ignored`: acknowledge the message. `retry`: deliver it again.")
    status: Status | None = Field(None, description="The status of the run now; none, if there is no such run.")
    reason: str | None = Field(None, description="Why it was not executed.")
    retry_after: float | None = Field(None, description="Seconds after which another try may succeed.")


class ConsumedShown(Shown):
    """Answers for the runs of a round, in the order in which they were named or claimed."""

    results: list[ConsumedRunShown]
