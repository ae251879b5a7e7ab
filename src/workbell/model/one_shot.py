"""Answers of the one-shot calls: what a round of `dispatch` did, and what became of the runs of a `consume`."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from workbell.model.run import Status


class Dispatched(msgspec.Struct, frozen=True, kw_only=True):
    """What one round of `dispatch` did, in numbers."""

    fired: int = 0  # schedules of which ticks were due
    fanned_out: int = 0  # events
    queued: int = 0  # runs whose time had come, retries among them
    recovered: int = 0  # runs whose worker is gone, and waiting runs that expired
    removed: int = 0  # rows of history past their retention
    sent: int = 0  # messages to the queue beside the store


class Answer(StrEnum):
    """What whoever sent a run's id does with the message."""

    DONE = "done"  # the run was executed, and what came of it is booked: acknowledge
    IGNORED = "ignored"  # there is nothing to do here: acknowledge
    RETRY = "retry"  # it could not be executed now: send it again, later


class ConsumedRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of a `consume`: the answer, and its status after it."""

    run: str
    answer: Answer
    status: Status | None = None  # none: there is no such run
    reason: str | None = None  # why it was not executed
    retry_after: float | None = None  # seconds: when another try may succeed


class Consumed(msgspec.Struct, frozen=True):
    """What became of the runs of a `consume`, in the order in which they were asked for, or claimed."""

    results: tuple[ConsumedRun, ...] = ()

    def of(self, answer: Answer) -> list[ConsumedRun]:
        return [one for one in self.results if one.answer is answer]
