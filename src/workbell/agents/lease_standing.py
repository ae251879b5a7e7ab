"""State of an agent's lease on a run: held, settled (the outcome is written), or lost.

The answer to a report can get lost after the report was written. A repeated report must not be taken for a late one:
the first finds its attempt ended by the same session, the second finds it lost, or another's.
"""

from __future__ import annotations

from enum import Enum

from workbell.model.run import Attempt, AttemptStatus, Run, Status, last_attempt
from workbell.model.state import CRASHED
from workbell.stores.port import MOST_ATTEMPTS, Store, newest_attempts

UNSETTLED = (AttemptStatus.LOST, AttemptStatus.RUNNING)


class LeaseStanding(Enum):
    HELD = "held"
    SETTLED = "settled"  # its earlier report is written
    LOST = "lost"


def lease_standing(store: Store, run: Run, worker: str, token: int) -> LeaseStanding:
    """Standing of the lease with this token, for this worker."""
    if run.token == token and run.status is Status.RUNNING:
        return LeaseStanding.HELD if run.worker == worker else LeaseStanding.LOST
    ended = _attempt_under(store, run, token)
    if ended is None or ended.worker != worker or ended.status in UNSETTLED:
        return LeaseStanding.LOST
    return LeaseStanding.SETTLED


def _attempt_under(store: Store, run: Run, token: int) -> Attempt | None:
    """The ended attempt that had this token, which its row keeps, or the run. Attempts that were imported have 0."""
    if token == 0:
        return None
    attempts = newest_attempts(store, run)
    earlier = next((one for one in attempts if one.token == token), None)
    if earlier is not None:
        return earlier
    last = last_attempt(run)
    if last is None or last.token != token or (run.status is Status.FAILED and run.reason == CRASHED):
        return None  # quarantined: then it was lost as well
    lost = sum(one.status is AttemptStatus.LOST for one in attempts)
    if run.status is Status.CANCELED and run.losses > lost and run.attempt <= MOST_ATTEMPTS:
        return None  # a cancel was asked for when it was lost
    return last
