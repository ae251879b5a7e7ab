"""What becomes of due ticks: every policy in every situation (D5, E2, F2, F3, A5, P12)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.scheduling.making import Fate, Story, at, make_run, schedule, show
from workbell.model.run import Status
from workbell.model.schedule import FireStatus, Schedule
from workbell.scheduling.decide import HELD_TICK_CHECK, account_for_pending
from workbell.scheduling.failing import decide_broken, decide_failed
from workbell.scheduling.rule import rule_of
from workbell.timing import jitter

replace = msgspec.structs.replace
HOURLY, LATE = "0 * * * *", "05:00:40"


# Catch-up: what was due at 1, 2, 3, 4 and 5 o'clock, seen at once.
CATCH_UP: list[tuple[dict[str, Any], str, list[Fate], int]] = [
    ({}, "01:00:30", [("fired", "01:00", 1)], 1),
    ({}, LATE, [("fired", "05:00", 1), ("coalesced", "01:00–04:00", 4)], 1),
    ({}, "05:59", [("fired", "05:00", 1), ("coalesced", "01:00–04:00", 4)], 1),
    ({}, "02:00", [("fired", "02:00", 1), ("coalesced", "01:00", 1)], 1),
    ({"catch_up": "none"}, "01:01", [("fired", "01:00", 1)], 1),
    ({"catch_up": "none"}, "01:01:00.000001", [("skipped", "01:00", 1)], 0),
    ({"catch_up": "none"}, LATE, [("skipped", "01:00–04:00", 4), ("fired", "05:00", 1)], 1),
    ({"catch_up": "none"}, "05:59", [("skipped", "01:00–05:00", 5)], 0),
    ({"catch_up": "all"}, "03:30", [("fired", f"0{hour}:00", 1) for hour in (1, 2, 3)], 3),
    (
        {"catch_up": "all", "catch_up_cap": 2},
        LATE,
        [("skipped", "01:00–03:00", 3), ("fired", "04:00", 1), ("fired", "05:00", 1)],
        2,
    ),
    ({"catch_up": "all", "catch_up_cap": 1}, LATE, [("skipped", "01:00–04:00", 4), ("fired", "05:00", 1)], 1),
    # Each would cancel the one before it: one is enough.
    (
        {"catch_up": "all", "overlap": "cancel_previous"},
        LATE,
        [("fired", "05:00", 1), ("coalesced", "01:00–04:00", 4)],
        1,
    ),
    ({"catch_up": "all", "overlap": "allow"}, "02:30", [("fired", "01:00", 1), ("fired", "02:00", 1)], 2),
]


@pytest.mark.parametrize(("options", "when", "fates", "runs"), CATCH_UP)
def test_catch_up(options: dict[str, Any], when: str, fates: list[Fate], runs: int) -> None:
    story = Story(schedule(HOURLY, **options))
    assert story.look(at(when)) == fates
    assert len(story.runs) == runs
    now = story.now
    latest = max(tick.until or tick.due for tick in story.ledger)
    assert (now.last_scheduled_at, now.run_count) == (latest, runs)
    assert now.look_at == now.next_run_at == latest + timedelta(hours=1)
    assert now.last_fire_status is (FireStatus.FIRED if runs else FireStatus.SKIPPED)
    assert now.last_run_id == (story.runs[-1].run.id if runs else None)
    assert (now.last_fire_at, now.last_run_at) == (at(when), at(when) if runs else None)
    of_runs = [tick.run for tick in story.ledger if tick.outcome == "fired"]
    assert of_runs == [request.run.id for request in story.runs]
    assert all(tick.run == now.last_run_id for tick in story.ledger if tick.outcome == "coalesced")
    assert all(tick.reason for tick in story.ledger if tick.outcome != "fired")


def test_a_run_is_stamped() -> None:
    """D5: job, schedule, the time it was due, and its settings."""
    options = {"input": '{"to":"a"}', "queue": "mail", "priority": 5, "timeout": 3.0, "target": "machine"}
    story = Story(replace(schedule(**options), tenant="acme"))
    story.look(at("01:00:20"))
    run = story.runs[0].run
    assert (run.job, run.schedule, run.tenant, run.queue) == ("work", story.now.id, "acme", "mail")
    assert (run.scheduled_for, run.created_at) == (at("01:00"), at("01:00:20"))
    assert (run.input, run.rank, run.target, run.options.timeout) == ({"to": "a"}, -5, "machine", 3.0)
    assert run.status is Status.QUEUED


def test_a_look_too_early_changes_nothing() -> None:
    story = Story(schedule())
    assert story.look(at("00:59")) == []
    assert (story.now.look_at, story.now.last_fire_status, story.now.run_count) == (at("01:00"), None, 0)


# Overlap: a run of an earlier tick lives. The options, what becomes of the tick, and is one held?
OVERLAP: list[tuple[dict[str, Any], str, list[Fate], bool]] = [
    ({}, "01:00", [("skipped", "01:00", 1)], False),
    ({}, "03:00", [("skipped", "03:00", 1), ("skipped", "01:00–02:00", 2)], False),
    ({"catch_up": "all"}, "02:00", [("skipped", "01:00", 1), ("skipped", "02:00", 1)], False),
    ({"overlap": "queue_one"}, "01:00", [], True),
    ({"overlap": "queue_one"}, "03:00", [("coalesced", "01:00–02:00", 2)], True),
    ({"overlap": "queue_one", "catch_up": "all"}, "02:00", [("skipped", "02:00", 1)], True),
    ({"overlap": "allow"}, "01:00", [("fired", "01:00", 1)], False),
    ({"overlap": "cancel_previous"}, "01:00", [("fired", "01:00", 1)], False),
]


@pytest.mark.parametrize(("options", "when", "fates", "held"), OVERLAP)
def test_overlap(options: dict[str, Any], when: str, fates: list[Fate], held: bool) -> None:
    story = Story(schedule(HOURLY, **options))
    assert story.look(at(when), busy=True) == fates
    assert story.last is not None
    assert (story.now.held_tick is not None) is held
    assert story.last.cancel_live is (options.get("overlap") == "cancel_previous")
    assert not story.last.only_idle, "it was found busy, and decided so"
    if held:
        assert story.now.look_at == at(when) + HELD_TICK_CHECK
        assert all(tick.run is None for tick in story.ledger), "the run that stands for them is not made yet"


@pytest.mark.parametrize(("overlap", "guarded"), [("skip", 1), ("queue_one", 1), ("allow", 0), ("cancel_previous", 1)])
def test_a_run_is_made_under_the_overlap_guard(overlap: str, guarded: bool) -> None:
    """Found idle: the write must test it again, unless runs may overlap."""
    story = Story(schedule(overlap=overlap))
    story.look(at("01:00"))
    assert story.last is not None
    assert (story.last.only_idle, story.last.cancel_live) == (bool(guarded), False)


class TestHeld:
    """`queue_one`: a tick waits until the run before it has ended."""

    def held(self, **options: Any) -> Story:
        story = Story(schedule(HOURLY, overlap="queue_one", **options))
        story.look(at("01:00"))
        assert story.look(at("02:00"), busy=True) == []
        return story

    def test_it_goes_when_the_run_has_ended(self) -> None:
        story = self.held()
        assert story.look(at("02:00:01"), busy=True) == []
        assert story.look(at("02:10"), busy=False) == [("deferred", "02:00", 1)]
        assert (story.due, story.now.held_tick, story.now.look_at) == (["02:00"], None, at("03:00"))
        assert story.ledger[-1].run == story.now.last_run_id == story.runs[-1].run.id
        assert story.last is not None
        assert story.last.only_idle

    def test_others_do_not_wait_too(self) -> None:
        story = self.held()
        assert story.look(at("03:00"), busy=True) == [("skipped", "03:00", 1)]
        assert story.look(at("06:00"), busy=True) == [("skipped", "06:00", 1), ("skipped", "04:00–05:00", 2)]
        assert story.reasons == ["another tick is waiting already", "missed, and so was the newest tick"]
        assert story.look(at("06:30")) == [("deferred", "02:00", 1)]

    def test_it_goes_and_the_next_one_waits(self) -> None:
        story = self.held()
        assert story.look(at("03:00")) == [("deferred", "02:00", 1)]
        assert (show(story.now.held_tick), len(story.runs)) == ("03:00", 2)

    def test_it_goes_and_the_newest_of_many_waits(self) -> None:
        story = self.held()
        assert story.look(at("05:30")) == [("deferred", "02:00", 1), ("coalesced", "03:00–04:00", 2)]
        assert show(story.now.held_tick) == "05:00"
        assert story.ledger[-1].run is None, "the run of the held tick is of another one"

    def test_a_single_tick_may_be_held(self) -> None:
        story = Story(schedule("2030-01-07T02:00:00Z", overlap="queue_one"))
        assert story.look(at("02:00"), busy=True) == []
        assert story.now.look_at == at("02:00:01")
        assert story.look(at("04:00")) == [("deferred", "02:00", 1)]
        assert story.now.look_at is None

    def test_it_is_deferred_if_the_window_has_closed(self) -> None:
        """E2: runs start between these times, whatever they have waited for."""
        story = self.held(window=("01:00", "02:30"))
        assert story.look(at("02:40")) == [("deferred", "02:00", 1)]
        assert (story.due, show(story.now.deferred_until)) == (["1d 01:00"], "1d 01:00")

    def test_it_is_skipped_if_the_window_has_closed(self) -> None:
        story = self.held(window=("01:00", "02:30"), outside="skip")
        assert story.look(at("02:40")) == [("skipped", "02:00", 1)]
        assert (story.due, story.now.held_tick, show(story.now.look_at)) == ([], None, "1d 01:00")


class TestWindow:
    """E2: a tick outside is moved to the next opening, once, or skipped."""

    def test_inside(self) -> None:
        story = Story(schedule(HOURLY, window=("00:00", "02:00")))
        assert story.look(at("01:00")) == [("fired", "01:00", 1)]
        assert (story.due, show(story.now.next_run_at), show(story.now.look_at)) == (["01:00"], "1d 00:00", "02:00")

    def test_deferred_once_and_not_piled_up(self) -> None:
        story = Story(schedule(HOURLY, window=("06:00", "08:00"), overlap="allow"))
        assert story.look(at("01:00")) == [("deferred", "01:00", 1)]
        assert story.due == ["06:00"]
        assert story.runs[0].run.status is Status.SCHEDULED
        assert (show(story.now.next_run_at), show(story.now.look_at)) == ("06:00", "07:00")
        assert story.look(at("07:00")) == [("coalesced", "02:00–06:00", 5), ("fired", "07:00", 1)]
        assert story.ledger[-2].run == story.runs[0].run.id
        assert len(story.runs) == 2

    def test_the_status_says_deferred_until_a_tick_fires(self) -> None:
        """Nothing has run yet: the run of the tick is due when the window opens."""
        story = Story(schedule(HOURLY, window=("06:00", "08:00"), overlap="allow"))
        story.look(at("01:00"))
        assert story.now.last_fire_status is FireStatus.DEFERRED
        assert story.now.last_status == "deferred"
        story.look(at("03:30"))
        assert story.now.last_fire_status is FireStatus.DEFERRED, "its ticks were coalesced into the deferred run"
        story.look(at("07:00"))
        assert story.now.last_fire_status is FireStatus.FIRED

    def test_the_status_of_a_held_tick_that_goes(self) -> None:
        """`queue_one`: its run is due now, so it has fired; with a closed window the run is due at the opening."""
        for options, status in (({}, FireStatus.FIRED), ({"window": ("01:00", "02:30")}, FireStatus.DEFERRED)):
            story = Story(schedule(HOURLY, overlap="queue_one", **options))
            story.look(at("02:00"), busy=True)
            story.look(at("02:45"))
            assert (story.ledger[-1].outcome, story.now.last_fire_status) == ("deferred", status)

    def test_a_look_in_between_is_part_of_the_same(self) -> None:
        story = Story(schedule(HOURLY, window=("06:00", "08:00"), overlap="allow"))
        story.look(at("01:00"))
        assert story.look(at("03:30")) == [("coalesced", "02:00–03:00", 2)]
        assert story.look(at("07:00")) == [("coalesced", "04:00–06:00", 3), ("fired", "07:00", 1)]
        assert [tick.run for tick in story.ledger[:3]] == [story.runs[0].run.id] * 3

    def test_the_scheduler_is_back_while_the_window_is_open(self) -> None:
        story = Story(schedule("0 1 * * *", window=("06:00", "08:00")))
        assert story.look(at("07:00")) == [("fired", "01:00", 1)]
        assert story.runs[0].run.status is Status.QUEUED

    def test_the_scheduler_is_back_after_the_window(self) -> None:
        story = Story(schedule("0 7 * * *", window=("06:00", "08:00")))
        assert story.look(at("09:00")) == [("deferred", "07:00", 1)]
        assert story.due == ["1d 06:00"]
        assert story.look(at("07:00", 1), busy=True) == [("skipped", "1d 07:00", 1)]

    def test_a_short_delay_does_not_count_as_late(self) -> None:
        story = Story(schedule("59 7 * * *", window=("06:00", "08:00")))
        assert story.look(at("08:00")) == [("fired", "07:59", 1)]

    def test_all_that_was_missed_is_deferred_into_one(self) -> None:
        story = Story(schedule(HOURLY, window=("06:00", "08:00"), catch_up="all"))
        fates = story.look(at("03:30"))
        assert fates == [("deferred", "01:00", 1), ("coalesced", "02:00", 1), ("coalesced", "03:00", 1)]
        assert story.due == ["06:00"]

    def test_skipped(self) -> None:
        story = Story(schedule(HOURLY, window=("06:00", "08:00"), outside="skip"))
        assert (show(story.now.look_at), show(story.now.next_run_at)) == ("06:00", "06:00")
        assert story.look(at("06:00")) == [("skipped", "01:00–05:00", 5), ("fired", "06:00", 1)]
        assert story.look(at("07:00")) == [("fired", "07:00", 1)]
        assert show(story.now.look_at) == "1d 06:00"
        assert len(story.runs) == 2

    def test_skipped_though_the_scheduler_is_late(self) -> None:
        story = Story(schedule("0 1 * * *", window=("06:00", "08:00"), outside="skip"))
        assert story.look(at("07:00")) == [("skipped", "01:00", 1)]
        assert story.due == []

    def test_what_is_outside_is_not_made_up_for(self) -> None:
        """`all` makes up for ticks inside the window, not for those that were to be skipped."""
        story = Story(schedule(HOURLY, window=("06:00", "08:00"), outside="skip", catch_up="all"))
        fates = story.look(at("06:30", 1))
        assert [fate for fate in fates if fate[0] == "fired"] == [
            ("fired", "06:00", 1),
            ("fired", "07:00", 1),
            ("fired", "1d 06:00", 1),
        ]
        assert sum(count for _, _, count in fates) == 30

    def test_missed_inside_and_seen_outside(self) -> None:
        story = Story(schedule("0 7 * * *", window=("06:00", "08:00"), outside="skip"))
        assert story.look(at("09:00")) == [("skipped", "07:00", 1)]

    def test_across_midnight(self) -> None:
        story = Story(schedule(HOURLY, window=("23:00", "02:00")))
        assert story.look(at("01:00")) == [("fired", "01:00", 1)]
        assert story.look(at("02:00")) == [("deferred", "02:00", 1)]
        assert story.due == ["23:00"]

    def test_in_the_zone_of_the_schedule(self) -> None:
        story = Story(schedule(HOURLY, window=("06:00", "08:00"), timezone="Asia/Tokyo"))
        assert story.look(at("01:00")) == [("deferred", "01:00", 1)]
        assert story.due == ["21:00"]

    def test_busy_and_outside(self) -> None:
        story = Story(schedule(HOURLY, window=("06:00", "08:00")))
        assert story.look(at("01:00"), busy=True) == [("skipped", "01:00", 1)]
        assert story.now.deferred_until is None


class TestOnce:
    def test_it_fires_once(self) -> None:
        story = Story(schedule("2030-01-07T02:00:00Z"))
        assert story.look(at("02:00")) == [("fired", "02:00", 1)]
        assert (story.now.look_at, story.now.next_run_at) == (None, None)
        assert story.look(at("02:00", 3)) == []

    @pytest.mark.parametrize(("catch_up", "outcome"), [("latest", "fired"), ("all", "fired"), ("none", "skipped")])
    def test_it_was_missed(self, catch_up: str, outcome: str) -> None:
        story = Story(schedule("2030-01-07T02:00:00Z", catch_up=catch_up))
        assert story.look(at("09:00")) == [(outcome, "02:00", 1)]

    def test_declared_too_late_it_never_fires(self) -> None:
        story = Story(schedule("2030-01-07T00:10:00Z"))
        assert (story.now.look_at, story.now.next_run_at) == (None, None)


class TestClock:
    """P10, P13: a tick that is accounted for is never due again, however the clock is set."""

    def test_back_across_ticks(self) -> None:
        story = Story(schedule(HOURLY))
        story.look(at("05:00"))
        for when in ("04:00", "03:59", "01:00", "05:00", "05:30"):
            assert story.look(at(when)) == []
            assert story.now.look_at == at("06:00")
        assert story.look(at("06:00")) == [("fired", "06:00", 1)]

    def test_forward_a_day_and_back(self) -> None:
        story = Story(schedule(HOURLY))
        assert story.look(at("01:00", 1)) == [("fired", "1d 01:00", 1), ("coalesced", "01:00–1d 00:00", 24)]
        assert story.look(at("02:00")) == []
        assert story.look(at("02:00", 1)) == [("fired", "1d 02:00", 1)]

    def test_back_before_a_deferred_opening(self) -> None:
        story = Story(schedule(HOURLY, window=("06:00", "08:00")))
        story.look(at("01:00"))
        story.look(at("07:00"))
        assert story.look(at("01:30")) == []
        assert story.look(at("08:00"), busy=True) == [("skipped", "08:00", 1)]


# The night of 31 March 2030 has no 02:30 in Paris, that of 27 October has it twice. (Monday, the 7th, is day 0.)
def test_daylight_saving() -> None:
    spring, autumn = 83, 293
    fixed = schedule("30 2 * * *", timezone="Europe/Paris")
    story = Story(replace(fixed, last_scheduled_at=at("12:00", spring - 1)))
    assert story.look(at("12:00", spring)) == [("fired", f"{spring}d 01:00", 1)]
    story = Story(replace(fixed, last_scheduled_at=at("12:00", autumn - 1)))
    assert story.look(at("12:00", autumn)) == [("fired", f"{autumn}d 00:30", 1)]
    real = Story(replace(schedule("30 * * * *", timezone="Europe/Paris"), last_scheduled_at=at("00:00", autumn)))
    assert real.look(at("02:00", autumn)) == [("fired", f"{autumn}d 01:30", 1), ("coalesced", f"{autumn}d 00:30", 1)]


def test_jitter_is_the_same_for_the_same_tick() -> None:
    first, second = (Story(schedule(HOURLY, jitter=600.0)) for _ in range(2))
    for story in (first, second):
        assert story.look(at("01:00")) == [("fired", "01:00", 1)]
    due = first.runs[0].run.scheduled_for
    assert due == second.runs[0].run.scheduled_for == at("01:00") + jitter(first.now.id, at("01:00"), 600.0)
    assert at("01:00") < due < at("01:10")
    assert first.runs[0].run.status is Status.SCHEDULED


def test_jitter_does_not_carry_a_run_out_of_the_window() -> None:
    story = Story(schedule("55 1 * * *", window=("01:00", "02:00"), jitter=86_000.0))
    assert story.look(at("01:55")) == [("fired", "01:55", 1)]
    assert story.due == ["01:55"]


def test_a_month_without_a_scheduler_is_a_handful_of_rows() -> None:
    """P12: a per-second schedule."""
    month = at("00:30", 30)
    numbers = {"latest": 1, "all": 100, "none": 1}
    for policy, runs in numbers.items():
        story = Story(schedule("* * * * * *", catch_up=policy))
        fates = story.look(month)
        assert sum(count for _, _, count in fates) == 30 * 86_400
        assert len(story.runs) == runs
        assert len(fates) - runs == 1
        assert story.now.look_at == month + timedelta(seconds=1)


class TestPending:
    """What is not in the ledger yet is accounted for when a schedule is paused, changed or switched off."""

    def test_span_and_held_tick(self) -> None:
        story = Story(schedule(HOURLY, overlap="queue_one"))
        story.look(at("01:00"), busy=True)
        rows = account_for_pending(story.now, rule_of(story.now), at("04:30"), "paused")
        assert [(show(tick.due), show(tick.until), tick.count) for tick in rows] == [
            ("01:00", None, 1),
            ("02:00", "04:00", 3),
        ]
        assert {tick.reason for tick in rows} == {"paused"}

    def test_one_tick(self) -> None:
        now = schedule(HOURLY)
        rows = account_for_pending(now, rule_of(now), at("01:30"), "paused")
        assert [(show(tick.due), tick.until, tick.count, tick.outcome) for tick in rows] == [
            ("01:00", None, 1, "skipped")
        ]

    def test_nothing_is_pending(self) -> None:
        now = schedule(HOURLY)
        assert account_for_pending(now, rule_of(now), at("00:59"), "paused") == ()
        assert account_for_pending(now, rule_of(now), at("00:10"), "paused") == ()


class TestFailures:
    """E5: recorded, and the schedule goes on."""

    def test_broken(self) -> None:
        now = schedule()
        change = decide_broken(now, at("01:00"), "no good")
        after: Schedule = change.schedule
        assert (after.last_fire_status, after.last_error, after.failure_count) == ("scheduler_failed", "no good", 1)
        assert (after.look_at, after.next_run_at, after.last_scheduled_at) == (at("02:00"), None, at("00:30"))
        assert (change.ticks, change.runs) == ((), ())

    def test_failed(self) -> None:
        story = Story(schedule(HOURLY))
        before = story.now
        story.look(at("03:00"))
        assert story.last is not None
        failed = decide_failed(story.last, before, at("03:00"), "refused")
        assert [tick.outcome for tick in failed.ticks] == ["skipped", "skipped"]
        assert sum(tick.count for tick in failed.ticks) == 3
        assert all(tick.run is None and "refused" in (tick.reason or "") for tick in failed.ticks)
        after = failed.schedule
        assert (failed.runs, failed.expected) == ((), before.version)
        assert (after.last_run_id, after.run_count, after.failure_count) == (None, 0, 1)
        assert (after.look_at, after.last_scheduled_at) == (at("04:00"), at("03:00"))
        assert (after.last_fire_status, after.last_error) == ("scheduler_failed", "refused")

    def test_a_good_look_clears_the_error(self) -> None:
        story = Story(replace(schedule(), last_error="old"))
        story.look(at("01:00"))
        assert story.now.last_error is None


def test_runs_are_made_once_for_each_request() -> None:
    made = [make_run(schedule(), at("01:00"), at("01:00")).run.id for _ in range(2)]
    assert len(set(made)) == 2
