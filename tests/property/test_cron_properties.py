"""What holds for every cron schedule in every zone at every instant (A4, B6, F3)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.unit.timing.making import make_expression
from tests.unit.timing.scenes import ZONES
from workbell.errors import JobsError
from workbell.timing.cron import Cron

MICROSECOND = timedelta(microseconds=1)


def build(seed: int, zone: str) -> Cron | None:
    try:
        return Cron(make_expression(Random(seed), near=seed % 24), zone)
    except JobsError:
        return None


crons = st.builds(build, st.integers(0, 10**9), st.sampled_from([*ZONES, "UTC", "Pacific/Apia"])).filter(bool)
plain = datetime.fromisoformat
instants = st.datetimes(plain("1990-01-01"), plain("2090-01-01"), timezones=st.just(UTC))
spans = st.timedeltas(timedelta(0), timedelta(days=400))


@given(crons, instants)
def test_next_and_latest_are_inverse(cron: Cron, after: datetime) -> None:
    tick = cron.next(after)
    assert tick is not None
    assert tick > after
    assert tick.tzinfo is UTC
    assert cron.latest(tick) == tick
    before = cron.latest(tick - MICROSECOND)
    assert before is None or before <= after
    assert cron.next(tick - MICROSECOND) == tick
    assert cron.count(after, tick) == 1
    assert cron.count(after, tick - MICROSECOND) == 0


@given(crons, instants, spans)
def test_a_later_start_never_gives_an_earlier_tick(cron: Cron, after: datetime, span: timedelta) -> None:
    first, second = cron.next(after), cron.next(after + span)
    assert first is not None
    assert second is not None
    assert first <= second
    early, late = cron.latest(after), cron.latest(after + span)
    assert early is not None
    assert late is not None
    assert early <= late


@given(crons, instants, st.integers(1, 40))
def test_count_is_the_number_of_ticks(cron: Cron, after: datetime, number: int) -> None:
    ticks = cron.ticks(after, number)
    assert len(ticks) == number
    assert ticks == sorted(set(ticks))
    for place, tick in enumerate(ticks, 1):
        assert cron.count(after, tick) == place


@given(crons, instants, spans, spans)
def test_counts_add_up(cron: Cron, after: datetime, first: timedelta, second: timedelta) -> None:
    middle, end = after + first, after + first + second
    assert cron.count(after, end) == cron.count(after, middle) + cron.count(middle, end)
    assert cron.count(end, after) == 0


@given(crons, instants, st.sampled_from(ZONES))
def test_the_zone_of_the_question_does_not_matter(cron: Cron, after: datetime, zone: str) -> None:
    """Also within a repeated hour, where two instants look the same."""
    elsewhere = after.astimezone(ZoneInfo(zone))
    assert cron.next(elsewhere) == cron.next(after)
    assert cron.latest(elsewhere) == cron.latest(after)


@given(crons)
def test_every_schedule_can_be_described(cron: Cron) -> None:
    said = cron.describe()
    assert said.endswith(f", {cron.timezone}")
    assert ", ," not in said
    assert "  " not in said


signs = st.text("0123456789*/,-LW#?@ \tjanmonFRI", max_size=40)
fields = st.sampled_from(
    ["*", "*/5", "0", "L", "LW", "15W", "L-3", "5L", "FRI#2", "?", "1-5", "5-1", "7", "", "999999999999"]
)


@given(st.one_of(st.text(max_size=300), signs, st.lists(fields, min_size=4, max_size=7).map(" ".join)))
@example("0 0 1--100000000 * *")
@example("*/" + "9" * 250 + " * * * *")
@example("٣ * * * *")
@example("² * * * *")
@example("0 0 \u00a0 * * *")
@example("0 0 L-99999999999 * *")
@example("0-" + "9" * 99 + " * * * *")
def test_whatever_the_text_only_our_error_comes(text: str) -> None:
    try:
        cron = Cron(text)
    except JobsError as problem:
        assert str(problem).startswith("cron ")  # noqa: PT017
        assert len(str(problem)) < 600  # noqa: PT017
        return
    tick = cron.next(datetime(2026, 1, 1, tzinfo=UTC))
    assert tick is not None
    assert cron.describe()


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_equal_texts_are_equal_schedules(seed: int, other: int) -> None:
    cron, second = build(seed, "UTC"), build(other, "UTC")
    assume(cron and second)
    assert cron == build(seed, "UTC")
    assert hash(cron) == hash(build(seed, "UTC"))
    assert (cron == second) == (str(cron) == str(second))
