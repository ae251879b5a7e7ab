"""Fair claims: when another survey is needed, and when a run that comes alone is claimed without one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.fresh_store import fresh_store
from workbell.claims import claiming as claiming_module
from workbell.claims.claiming import SURE, Claimant, FairClaims
from workbell.model.run import Run
from workbell.model.tenant import Tenant
from workbell.stores.port import Store
from workbell.testing.clock import ManualClock
from workbell.testing.contracts.making import request


class Claiming:
    """The claims of one worker, with counts of what they ask of the store."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = ManualClock()
        self.store: Store = fresh_store(clock=self.clock)
        self.claims = FairClaims(self.store)
        self.asked: list[str] = []
        for verb in ("survey", "claim"):
            monkeypatch.setattr(self.store.runs, verb, self._counted(verb))

    def _counted(self, verb: str):
        real = getattr(self.store.runs, verb)

        def call(*args, **options):
            self.asked.append(verb)
            return real(*args, **options)

        return call

    def add(self, *jobs: str, **options: int) -> None:
        self.store.runs.add([request(job, **options) for job in jobs])

    def claim(self, limit: int = 10, *, serves: bool = True, hinted: bool = False) -> tuple[list[Run], list[str]]:
        """The runs of a claim, and the verbs that it called; `hinted`: by a hint, while nothing was executed."""
        self.asked.clear()
        if hinted:
            self.claims.forget_survey(lone=True)
        self.clock.advance(0.02)
        claimant = Claimant("worker", timedelta(seconds=30), lambda _lane: serves)
        return self.claims.claim(claimant, limit, self.clock.now()), list(self.asked)


@pytest.fixture
def claiming(monkeypatch: pytest.MonkeyPatch) -> Claiming:
    return Claiming(monkeypatch)


def test_one_lane_that_gave_all_it_had_is_exhausted(claiming: Claiming) -> None:
    claiming.add("work", "work")
    runs, asked = claiming.claim()
    assert (len(runs), asked, claiming.claims.exhausted) == (2, ["survey", "claim"], True)


def test_nothing_is_exhausted_too(claiming: Claiming) -> None:
    assert claiming.claim() == ([], ["survey"])
    assert claiming.claims.exhausted


@pytest.mark.parametrize(
    ("jobs", "limit"),
    [(["work"] * 3, 3), (["work", "other"], 10), (["work"] * 3, 2)],
    ids=["as many as were asked for", "of two lanes either may have more", "more than were asked for"],
)
def test_there_may_be_more(claiming: Claiming, jobs: list[str], limit: int) -> None:
    claiming.add(*jobs)
    runs, _ = claiming.claim(limit)
    assert runs
    assert not claiming.claims.exhausted


def test_a_better_rank_left_the_others_waiting(claiming: Claiming) -> None:
    claiming.add("work")
    claiming.add("work", priority=5)
    assert [run.rank for run in claiming.claim()[0]] == [-5]
    assert not claiming.claims.exhausted
    assert [run.rank for run in claiming.claim()[0]] == [0]


def test_what_came_after_the_survey_is_not_overlooked(claiming: Claiming) -> None:
    """A survey serves several claims: of lanes that are new since then it knows nothing."""
    claiming.add(*["work"] * 5)
    assert len(claiming.claim(3)[0]) == 3
    claiming.add("other")
    runs, asked = claiming.claim(10)
    assert ({run.job for run in runs}, asked) == ({"work"}, ["claim"])
    assert not claiming.claims.exhausted
    assert [run.job for run in claiming.claim()[0]] == ["other"]


def test_a_hint_is_a_reason_for_another_survey(claiming: Claiming) -> None:
    """A survey serves several claims that come back full; an urgent run that came since is not to wait for these."""
    claiming.add(*["work"] * 20)
    assert len(claiming.claim(5)[0]) == 5
    claiming.add("urgent", priority=9)
    assert {run.job for run in claiming.claim(5)[0]} == {"work"}
    claiming.claims.forget_survey()
    assert [run.job for run in claiming.claim(5)[0]] == ["urgent"]


def test_the_last_page_of_many_lanes_is_not_all_of_them(claiming: Claiming, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claiming_module, "HEADS", 2)
    claiming.add("a", "b", "c")
    assert len(claiming.claim()[0]) == 2
    claiming.add("a", "b", "c")
    assert len({run.job for run in claiming.claim()[0]}) == 1
    assert not claiming.claims.exhausted, "those of the first page wait"


class TestGuess:
    """After a few runs that came alone, the next one is claimed first and surveyed afterwards."""

    def streak(self, claiming: Claiming) -> None:
        for _ in range(SURE):
            claiming.add("work")
            assert claiming.claim(hinted=True)[1] == ["survey", "claim"]

    def test_it_saves_the_survey(self, claiming: Claiming) -> None:
        self.streak(claiming)
        for _ in range(3):
            claiming.add("work")
            runs, asked = claiming.claim(hinted=True)
            assert (len(runs), asked, claiming.claims.exhausted) == (1, ["claim"], False)
            assert claiming.claim() == ([], ["survey"])

    def test_half_of_the_slots_are_left_to_what_a_survey_shows(self, claiming: Claiming) -> None:
        self.streak(claiming)
        claiming.add(*["work"] * 10)
        claiming.add("urgent", priority=9)
        assert [run.job for run in claiming.claim(hinted=True)[0]] == ["work"] * 5
        runs, asked = claiming.claim(5)
        assert asked == ["survey", "claim"]
        assert runs[0].job == "urgent"

    def test_one_slot_is_not_given_away(self, claiming: Claiming) -> None:
        self.streak(claiming)
        claiming.add("work")
        assert claiming.claim(1, hinted=True)[1] == ["survey", "claim"]

    def test_not_by_an_old_survey(self, claiming: Claiming) -> None:
        """A pause may have come since: it is seen within half a second."""
        self.streak(claiming)
        claiming.clock.advance(1)
        claiming.add("work")
        assert claiming.claim(hinted=True)[1] == ["survey", "claim"]

    def test_a_pause_is_seen_within_half_a_second(self, claiming: Claiming) -> None:
        """However many runs come meanwhile: what a guess takes does not renew the right to guess."""
        self.streak(claiming)
        claiming.store.pauses.add("default", None, "work", claiming.clock.now())
        taken = 0
        for _ in range(100):
            claiming.add("work")
            taken += len(claiming.claim(hinted=True)[0])
            claiming.claim()
        assert 0 < taken <= 0.5 / 0.02

    def test_a_tenant_that_has_got_a_limit(self, claiming: Claiming) -> None:
        self.streak(claiming)
        now = claiming.clock.now()
        claiming.store.tenants.put(Tenant(name="default", created_at=now, updated_at=now, concurrency=1))
        claiming.clock.advance(1)  # so long are settings of tenants cached
        claiming.add(*["work"] * 30)
        taken = sum(len(claiming.claim(hinted=True)[0]) for _ in range(20))
        assert taken == 0, "two are running already"

    def test_not_of_a_job_that_is_gone(self, claiming: Claiming) -> None:
        self.streak(claiming)
        claiming.add("work")
        assert claiming.claim(serves=False, hinted=True) == ([], ["survey"])

    def test_not_beside_another_lane(self, claiming: Claiming) -> None:
        self.streak(claiming)
        claiming.add("work")
        assert claiming.claim(hinted=True)[1] == ["claim"]
        claiming.add("work", "other")
        assert claiming.claim(hinted=True)[1] == ["survey", "claim"]
        claiming.add("work")
        assert claiming.claim(hinted=True)[1] == ["survey", "claim"]

    def test_a_wrong_one_makes_them_rarer(self, claiming: Claiming) -> None:
        self.streak(claiming)
        assert claiming.claim(hinted=True)[1] == ["claim", "survey"]
        for _ in range(2 * SURE):
            claiming.add("work")
            assert claiming.claim(hinted=True)[1] == ["survey", "claim"]
        claiming.add("work")
        assert claiming.claim(hinted=True)[1] == ["claim"]
