"""A run with any number of attempts, as one has whose handler asks to be called later."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from workbell import Run, Workbell
from workbell.model.ids import new_id
from workbell.model.run import Attempt, AttemptStatus
from workbell.stores.store_page import StorePage


def with_attempts(bell: Workbell, ended: Run, count: int) -> Run:
    """A copy of a finished run, of which the attempt that ended it is the last of so many."""
    run = msgspec.structs.replace(ended, id=new_id(), attempt=count)
    at = [run.created_at + timedelta(seconds=number) for number in range(count + 1)]
    earlier = [
        Attempt(run.id, number, AttemptStatus.SNOOZED, at[number], at[number], "worker") for number in range(1, count)
    ]
    bell.store.load(StorePage(lanes=[run.lane], runs=[run], attempts=earlier))
    return run
