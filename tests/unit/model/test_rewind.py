"""What makes a process suspect that the store was rewound, and what it concludes from the comparison."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.model.rewind import (
    KnownRun,
    RewindKind,
    Standing,
    StorePosition,
    compare,
    executed_before,
    judge,
    may_have_ended,
    rewinds_in_words,
    suspicion,
)
from workbell.model.run import FINAL, LIVE, Status

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)
HERE = StorePosition("cluster/1/2", 3, 1000, "100.5")


class TestSuspicion:
    def test_the_first_position_says_nothing(self) -> None:
        assert suspicion(None, HERE) is None

    @pytest.mark.parametrize("place", [1000, 1001])
    def test_a_store_that_goes_on_is_trusted(self, place: int) -> None:
        assert suspicion(HERE, HERE._replace(place=place)) is None

    @pytest.mark.parametrize(
        ("after", "why"),
        [
            (HERE._replace(identity="cluster/1/9", place=9999), "another database"),
            (HERE._replace(timeline=4, place=9999), "timeline 4 instead of 3"),
            (HERE._replace(place=999), "it ends at 999, and was at 1,000"),
            (HERE._replace(server_start="200.5", place=9999), "its server was started again"),
        ],
    )
    def test_what_looks_wrong(self, after: StorePosition, why: str) -> None:
        assert why in (suspicion(HERE, after) or "")

    @given(st.lists(st.integers(0, 50), min_size=2))
    def test_places_that_never_fall_are_never_suspected(self, steps: list[int]) -> None:
        place, before = 0, StorePosition("a")
        for step in steps:
            place += step
            after = before._replace(place=place)
            assert suspicion(before, after) is None
            before = after


def known(status: Status, attempt: int = 1, *, token: int = 7, begun: bool = True, remove: int = 10) -> KnownRun:
    return KnownRun("r", "default", token, "a", status, attempt, NOW, begun, NOW + timedelta(minutes=remove))


def there(status: Status, attempt: int, token: int = 7, worker: str | None = "a", at: datetime = NOW) -> Standing:
    return Standing(status, token, attempt, worker, at)


class TestRunsThatEndedHere:
    @pytest.mark.parametrize("status", FINAL)
    def test_the_same_end_is_there(self, status: Status) -> None:
        assert judge(known(status), there(status, 1), LATER) is None

    @pytest.mark.parametrize("live", LIVE)
    def test_the_store_wants_to_run_it_again(self, live: Status) -> None:
        assert judge(known(Status.SUCCEEDED), there(live, 1), LATER) is RewindKind.REPEATED
        assert judge(known(Status.SUCCEEDED), there(live, 0, 0, None), LATER) is RewindKind.REPEATED

    def test_another_worker_has_ended_it_again(self) -> None:
        again = there(Status.SUCCEEDED, 1, 8, "b", NOW + timedelta(seconds=1))
        assert judge(known(Status.SUCCEEDED), again, LATER) is RewindKind.REPEATED

    def test_it_is_gone_or_was_removed(self) -> None:
        assert judge(known(Status.SUCCEEDED), None, LATER) is RewindKind.GONE
        assert judge(known(Status.SUCCEEDED, remove=5), None, LATER) is None


class TestLeases:
    """A run that is or was held here, without a booking."""

    held = known(Status.RUNNING, 2)

    def test_the_lease_is_ours(self) -> None:
        assert judge(self.held, there(Status.RUNNING, 2), LATER) is None

    def test_the_store_has_forgotten_the_claim(self) -> None:
        assert judge(self.held, there(Status.QUEUED, 1, 5, None), LATER) is RewindKind.LEASE

    def test_another_worker_has_claimed_the_same_attempt(self) -> None:
        assert judge(self.held, there(Status.RUNNING, 2, 8, "b"), LATER) is RewindKind.LEASE
        assert judge(self.held, there(Status.SUCCEEDED, 2, 8, "b"), LATER) is RewindKind.LEASE

    @pytest.mark.parametrize(
        "standing",
        [
            there(Status.QUEUED, 2, worker=None),  # taken over, with the attempt on record
            there(Status.RUNNING, 3, 8, "b"),  # and claimed by another
            there(Status.QUEUED, 2, 8, None),  # who handed it back before it began
            there(Status.SUCCEEDED, 3, 8, "b"),
            there(Status.FAILED, 2),  # in quarantine, under our token
            there(Status.CANCELED, 2, 8, None),
        ],
    )
    def test_a_lease_that_was_lost_in_the_usual_way(self, standing: Standing) -> None:
        assert judge(self.held, standing, LATER) is None

    @pytest.mark.parametrize(("ended", "kind"), [(8, RewindKind.LEASE), (7, None), (0, None), (None, None)])
    @pytest.mark.parametrize("now", [there(Status.QUEUED, 2, 8, None), there(Status.RUNNING, 3, 9, "b")])
    def test_the_row_of_the_attempt_says_whose_start_it_was(
        self, now: Standing, ended: int | None, kind: RewindKind | None
    ) -> None:
        assert may_have_ended(self.held, now)
        assert judge(self.held, now, LATER, ended) is kind

    def test_whose_start_it_was_is_clear_without_that_row(self) -> None:
        assert not may_have_ended(self.held, there(Status.RUNNING, 2))
        assert not may_have_ended(self.held, there(Status.QUEUED, 1, 5, None))
        assert not may_have_ended(known(Status.SUCCEEDED, 2), there(Status.RUNNING, 3, 9, "b"))
        assert not may_have_ended(self.held, None)

    def test_a_run_that_had_not_begun_was_not_executed(self) -> None:
        assert judge(known(Status.RUNNING, 2, begun=False), there(Status.QUEUED, 1, 5, None), LATER) is None

    def test_it_is_gone(self) -> None:
        assert judge(self.held, None, LATER) is RewindKind.GONE


class TestRunsThatGoOn:
    """An attempt ended here, and the run waits for the next."""

    retried = known(Status.SCHEDULED, 1)

    def test_the_store_has_forgotten_the_attempt(self) -> None:
        assert judge(self.retried, there(Status.QUEUED, 0, 0, None), LATER) is RewindKind.REPEATED
        assert judge(self.retried, there(Status.RUNNING, 1, 8, "b"), LATER) is RewindKind.REPEATED

    @pytest.mark.parametrize("attempt", [1, 2, 3])
    def test_the_run_went_on(self, attempt: int) -> None:
        assert judge(self.retried, there(Status.QUEUED, attempt, worker=None), LATER) is None
        if attempt > 1:
            assert judge(self.retried, there(Status.RUNNING, attempt, 9, "b"), LATER) is None


@st.composite
def lives(draw: st.DrawFn) -> tuple[list[KnownRun], list[Standing]]:
    """A life of a run by the rules of the state machine: what its workers knew, and all states of the store."""
    token, attempt, moment = 0, 0, NOW
    known_runs: list[KnownRun] = []
    states = [Standing(Status.QUEUED, 0, 0, None, moment)]
    for _ in range(draw(st.integers(1, 6))):
        moment += timedelta(seconds=1)
        token, attempt, worker = token + 1, attempt + 1, draw(st.sampled_from("ab"))
        states.append(Standing(Status.RUNNING, token, attempt, worker, moment))
        claim = KnownRun("r", "default", token, worker, Status.RUNNING, attempt, moment, True, None)
        moment += timedelta(seconds=1)
        end = draw(st.sampled_from(["release", "retry", "lose", "succeed", "fail"]))
        if end == "release":
            attempt -= 1
            states.append(Standing(Status.QUEUED, token, attempt, None, moment))
            continue
        status = {"retry": Status.SCHEDULED, "lose": Status.QUEUED, "succeed": Status.SUCCEEDED, "fail": Status.FAILED}[
            end
        ]
        states.append(Standing(status, token, attempt, worker if status.final else None, moment))
        known_runs.append(claim if end == "lose" else msgspec.structs.replace(claim, status=status, at=moment))
        if status.final:
            break
    return known_runs, states


@given(lives())
def test_a_store_that_never_went_back_is_never_blamed(life: tuple[list[KnownRun], list[Standing]]) -> None:
    known_runs, states = life
    for run in known_runs:
        after = [index for index, state in enumerate(states) if state.token == run.token][-1]
        for state in states[after:]:
            assert judge(run, state, LATER) is None


@given(lives())
def test_a_store_from_before_the_claim_is_always_found(life: tuple[list[KnownRun], list[Standing]]) -> None:
    known_runs, states = life
    for run in known_runs:
        begun = next(index for index, state in enumerate(states) if state.token == run.token)
        assert judge(run, states[begun - 1], LATER) is not None
        again = Standing(Status.RUNNING, 99, states[begun - 1].attempt + 1, "c", LATER)
        assert judge(run, again, LATER) is not None


def test_records_and_words() -> None:
    runs = [
        msgspec.structs.replace(known(Status.SUCCEEDED), id="one"),
        msgspec.structs.replace(known(Status.RUNNING), id="two", token=8),
    ]
    found = compare(runs, {"two": there(Status.QUEUED, 0, 0, None)}, LATER, "w")
    assert [(one.run, one.kind, one.token, one.worker) for one in found] == [
        ("one", RewindKind.GONE, 7, "a"),
        ("two", RewindKind.LEASE, 8, "a"),
    ]
    assert (
        rewinds_in_words(found) == "1 run executed under a lease that it lost (two), 1 run that no longer exists (one)"
    )
    assert executed_before(found[1:]) == (
        "Executed before: worker a claimed it at 2030-01-01 00:00:00 UTC; "
        "the store lost that lease when it was rewound."
    )
    many = compare([msgspec.structs.replace(known(Status.SUCCEEDED), id=str(n)) for n in range(7)], {}, LATER, "w")
    assert rewinds_in_words(many) == "7 runs that no longer exist (0, 1, 2, 3, 4 and 2 more)"
    assert executed_before([]) == ""
