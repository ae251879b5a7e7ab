"""Answers of the one-shot calls: what a round of `dispatch` did, and what became of the runs of a `consume`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from workbell.model.run import Status

DISPATCH_LIMIT = 500  # of each kind, in one `dispatch`
MOST_DISPATCHED = 10_000
CONSUMED_RUNS, CONSUME_SECONDS = 20, 50.0  # of one `consume`: a minute is what most hosts give
MOST_CONSUMED = 1000
VERSION = 1  # of a queue's messages


class Dispatched(msgspec.Struct, frozen=True, kw_only=True):
    """What one round of `dispatch` did, in numbers."""

    fired: Annotated[int, Meta(description="Schedules of which ticks were due.")] = 0
    fanned_out: Annotated[int, Meta(description="Events that were given to their triggers and endpoints.")] = 0
    queued: Annotated[int, Meta(description="Runs whose time had come, retries among them.")] = 0
    recovered: Annotated[int, Meta(description="Runs whose worker is gone, and waiting runs that expired.")] = 0
    removed: Annotated[int, Meta(description="Rows of history past their retention.")] = 0
    sent: Annotated[int, Meta(description="Messages to the queue beside the store.")] = 0


class Answer(StrEnum):
    """What whoever sent a run's id does with the message."""

    DONE = "done"  # the run was executed, and what came of it is booked: acknowledge
    IGNORED = "ignored"  # there is nothing to do here: acknowledge
    RETRY = "retry"  # it could not be executed now: send it again, later


class ConsumedRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of a `consume`: the answer, and its status after it."""

    run: Annotated[str, Meta(examples=["0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"])]
    answer: Annotated[
        Answer,
        Meta(description="`done` and `ignored`: acknowledge the message. `retry`: deliver it again."),
    ]
    status: Annotated[Status | None, Meta(description="The status of the run now; none, if there is no such run.")] = (
        None
    )
    reason: Annotated[str | None, Meta(description="Why it was not executed.")] = None
    retry_after: Annotated[float | None, Meta(description="Seconds after which another try may succeed.")] = None


class Consumed(msgspec.Struct, frozen=True):
    """What became of the runs of a `consume`, in the order in which they were asked for, or claimed."""

    results: tuple[ConsumedRun, ...] = ()

    def of(self, answer: Answer) -> list[ConsumedRun]:
        return [one for one in self.results if one.answer is answer]
