"""Intervals and single ticks against plain lists (D2, B6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from workbell.errors import JobsError
from workbell.timing.interval import Interval
from workbell.timing.once import Once

plain = datetime.fromisoformat
instants = st.datetimes(plain("2020-01-01"), plain("2030-01-01"), timezones=st.just(UTC))
spans = st.timedeltas(timedelta(seconds=1), timedelta(days=36_525))
steps = st.timedeltas(timedelta(seconds=1), timedelta(hours=30))
MICROSECOND = timedelta(microseconds=1)


@given(
    steps,
    instants,
    st.timedeltas(-timedelta(days=3), timedelta(days=3)),
    st.timedeltas(timedelta(0), timedelta(hours=9)),
)
def test_against_a_list(every: timedelta, anchor: datetime, shift: timedelta, span: timedelta) -> None:
    interval = Interval(every, anchor)
    after, until = anchor + shift, anchor + shift + span
    first = max(shift // every - 2, 0)
    ticks = [anchor + number * every for number in range(first, max((shift + span) // every + 3, 3))]
    assert interval.next(after) == min(tick for tick in ticks if tick > after)
    assert interval.latest(until) == max((tick for tick in ticks if tick <= until), default=None)
    assert interval.count(after, until) == len([tick for tick in ticks if after < tick <= until])


@given(spans, instants)
def test_the_text_reads_back(every: timedelta, anchor: datetime) -> None:
    interval = Interval(every, anchor)
    assert Interval.parse(str(interval)) == interval
    assert interval.describe().endswith("UTC")
    assert Once.parse(str(Once(anchor))) == Once(anchor)


@given(instants, instants, instants)
def test_once(at: datetime, after: datetime, until: datetime) -> None:
    once = Once(at)
    assert once.next(after) == (at if at > after else None)
    assert once.latest(until) == (at if at <= until else None)
    assert once.count(after, until) == int(after < at <= until)


texts = st.one_of(
    st.text(max_size=150),
    st.text("0123456789dhms. from", max_size=40).map(lambda span: f"{span} from 2026-11-16T00:00:00Z"),
    st.text("0123456789-:.TZ+", max_size=40).map(lambda moment: f"5m from {moment}"),
)


@given(texts)
def test_whatever_the_text_only_our_error_comes(text: str) -> None:
    for read in (Interval.parse, Once.parse):
        try:
            timing = read(text)
        except JobsError:
            continue
        assert read(str(timing)) == timing
