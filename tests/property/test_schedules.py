"""Random rules, policies, windows and clocks: every tick has exactly one fate, whatever happens (F2, P10, P12).

The decision is driven look by look, as schedulers do it. Looks come late, early, after months, and with a clock that
was put back. Whether a run is live is drawn too, because it depends on workers that may do anything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbell.model.run import NewRun
from workbell.model.run_defaults import Maker
from workbell.model.schedule import (
    CatchUp,
    Overlap,
    Schedule,
    ScheduleChange,
    ScheduleKind,
    ScheduleOptions,
    Tick,
    TickOutcome,
)
from workbell.scheduling.control import begin
from workbell.scheduling.decide import account_for_pending, decide
from workbell.scheduling.request import request_for
from workbell.scheduling.rule import ScheduleRule, rule_of

SOAK = bool(os.environ.get("WORKBELL_SOAK"))

START = datetime(2030, 3, 29, 22, 17, 3, tzinfo=UTC)  # a day before a change of clocks in Europe
BLOCKER = "01890000-0000-7000-8000-00000000000b"  # a run that is in the way
MICROSECOND = timedelta(microseconds=1)
WALK = 3000  # ticks that are also walked one by one
FEW = 4  # rows that a look may write beside those of its runs

EXPRESSIONS = [
    "* * * * * *",
    "*/7 * * * * *",
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "0 9-17 * * MON-FRI",
    "15,45 1-3 * * *",
    "0 3 1 * *",
    "0 0 29 2 *",
]
ZONES = ["UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]
WINDOWS = [None, None, ("02:00", "06:00"), ("22:00", "04:30"), ("00:00", "23:59"), ("12:00", "12:01")]

options = st.fixed_dictionaries(
    {
        "overlap": st.sampled_from(["skip", "queue_one", "allow", "cancel_previous"]),
        "catch_up": st.sampled_from(["latest", "all", "none"]),
        "catch_up_cap": st.sampled_from([1, 2, 5, 20]),
        "outside": st.sampled_from(["defer", "skip"]),
        "jitter": st.sampled_from([0.0, 0.0, 45.0]),
        "window": st.sampled_from(WINDOWS),
    }
)
timings = st.one_of(
    st.tuples(st.just("cron"), st.sampled_from(EXPRESSIONS)),
    st.tuples(
        st.just("interval"),
        st.builds(lambda span: f"{span}s from 2030-03-29T20:00:00Z", st.sampled_from([1, 17, 90, 3600, 90000])),
    ),
    st.tuples(
        st.just("once"),
        st.builds(lambda hours: f"{START + timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}", st.integers(-1, 60)),
    ),
)
# Seconds to the next look: mostly about when it was asked for; sometimes late, long after, or back in time.
ON_TIME = "on time"
steps = st.lists(
    st.tuples(
        st.one_of(
            st.just(ON_TIME),
            st.sampled_from([0.0, 0.3, 1.0, 59.0, 61.0, 600.0, 3600.0, 20_000.0, 86_400.0, 2_700_000.0]),
            st.sampled_from([-1.0, -70.0, -3600.0, -86_400.0]),
        ),
        st.booleans(),
    ),
    max_size=30,
)


def declared(kind: str, expression: str, zone: str, given_options: dict[str, Any]) -> Schedule:
    made = Schedule(
        id="01890000-0000-7000-8000-000000000001",
        name="any",
        job="work",
        kind=ScheduleKind(kind),
        expression=expression,
        timezone=zone,
        options=msgspec.convert(given_options, ScheduleOptions),
        created_at=START,
        updated_at=START,
    )
    return begin(made, START).schedule


@cache
def is_usable(*definition: Any) -> bool:
    """What `declare` would refuse, because no tick ever falls into its window, is not of interest."""
    kind, expression, zone, window, outside = definition
    rule = rule_of(declared(kind, expression, zone, {"window": window, "outside": outside}))
    return outside == "defer" or rule.next_wanted(START) is not None or rule.timing.next(START) is None


def make_run(of: Schedule, due: datetime, now: datetime) -> NewRun:
    return request_for(of, due, now, Maker("host/1/0"))


@given(timings, st.sampled_from(ZONES), options, steps)
def test_every_tick_has_one_fate(
    timing: tuple[str, str], zone: str, given_options: dict[str, Any], looks: list[tuple[Any, bool]]
) -> None:
    assume(is_usable(*timing, zone, given_options["window"], given_options["outside"]))
    now_at, schedule = START, declared(*timing, zone, given_options)
    rule, ledger, made = rule_of(schedule), list[Tick](), list[NewRun]()
    for step, busy in looks:
        now_at = later(now_at, step, schedule)
        change = decide(schedule, rule, now_at, blocker=BLOCKER if busy else None, make_run=make_run)
        check_change(change, schedule, rule, now_at, busy)
        ledger += change.ticks
        made += change.runs
        schedule = msgspec.structs.replace(change.schedule, version=schedule.version + 1)
    check_ledger(ledger, schedule, rule)
    check_runs(ledger, made)
    rest = account_for_pending(schedule, rule, now_at, "paused")
    final = msgspec.structs.replace(
        schedule, held_tick=None, last_scheduled_at=max(now_at, schedule.last_scheduled_at or now_at)
    )
    check_ledger([*ledger, *rest], final, rule)


def later(now: datetime, step: Any, schedule: Schedule) -> datetime:
    if step is not ON_TIME:
        return now + timedelta(seconds=step)
    return now if schedule.look_at is None else max(now, schedule.look_at)


def check_change(change: ScheduleChange, before: Schedule, rule: ScheduleRule, now: datetime, busy: bool) -> None:
    after, policies = change.schedule, before.options
    limit = {CatchUp.LATEST: 1, CatchUp.NONE: 1, CatchUp.ALL: policies.catch_up_cap}[policies.catch_up]
    released = before.held_tick is not None and not busy
    assert len(change.runs) <= limit + released
    assert len(change.ticks) <= (limit if policies.catch_up is CatchUp.ALL else 0) + FEW
    assert after.last_scheduled_at is not None
    assert after.last_scheduled_at >= (before.last_scheduled_at or START), "the schedule never goes back"
    assert after.run_count == before.run_count + len(change.runs)
    if after.held_tick is not None or rule.next_wanted(after.last_scheduled_at) is not None:
        assert after.look_at is not None, "it would never be looked at again"
    if after.look_at is not None:
        assert after.look_at > now
    if busy and policies.overlap in (Overlap.SKIP, Overlap.QUEUE_ONE):
        assert not change.runs
    assert change.cancel_live == (bool(change.runs) and busy and policies.overlap is Overlap.CANCEL_PREVIOUS)
    assert change.only_idle == (bool(change.runs) and not busy and policies.overlap is not Overlap.ALLOW)
    if rule.window is not None:
        for request in change.runs:
            due = request.run.scheduled_for
            assert rule.window.contains(due) or rule.window.contains(max(due, now)), "a run outside the window"


def check_ledger(ledger: Sequence[Tick], schedule: Schedule, rule: ScheduleRule) -> None:
    """Rows do not overlap, begin and end on ticks, count right, and leave out none."""
    upto, timing = schedule.last_scheduled_at, rule.timing
    assert upto is not None
    rows = sorted(ledger, key=lambda tick: tick.due)
    end = START
    for row in rows:
        last = row.until or row.due
        assert end < row.due <= last <= upto, "in two rows, before the declaration, or after the last one"
        assert timing.latest(row.due) == row.due, "not a tick"
        assert timing.latest(last) == last
        assert timing.count(row.due - MICROSECOND, last) == row.count
        assert (row.until is None) == (row.count == 1)
        end = last
    total = sum(row.count for row in rows) + (schedule.held_tick is not None)
    assert total == timing.count(START, upto), "a tick is missing"
    if total <= WALK:
        assert total == len(walk(rule, upto))


def walk(rule: ScheduleRule, upto: datetime) -> list[datetime]:
    found, tick = list[datetime](), rule.timing.next(START)
    while tick is not None and tick <= upto:
        found.append(tick)
        tick = rule.timing.next(tick)
    return found


def check_runs(ledger: Sequence[Tick], made: Sequence[NewRun]) -> None:
    """Each run is of one tick; what stands for others exists."""
    making = {TickOutcome.FIRED, TickOutcome.DEFERRED}
    of_ticks = [tick.run for tick in ledger if tick.outcome in making]
    assert sorted(of_ticks, key=str) == sorted(request.run.id for request in made)
    assert {tick.run for tick in ledger if tick.run is not None} <= {request.run.id for request in made}
    assert all(tick.run is None for tick in ledger if tick.outcome is TickOutcome.SKIPPED)
    assert all(tick.reason for tick in ledger if tick.outcome is not TickOutcome.FIRED)


@settings(max_examples=1000 if SOAK else 30)
@given(
    st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), st.sampled_from(WINDOWS), st.sampled_from(["defer", "skip"])
)
def test_a_preview_is_what_comes(expression: str, zone: str, window: Any, outside: str) -> None:
    """F3: with a scheduler always there and runs that end at once, runs are due when the preview said."""
    assume(is_usable("cron", expression, zone, window, outside))
    schedule = declared("cron", expression, zone, {"window": window, "outside": outside, "overlap": "allow"})
    rule = rule_of(schedule)
    foretold, due = rule.runs(START), list[datetime]()
    for _ in range(40):
        if schedule.look_at is None:
            break
        change = decide(schedule, rule, schedule.look_at, blocker=None, make_run=make_run)
        due += [request.run.scheduled_for for request in change.runs]
        schedule = change.schedule
    assert due == [next(foretold) for _ in due]
