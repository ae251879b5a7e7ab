"""Statements of a claim under limits: counts before it, its guards, and the starts it notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from workbell.model.limit import ALL_JOBS, Limit, Use
from workbell.model.rate import Rate, Starts
from workbell.stores.allotment import count_by_limit
from workbell.stores.database import Rows, Statement
from workbell.stores.port import LeaseTerms, LimitsOfLanes, Pick

NO_STARTS = "[]"
COUNTED = "id kind tenant job key most".split()
NOTED = "id lane before tenant job key head tail base".split()

_starts = msgspec.json.Decoder(list[tuple[int, int]])


# What is counted


def running(most: Mapping[Limit, int]) -> list[Statement]:
    """Statement that counts running runs under limits with a concurrency; answers those with at most `most`."""
    values = [(o.id, _kind(o), o.tenant, o.job, o.key, most[o]) for o in most if o.concurrency is not None]
    return [Statement("running_within", {"rows": Rows(COUNTED, values)})] if values else []


def _kind(limit: Limit) -> str:
    if limit.job == ALL_JOBS:
        return "tenant"
    if limit.keyed:
        return "key" if limit.key is not None else "no key"  # runs from before the job had its key
    return "scattered" if limit.scattered else "job"


def uses(limits: Mapping[int, Limit], starts: Mapping[int, str], running: Mapping[int, int]) -> dict[int, Use]:
    return {limit_id: Use(running.get(limit_id, 0), _read(starts.get(limit_id, NO_STARTS))) for limit_id in limits}


def _read(starts: str) -> Starts:
    """What is noted of starts. Garbage is forgotten, and the next claim overwrites it: else nobody could claim."""
    try:
        return _starts.decode(starts)
    except msgspec.DecodeError:
        return []


def queued(picks: Sequence[Pick], limit: int, terms: LeaseTerms) -> Statement:
    """Statement that counts the queued runs of picks, up to their quotas."""
    lane_ranks = Rows(("lane", "rank"), [(pick.lane_id, pick.rank) for pick in picks])
    most = max(min(pick.quota, limit) for pick in picks)
    return Statement("queued_runs", {"rows": lane_ranks, "most": most, "now": terms.now})


def started_now(limits: LimitsOfLanes, terms: LeaseTerms) -> list[Statement]:
    """Statement that counts runs that an earlier claim of the worker started at this very moment, under rates."""
    pairs = [(limit.id, lane_id) for limit, lanes in _timed(limits).items() for lane_id in lanes]
    values = {"rows": Rows(("id", "lane"), pairs), "worker": terms.worker, "now": terms.now}
    return [Statement("started_now", values)] if pairs else []


def _timed(limits: LimitsOfLanes) -> dict[Limit, list[int]]:
    """Limits with a rate, and their lanes among these."""
    found: dict[Limit, list[int]] = {}
    for lane_id, listed in limits.items():
        for limit in listed:
            if limit.rate is not None:
                found.setdefault(limit, []).append(lane_id)
    return found


# What is written


def adding(limits: Sequence[Limit], now: datetime) -> Statement:
    values = [(limit.id, limit.tenant, limit.job, limit.key) for limit in limits]
    return Statement("add_limits", {"rows": Rows(("id", "tenant", "job", "key"), values), "now": now})


def guards(
    granted: Sequence[Pick],
    limits: LimitsOfLanes,
    starts: Mapping[int, str],
    started: Mapping[int, int],
    terms: LeaseTerms,
) -> list[Statement]:
    """That nobody else holds these limits, that their starts are as they were seen, and that there is still room."""
    every = {limit.id: limit for listed in limits.values() for limit in listed}
    if not every:
        return []
    seen = [(limit_id, starts[limit_id]) for limit_id in sorted(every)]
    batch = [Statement("hold_limits", {"rows": Rows(("id", "starts"), seen)}, exactly=len(seen))]
    taken = count_by_limit(granted, limits)
    room = {o: o.concurrency - taken[o.id] for o in every.values() if o.concurrency is not None}
    batch += [counting._replace(exactly=len(room)) for counting in running(room)]
    # Where there were none, there can only be more now, and to note too many starts does no harm.
    again = {limit: lanes for limit, lanes in _timed(limits).items() if started.get(limit.id)}
    if again:
        pairs = [(limit.id, lane_id, started[limit.id]) for limit, lanes in again.items() for lane_id in lanes]
        values = {"rows": Rows(("id", "lane", "before"), pairs), "worker": terms.worker, "now": terms.now}
        batch.append(Statement("as_many_started", values, exactly=len(again)))
    return batch


def noting(
    limits: LimitsOfLanes, uses: Mapping[int, Use], started: Mapping[int, int], terms: LeaseTerms
) -> list[Statement]:
    """Remember the starts of this claim; the statement counts them."""
    rows: list[tuple[object, ...]] = []
    for limit, lanes in _timed(limits).items():
        if limit.rate is not None:
            head, base, tail = _around_count(limit.rate, uses[limit.id].starts, terms.now)
            before = started.get(limit.id, 0)
            rows.append((limit.id, lanes[0], before, limit.tenant, limit.job, limit.key, head, tail, base))
            rows += [(limit.id, lane_id, 0, "", "", None, "", "", 0) for lane_id in lanes[1:]]
    values = {"rows": Rows(NOTED, rows), "worker": terms.worker, "now": terms.now}
    return [Statement("note_starts", values)] if rows else []


def _around_count(rate: Rate, starts: Starts, now: datetime) -> tuple[str, int, str]:
    """The text of the starts to be remembered, before and after the number of those that are made now; and how many
    are at the same time already."""
    without = dict(rate.with_starts(starts, now, 0))
    (at,) = [at for at, count in rate.with_starts(starts, now, 1) if count != without[at]]
    marked = [(time, -1 if time == at else count) for time, count in without.items()]
    head, _, tail = msgspec.json.encode(marked).decode().partition("-1")
    return head, without[at], tail
