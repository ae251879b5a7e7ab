"""Times and spans from outside: which are taken, and what is said about the others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import workbell.model.clock as module
from workbell.errors import InvalidOption
from workbell.model.clock import ManualClock, SystemClock, aware, seconds, span

EAST = timezone(timedelta(hours=5, minutes=30))


def test_a_time_is_taken_over_in_utc() -> None:
    given = datetime(2030, 1, 1, 5, 30, tzinfo=EAST)
    assert aware("run_at", given) == given
    assert aware("run_at", given).tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (datetime(2030, 1, 1), "has no time zone"),  # noqa: DTZ001  that is the point
        ("2030-01-01", "expected a datetime, got str"),
        (None, "expected a datetime, got NoneType"),
        (1.5, "expected a datetime, got float"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "outside the years"),
    ],
)
def test_a_time_that_names_no_instant_is_refused(value: Any, says: str) -> None:
    with pytest.raises(InvalidOption, match=says) as refused:
        aware("run_at", value)
    assert str(refused.value).startswith("run_at: ")


@pytest.mark.parametrize(
    ("value", "number"),
    [(0, 0.0), (1, 1.0), (0.5, 0.5), (timedelta(minutes=1), 60.0), (3_153_600_000, 3_153_600_000.0)],
)
def test_spans_are_seconds_or_timedeltas(value: float | timedelta, number: float) -> None:
    assert seconds("delay", value) == number
    assert type(seconds("delay", value)) is float
    assert span("delay", value) == timedelta(seconds=number)


@pytest.mark.parametrize(
    "value",
    [-1, -0.001, float("nan"), float("inf"), 3_153_600_001, timedelta(seconds=-1), timedelta.max, True, "5", None, [1]],
    ids=repr,
)
def test_spans_that_cannot_be_used_are_refused(value: Any) -> None:
    for reader in (seconds, span):
        with pytest.raises(InvalidOption, match=r"^delay: .*\.$"):
            reader("delay", value)


def test_the_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(datetime(2030, 1, 1, tzinfo=EAST))
    start = clock.now()
    assert clock.now() == start
    assert clock.monotonic() == 0
    assert clock.advance(5, hours=1) == start + timedelta(hours=1, seconds=5)
    assert clock.monotonic() == 3605


def test_the_manual_clock_can_be_put_ahead_and_back() -> None:
    clock = ManualClock()
    start = clock.now()
    assert clock.put(hours=-1) == start - timedelta(hours=1) == clock.now()
    assert clock.monotonic() == 0


class Server:
    """A store's clock: `ahead` of this machine; each answer takes as long as the next of `takes`, half of it back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.moment, self.ahead, self.takes, self.asked = 1000.0, 0.0, [0.0], 0
        monkeypatch.setattr(module, "time", self)
        monkeypatch.setattr(module, "boot_clock", lambda: self.monotonic)
        self.clock = SystemClock()

    def monotonic(self) -> float:
        return self.moment

    def time(self) -> float:
        return 1_900_000_000 + self.moment

    def ask(self, there: float = 0.5) -> datetime:
        taken = self.takes.pop(0) if len(self.takes) > 1 else self.takes[0]
        self.asked += 1
        self.moment += taken * there
        said = datetime.fromtimestamp(self.time() + self.ahead, UTC)
        self.moment += taken * (1 - there)
        return said

    @property
    def off(self) -> float:
        """How far our clock is from the store's."""
        return self.clock.now().timestamp() - self.time() - self.ahead

    def measure(self, **how: float) -> float:
        return self.clock.measure(lambda: self.ask(**how)).total_seconds()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    return Server(monkeypatch)


class TestMeasuring:
    def test_the_first_finds_how_far_this_machine_is_from_the_store(
        self, server: Server, caplog: pytest.LogCaptureFixture
    ) -> None:
        server.ahead = 3600
        assert server.measure() == pytest.approx(3600)
        assert (server.off, server.asked, caplog.records) == (pytest.approx(0, abs=1e-5), 1, [])

    @pytest.mark.parametrize("there", [0.0, 0.5, 1.0], ids=["before", "in the middle", "at the end"])
    def test_one_through_a_stall_moves_nothing(self, server: Server, there: float) -> None:
        """Half of the stall was added: seven seconds, in which ticks fired early and leases seemed to be over."""
        server.takes = [0.001]
        server.measure()
        server.takes = [14.0, 14.0, 14.0]
        server.measure(there=there)
        assert abs(server.off) <= 0.001
        server.takes = [14.0, 0.002]  # and a quick one after it is taken
        server.measure(there=there)
        assert abs(server.off) <= 0.002

    def test_a_first_one_through_a_stall_believes_this_machine_as_far_as_it_can(self, server: Server) -> None:
        server.takes = [14.0, 14.0, 14.0]
        server.measure(there=0.0)
        assert server.off == pytest.approx(0, abs=1e-5)
        server.ahead, server.takes = 3600, [14.0, 14.0, 14.0]
        server.measure(there=0.0)
        assert -14 <= server.off <= 0

    def test_the_quickest_of_a_few_counts(self, server: Server) -> None:
        server.ahead, server.takes = 100, [0.4, 0.2, 0.1]
        server.measure(there=1.0)
        assert (server.off, server.asked) == (pytest.approx(0.05), 3)

    def test_drift_is_followed_without_a_word(self, server: Server, caplog: pytest.LogCaptureFixture) -> None:
        server.measure()
        server.ahead = 0.02
        assert server.measure() == pytest.approx(0.02)
        server.ahead = -0.02
        assert server.measure() == pytest.approx(-0.04)
        assert caplog.records == []

    def test_by_no_more_than_what_is_proven(self, server: Server) -> None:
        server.takes = [0.01]
        server.measure()
        server.ahead = 0.02
        assert server.measure() == pytest.approx(0.015)

    @pytest.mark.parametrize(("step", "words"), [(3600, "put ahead by 3600.0 s"), (-3600, "put back by 3600.0 s")])
    def test_a_step_is_followed_when_it_is_confirmed(
        self, server: Server, caplog: pytest.LogCaptureFixture, step: float, words: str
    ) -> None:
        server.measure()
        server.ahead = step
        asked = server.asked
        assert server.measure() == pytest.approx(step)
        assert server.asked == asked + 2
        assert words in caplog.text

    @pytest.mark.parametrize("slow", [False, True])
    def test_a_step_that_is_not_confirmed_is_not_followed(
        self, server: Server, caplog: pytest.LogCaptureFixture, slow: bool
    ) -> None:
        """A glitch, or a second look that proves nothing."""
        server.measure()
        server.takes = [0.0, 14.0, 14.0, 14.0] if slow else [0.0]
        answers = iter([3600.0, 3600.0, 3600.0, 3600.0] if slow else [3600.0, 0.0])

        def ask() -> datetime:
            server.ahead = next(answers)
            return server.ask()

        assert server.clock.measure(ask) == timedelta(0)
        server.ahead = 0
        assert server.off == pytest.approx(0, abs=1e-5)
        assert "off by +3600.0 s, once" in caplog.text


def test_a_step_of_this_machines_clock_moves_nothing_by_itself() -> None:
    """A wall clock that is wrong here does not matter: the store's time rules."""
    clock = SystemClock()
    before = clock.monotonic()
    moved = clock.measure(lambda: datetime.now(UTC) + timedelta(hours=1))
    assert timedelta(minutes=59) < moved <= timedelta(hours=1, seconds=1)
    assert clock.now() - datetime.now(UTC) > timedelta(minutes=59)
    assert clock.monotonic() - before < 1800  # the monotonic clock is not moved with it
