"""Claims: runs of chosen lanes are started, each under a lease and a new token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from workbell.model.state import MOVES, Move
from workbell.stores.database import Batch, Database, Dialect, Row, Rows, Statement
from workbell.stores.port import LeaseTerms, Pick
from workbell.stores.rows import STARTED

PICK = ("lane", "rank", "quota", "since")
ALWAYS = "-infinity"
LANE, RANK = STARTED.index("lane"), STARTED.index("rank")
_RULE = MOVES[Move.START]
START = {"from_status": _RULE.sources[0].value, "to_status": _RULE.targets[0].value}


Claiming = Callable[
    [Sequence[Pick], int, LeaseTerms], Batch
]  # the statements that start runs of lanes, no more than so many


def claims(dialect: Dialect, picks: Sequence[Pick], limit: int, terms: LeaseTerms) -> Batch:
    """The statements that claim from these lanes. Their answers are the rows of runs.

    Where one writes at a time there is a statement for each lane, and together they take no more than `limit`: of a
    lane that has fewer runs than it may give, nothing is left to the others.
    """
    values: dict[str, Any] = terms._asdict() | START
    if not dialect.one_writer:
        chosen = [(pick.lane_id, pick.rank, pick.quota, pick.since or ALWAYS) for pick in picks]
        return [Statement("claim", values | {"picks": Rows(PICK, chosen), "limit": limit})]
    return [
        Statement("claim", values | {"lane": pick.lane_id, "rank": pick.rank, "quota": pick.quota})
        for pick in (picks if len(picks) == 1 and picks[0].quota <= limit else _within(picks, limit))
    ]


def claim(database: Database, picks: Sequence[Pick], limit: int, terms: LeaseTerms) -> list[Row]:
    """Claim until there are `limit` runs, or the lanes have no more. Each lane by itself is a whole write, so that
    what one of them has left over can be given to the others by a second."""
    found: list[Row] = []
    waiting = list(picks)
    while waiting and len(found) < limit:
        room = limit - len(found)
        answers = database.write(claims(database.dialect, waiting, room, terms))
        taken = [row for answer in answers for row in answer]
        found += taken
        if not database.dialect.one_writer or len(waiting) == 1:
            break  # one lane has given all that it has, or all that is wanted
        waiting = _left(waiting, room, taken)
    return found


class ChosenRuns:
    """Runs that were asked for by their ids, as picks of their lanes and as the statement that starts them."""

    def __init__(self, ready: Sequence[Row]) -> None:
        """`ready`: the answer of the query of that name."""
        self._ids: dict[tuple[int, int], list[str]] = {}
        for run_id, lane_id, rank in ready:
            self._ids.setdefault((lane_id, rank), []).append(run_id)

    def picks(self) -> list[Pick]:
        return [Pick(lane_id, rank, len(ids)) for (lane_id, rank), ids in self._ids.items()]

    def claims(self, picks: Sequence[Pick], limit: int, terms: LeaseTerms) -> Batch:
        """A `Claiming`: the first runs of each lane and rank, as many as its quota."""
        ids = [run_id for pick in _within(picks, limit) for run_id in self._ids[pick.lane_id, pick.rank][: pick.quota]]
        return [Statement("take", terms._asdict() | START | {"ids": ids})]


def _within(picks: Sequence[Pick], limit: int) -> list[Pick]:
    """The first of these, with quotas that together are no more than the limit."""
    cut = []
    for pick in picks:
        quota = min(pick.quota, limit)
        if quota <= 0:
            break
        cut.append(pick._replace(quota=quota))
        limit -= quota
    return cut


def _left(picks: Sequence[Pick], limit: int, found: Sequence[Row]) -> list[Pick]:
    """The quotas that are left after a claim from the first of these picks."""
    got = Counter((row[LANE], row[RANK]) for row in found)
    asked = {(pick.lane_id, pick.rank): pick.quota for pick in _within(picks, limit)}
    left = []
    for pick in picks:
        lane_rank = (pick.lane_id, pick.rank)
        quota = pick.quota - got[lane_rank]
        if quota > 0 and got[lane_rank] >= asked.get(lane_rank, 0):  # not asked yet, or not for all that it may give
            left.append(pick._replace(quota=quota))
    return left
