"""A rate's window against a plain log of every start: never more than allowed in any span, nor held back for long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbell.errors import InvalidOption
from workbell.model.rate import LONGEST, MOST_STARTS, SLACK, STEPS, UNITS, Rate, Starts, to_micros

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

rates = st.builds(Rate, st.one_of(st.integers(1, 12), st.integers(95, 130)), st.sampled_from([1, 7, 60, 86400]))
# Parts of a span: many short steps, some about as long as it, and the very edge.
steps = st.lists(
    st.tuples(st.one_of(st.floats(0, 0.03), st.floats(0, 1.2), st.just(1.0)), st.integers(1, 150)), max_size=50
)


def span_of(rate: Rate, part: float) -> timedelta:
    return timedelta(microseconds=int(part * rate.seconds * 1_000_000))


def most_in_a_span(rate: Rate, log: list[datetime]) -> int:
    """The most starts in any half-open span of the rate's length: one that ends with a start."""
    times = sorted(log)
    first = most = 0
    for place, at in enumerate(times):
        while at - times[first] >= rate.span:
            first += 1
        most = max(most, place - first + 1)
    return most


def play(rate: Rate, moves: list[tuple[datetime, int]]) -> tuple[list[datetime], Starts]:
    """Start as many as are wanted and allowed at each time."""
    log: list[datetime] = []
    starts: Starts = ()
    for now, wanted in moves:
        count = min(wanted, rate.allowed(starts, now))
        if count:
            starts = rate.with_starts(starts, now, count)
            log += [now] * count
        assert len(starts) <= STEPS * (1 + 1 / SLACK) + 2
    return log, starts


@example(Rate(120, 1), [(0.5095, 120), (0.995, 120)])  # just before its time is over, by less than a step
@given(rates, steps)
def test_never_more_than_allowed_in_any_span(rate: Rate, moved: list[tuple[float, int]]) -> None:
    now, moves = START, []
    for part, wanted in moved:
        now += span_of(rate, part)
        moves.append((now, wanted))
    log, _ = play(rate, moves)
    assert most_in_a_span(rate, log) <= rate.most


@example(Rate(2, 1), [(0, 0, 2), (1, 0, 1), (1.01, 0.9, 1)])  # the first clock has forgotten what the second counts
@given(rates, st.lists(st.tuples(st.floats(0, 3), st.floats(0, 0.99), st.integers(1, 50)), max_size=40))
def test_also_by_clocks_that_are_apart(rate: Rate, moved: list[tuple[float, float, int]]) -> None:
    """Each start is noted by a clock that is behind by up to the slack."""
    true = sorted((part, behind, wanted) for part, behind, wanted in moved)
    moves = [(START + span_of(rate, part) - span_of(rate, behind / SLACK), wanted) for part, behind, wanted in true]
    log, _ = play(rate, moves)
    assert most_in_a_span(rate, log) <= rate.most


@given(rates, steps, st.floats(0, 2))
def test_the_next_start_is_allowed_when_it_was_said(rate: Rate, moved: list[tuple[float, int]], later: float) -> None:
    now, moves = START, []
    for part, wanted in moved:
        now += span_of(rate, part)
        moves.append((now, wanted))
    _, starts = play(rate, moves)
    asked = now + span_of(rate, later)
    free_at = rate.free_at(starts, asked)
    assert free_at >= asked
    assert (free_at == asked) == (rate.allowed(starts, asked) > 0)
    assert rate.allowed(starts, free_at) > 0
    if free_at > asked:
        assert rate.allowed(starts, free_at - MICROSECOND) == 0
    # What is remembered later than it was costs no more than a step.
    assert free_at <= asked + rate.span * (1 + 1 / STEPS) + MICROSECOND


@given(st.builds(Rate, st.integers(1, STEPS), st.sampled_from([1, 7, 60])), steps)
def test_few_starts_are_remembered_exactly(rate: Rate, moved: list[tuple[float, int]]) -> None:
    """As a plain log would: as many as it has room for, at once."""
    now, log, starts = START, [], ()
    for part, wanted in moved:
        now += span_of(rate, part)
        counted = sum(at > now - rate.span for at in log)
        assert rate.allowed(starts, now) == rate.most - counted
        count = min(wanted, rate.most - counted)
        if count:
            starts = rate.with_starts(starts, now, count)
            log += [now] * count


@given(st.integers(1, MOST_STARTS), st.integers(1, 2000), st.sampled_from("smhd"))
def test_what_can_be_written_can_be_read(count: int, number: int, unit: str) -> None:
    seconds = number * UNITS[unit]
    text = f"{count}/{number}{unit}"
    if seconds > LONGEST:
        with pytest.raises(InvalidOption, match="not from 1 s to 1 d"):
            Rate.parse(text)
        return
    assert Rate.parse(text) == Rate(count, seconds)
    assert Rate.parse(str(Rate(count, seconds))) == Rate(count, seconds)
    if number == 1:
        assert Rate.parse(f"{count}/{unit}") == Rate(count, seconds)


@given(st.one_of(st.text(alphabet="0123456789/smhd .-+x٣", max_size=8), st.text(max_size=6), st.integers(), st.none()))
def test_anything_is_read_or_refused(text: object) -> None:
    try:
        rate = Rate.parse(text)
    except InvalidOption:
        return
    assert 1 <= rate.most <= MOST_STARTS
    assert 1 <= rate.seconds <= LONGEST
    assert isinstance(text, str)
    assert text.isascii()


def test_times_are_whole_microseconds() -> None:
    assert to_micros(START + MICROSECOND) - to_micros(START) == 1


@given(rates, st.floats(60, 100_000))
def test_a_clock_that_is_put_back_does_not_hold_up_starts(rate: Rate, back: float) -> None:
    """Nothing stands still for longer than two spans, or a span and a minute; what is noted then is counted."""
    starts = rate.with_starts((), START, rate.most)
    now = START - timedelta(seconds=back)
    wait = rate.free_at(starts, now) - now
    assert wait <= rate.span + max(rate.span, timedelta(seconds=60)) + timedelta(seconds=rate.seconds / STEPS)
    if back > max(rate.seconds, 60) * 1.01:
        assert rate.allowed(starts, now) == rate.most
        starts = rate.with_starts(starts, now, rate.most)
        assert rate.allowed(starts, now) == 0
        assert rate.free_at(starts, now) > now
