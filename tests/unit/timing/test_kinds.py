"""Intervals, single ticks, windows and zones: reading them, and what they refuse (D2, E2)."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from workbell.errors import JobsError
from workbell.timing.cron import Cron
from workbell.timing.interval import Interval
from workbell.timing.once import Once
from workbell.timing.timing import read_timing
from workbell.timing.window import Window, find_next_inside
from workbell.timing.zones import resolve_timezone

ANCHOR = datetime(2026, 11, 16, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_an_interval_has_no_ticks_before_its_anchor_and_does_not_drift() -> None:
    interval = Interval(timedelta(minutes=7), ANCHOR)
    assert interval.next(ANCHOR - timedelta(days=400)) == ANCHOR
    assert interval.latest(ANCHOR - timedelta(seconds=1)) is None
    assert interval.next(ANCHOR) == ANCHOR + timedelta(minutes=7)
    assert interval.latest(ANCHOR + timedelta(minutes=13)) == ANCHOR + timedelta(minutes=7)
    assert interval.next(ANCHOR + timedelta(minutes=7, seconds=1)) == ANCHOR + timedelta(minutes=14)


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("5m", timedelta(minutes=5)),
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("2D", timedelta(days=2)),
        ("1d2h3m4.5s", timedelta(days=1, hours=2, minutes=3, seconds=4, microseconds=500_000)),
    ],
)
def test_texts_of_intervals(text: str, every: timedelta) -> None:
    assert Interval.parse(f"{text} from 2026-11-16T01:00:00+01:00") == Interval(every, ANCHOR)


def test_an_interval_is_written_in_its_shortest_form() -> None:
    assert str(Interval(timedelta(seconds=5400), ANCHOR)) == "1h30m from 2026-11-16T00:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "", "5m", "5 from 2026-11-16T00:00:00Z", "m from 2026-11-16T00:00:00Z", "5m since 2026-11-16T00:00:00Z",
        "0s from 2026-11-16T00:00:00Z", "0.5s from 2026-11-16T00:00:00Z", "36526d from 2026-11-16T00:00:00Z",
        "999999999d from 2026-11-16T00:00:00Z", "-5m from 2026-11-16T00:00:00Z", "٥m from 2026-11-16T00:00:00Z",
        "5m from 2026-11-16T00:00:00", "5m from 2026-11-16", "5m from 2026-02-30T00:00:00Z",
        "5m from 0001-01-01T00:00:00Z",
        "5m from 2026-W47-1T00:00:00Z", "5m" + "0" * 200,
    ],
)  # fmt: skip
def test_intervals_that_are_refused(text: str) -> None:
    with pytest.raises(JobsError, match=r"^interval .*(write|choose|give)"):
        Interval.parse(text)


def test_an_interval_needs_a_span_and_an_instant() -> None:
    with pytest.raises(JobsError, match="choose a timedelta"):
        Interval(timedelta(milliseconds=999), ANCHOR)
    with pytest.raises(JobsError, match="no time zone"):
        Interval(timedelta(seconds=1), datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(JobsError, match="choose a timedelta"):
        Interval(5, ANCHOR)  # type: ignore[arg-type]


def test_once_knows_both_passes_of_a_repeated_hour() -> None:
    place = ZoneInfo("Europe/Paris")
    first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=place, fold=fold) for fold in (0, 1))
    once = Once(second)
    assert once.next(first) == second.astimezone(UTC)
    assert once.next(second) is None
    assert str(once) == "2026-10-25T01:30:00Z"


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-11-16", "2026-11-16T09:00:00", "2026-11-16T09:60:00Z", "20261116T090000Z"]
)
def test_single_ticks_that_are_refused(text: str) -> None:
    with pytest.raises(JobsError, match=r"^once: .*RFC 3339"):
        Once.parse(text)


def test_kinds_are_read() -> None:
    assert read_timing("cron", "0 3 * * *", "Europe/Paris") == Cron("0 3 * * *", "Europe/Paris")
    assert read_timing("interval", "5m from 2026-11-16T00:00:00Z", "UTC") == Interval(timedelta(minutes=5), ANCHOR)
    assert read_timing("once", "2026-11-16T00:00:00Z", "UTC") == Once(ANCHOR)
    with pytest.raises(JobsError, match="choose once, interval or cron"):
        read_timing("yearly", "", "UTC")
    with pytest.raises(JobsError, match="time zone"):
        read_timing("once", "2026-11-16T00:00:00Z", "Nowhere")


@pytest.mark.parametrize(
    ("start", "end", "zone", "after", "opening"),
    [
        ("02:00", "06:00", "UTC", "2026-01-01T01:59:59", "2026-01-01T02:00"),
        ("02:00", "06:00", "UTC", "2026-01-01T02:00", "2026-01-01T02:00"),
        ("02:00", "06:00", "UTC", "2026-01-01T05:59:59.999999", "2026-01-01T05:59:59.999999"),
        ("02:00", "06:00", "UTC", "2026-01-01T06:00", "2026-01-02T02:00"),
        ("22:00", "06:00", "UTC", "2026-01-01T00:00", "2026-01-01T00:00"),
        ("22:00", "06:00", "UTC", "2026-01-01T06:00", "2026-01-01T22:00"),
        ("02:30", "06:00", "Europe/Paris", "2026-03-29T00:00", "2026-03-29T01:00"),  # the start is skipped
        ("02:00", "02:30", "Europe/Paris", "2026-03-29T00:00", "2026-03-30T00:00"),  # all of it is skipped
        ("02:30", "06:00", "Europe/Paris", "2026-10-25T00:00", "2026-10-25T00:30"),  # the start is repeated
        ("02:30", "06:00", "Europe/Paris", "2026-10-25T01:10", "2026-10-25T01:30"),  # outside again in the second pass
        ("00:30", "03:00", "Asia/Beirut", "2026-03-28T12:00", "2026-03-28T22:00"),
        ("12:00", "13:00", "Pacific/Apia", "2011-12-30T00:00", "2011-12-30T22:00"),
    ],
)
def test_windows(start: str, end: str, zone: str, after: str, opening: str) -> None:
    window = Window.parse(start, end, zone)
    assert window.next_start(at(after)) == at(opening)
    assert window.contains(at(opening))
    assert window.contains(at(after)) == (after == opening)
    assert str(window) == f"{start}-{end}"
    assert window.describe() == f"{start}–{end}, {zone}"


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        ("02:00", "02:00", "equal"),
        ("2:00", "06:00", "start '2:00'"),
        ("02:00", "24:00", "end '24:00'"),
        ("02:60", "06:00", "HH:MM"),
        ("02:00:00", "06:00", "HH:MM"),
        ("\u0660\u0662:00", "06:00", "HH:MM"),
    ],
)
def test_windows_that_are_refused(start: str, end: str, reason: str) -> None:
    with pytest.raises(JobsError, match=reason):
        Window.parse(start, end, "UTC")


def test_a_window_needs_plain_times_a_zone_and_an_instant_of_the_calendar() -> None:
    with pytest.raises(JobsError, match="plain time"):
        Window(time(2, tzinfo=UTC), time(3), "UTC")
    with pytest.raises(JobsError, match="time zone"):
        Window(time(2), time(3), "Nowhere")
    with pytest.raises(JobsError, match="years 2 to 9998"):
        Window(time(2), time(3), "UTC").next_start(datetime.max.replace(tzinfo=UTC))
    with pytest.raises(JobsError, match="no time zone"):
        Window(time(2), time(3), "UTC").contains(datetime(2026, 1, 1))  # noqa: DTZ001


def test_ticks_inside_a_window() -> None:
    window = Window.parse("02:00", "06:00", "Europe/Paris")
    assert find_next_inside(Cron("*/7 * * * *"), window, at("2026-11-16T12:00")) == at("2026-11-17T01:00")
    assert find_next_inside(Cron("0 12 * * *"), window, ANCHOR) is None
    assert find_next_inside(Once(at("2026-11-17T03:00")), window, ANCHOR) == at("2026-11-17T03:00")
    assert find_next_inside(Once(at("2026-11-17T12:00")), window, ANCHOR) is None
    assert find_next_inside(Interval(timedelta(days=1, minutes=1), at("2026-11-16T12:00")), window, ANCHOR) is not None
    # A skipped time fires at the end of the gap, and only there it is inside.
    after_gap = Window.parse("03:00", "04:00", "Europe/Paris")
    assert find_next_inside(Cron("30 2 * * *", "Europe/Paris"), after_gap, ANCHOR) == at("2027-03-28T01:00")
    assert find_next_inside(Cron("* * * * *"), window, at("9998-12-31T12:00")) is None


def test_zones_are_found_once() -> None:
    assert resolve_timezone("Europe/Paris") is resolve_timezone("Europe/Paris")
    assert resolve_timezone("America/Argentina/San_Luis").key == "America/Argentina/San_Luis"
    assert resolve_timezone("Etc/GMT+12").key == "Etc/GMT+12"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("europe/paris", "did you mean 'Europe/Paris'"),
        ("Europe/Pariss", "did you mean 'Europe/Paris'"),
        ("Mars/Olympus_Mons", "write an IANA name"),
        ("Europe", "unknown"),
        ("", "such as 'Europe/Paris'"),
        ("../../etc/passwd", "such as"),
        ("/etc/localtime", "such as"),
        ("Europe/../Europe/Paris", "such as"),
        ("Europe//Paris", "such as"),
        ("Europe/Paris\x00", "such as"),
        ("Europe/Paris\n", "such as"),
        ("localtime", "such as"),
        ("right/UTC", "such as"),
        ("posix/UTC", "such as"),
        ("tzdata.zi", "such as"),
        ("leapseconds", "unknown"),
        ("A" * 1_000_000, "such as"),
        (None, "expected a name"),
        (ZoneInfo("UTC"), "expected a name"),
    ],
)
def test_zones_that_are_refused(name: str, remedy: str) -> None:
    with pytest.raises(JobsError, match="time zone") as caught:
        resolve_timezone(name)
    assert remedy in str(caught.value)
    assert len(str(caught.value)) < 250
