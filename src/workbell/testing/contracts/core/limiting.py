"""Contract of claims under limits: running and started runs are counted, over all lanes of a limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from workbell.model import state
from workbell.model.limit import Limit, Limits, limits_on
from workbell.model.run import Run
from workbell.stores.port import CoreStore, Filter, LeaseTerms, Pick
from workbell.testing.contracts.making import KEEP, add, after, claim, request, take

DAY = 86400.0


def limits_of(store: CoreStore, limits: Limits, job: str = "work") -> dict[int, Sequence[Limit]]:
    """The limits of all lanes of a job that have something waiting."""
    lanes = {head.lane for head in store.runs.survey(-1, 1000) if head.lane.job == job}
    return {lane.id: limits_on(limits, lane) for lane in lanes}


def claim_within(
    store: CoreStore, limits: Limits, limit: int = 100, *, at: float = 0, quota: int | None = None
) -> list[Run]:
    """Claim from all lanes; of the job `work`, under limits."""
    picks = [Pick(head.lane_id, head.rank, quota or limit) for head in store.runs.survey(-1, 1000)]
    found = limits_of(store, limits)
    return store.runs.claim(picks, limit, LeaseTerms.drawn("worker", after(at), after(at + 30)), limits=found)


def end(store: CoreStore, *runs: Run, at: float = 1) -> None:
    assert len(
        store.runs.apply([state.succeed(run, after(at), result=None, keep=KEEP.succeeded) for run in runs])
    ) == len(runs)


class LimitingContract:
    def test_no_more_run_than_the_limit_allows(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(10)])
        three = Limits(concurrency=3)
        first = claim_within(store, three)
        assert len(first) == 3
        assert claim_within(store, three) == []
        end(store, first[0])
        (next_run,) = claim_within(store, three, at=2)
        assert next_run.token != first[0].token
        assert claim_within(store, three, at=2) == []

    def test_what_is_claimed_under_a_limit_is_claimed_as_ever(self, store: CoreStore) -> None:
        late, early, urgent = add(store, request(at=3), request(at=1), request(at=4, priority=5))
        found = claim_within(store, Limits(concurrency=9), at=5)
        assert [run.id for run in found] == [urgent.id, early.id, late.id]
        assert {(run.status, run.attempt, run.worker) for run in found} == {("running", 1, "worker")}
        assert {(run.started_at, run.lease_until) for run in found} == {(after(5), after(35))}
        assert store.runs.find(run.id for run in found) == {run.id: run for run in found}

    def test_a_limit_counts_over_queues_and_ranks_and_not_over_tenants_or_jobs(self, store: CoreStore) -> None:
        add(store, *[request(queue=f"q{n % 3}", priority=n % 2) for n in range(12)])
        add(store, *[request(tenant="t") for _ in range(5)], *[request("other") for _ in range(5)])
        found = Counter((run.tenant, run.job) for run in claim_within(store, Limits(concurrency=4)))
        assert found == {("default", "work"): 4, ("t", "work"): 4, ("default", "other"): 5}

    def test_a_limit_by_key_counts_each_value(self, store: CoreStore) -> None:
        add(store, *[request(lane_key=key, queue=queue) for key in "abc" for queue in "xy" for _ in range(3)])
        by_key = Limits(concurrency=2, concurrency_key="customer")
        first = claim_within(store, by_key)
        assert Counter(run.lane.key for run in first) == {"a": 2, "b": 2, "c": 2}
        end(store, next(run for run in first if run.lane.key == "b"))
        assert [run.lane.key for run in claim_within(store, by_key, at=2)] == ["b"]

    def test_a_limit_for_all_beside_one_by_key(self, store: CoreStore) -> None:
        """Concurrency over the whole job, starts by key."""
        add(store, *[request(lane_key=str(n % 5)) for n in range(20)])
        both = Limits(concurrency=4, rate="1/m", rate_key="customer")
        first = claim_within(store, both)
        assert len(first) == 4
        assert set(Counter(run.lane.key for run in first).values()) == {1}
        end(store, *first)
        (last,) = claim_within(store, both, at=2)
        assert last.lane.key not in {run.lane.key for run in first}
        end(store, last, at=3)
        assert claim_within(store, both, at=59) == []
        assert len(claim_within(store, both, at=60)) == 4

    def test_runs_from_before_a_job_had_its_key_count_together(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(3)], *[request(lane_key="a") for _ in range(3)])
        found = claim_within(store, Limits(concurrency=1, concurrency_key="customer"))
        assert sorted(str(run.lane.key) for run in found) == ["None", "a"]
        assert claim_within(store, Limits(concurrency=1, concurrency_key="customer")) == []

    def test_a_lost_run_frees_its_slot_when_it_is_given_back(self, store: CoreStore) -> None:
        """Nothing is counted but the runs themselves, so nothing can be left over."""
        add(store, request(), request())
        (run,) = claim_within(store, Limits(concurrency=1))
        assert claim_within(store, Limits(concurrency=1), at=31) == []
        store.runs.apply([state.lose(run, after(32), keep=KEEP.other)])
        assert len(claim_within(store, Limits(concurrency=1), at=33)) == 1

    def test_what_one_lane_does_not_need_another_gets(self, store: CoreStore) -> None:
        add(store, request(queue="a"), *[request(queue="b") for _ in range(9)], *[request(queue="c") for _ in range(2)])
        assert len(claim_within(store, Limits(concurrency=8))) == 8

    def test_no_more_than_quota_and_limit(self, store: CoreStore) -> None:
        add(store, *[request(queue=f"q{n % 4}") for n in range(20)])
        assert len(claim_within(store, Limits(concurrency=15), 3)) == 3
        assert max(Counter(run.queue for run in claim_within(store, Limits(concurrency=15), quota=2)).values()) == 2

    def test_expired_runs_take_no_room(self, store: CoreStore) -> None:
        asked = sorted([request(queue=f"q{n}", expires_at=after(5)) for n in range(6)], key=lambda new: new.run.lane.id)
        last = asked[-1].run
        asked[-1] = msgspec.structs.replace(asked[-1], run=msgspec.structs.replace(last, expires_at=None))
        add(store, *asked)
        (run,) = claim_within(store, Limits(concurrency=1), at=6)
        assert run.id == last.id

    def test_a_lease_is_as_long_as_ever_however_late_it_begins(self, store: CoreStore) -> None:
        """A claim may have waited for others under its limit: the lease begins when the run does."""
        (made,) = add(store, request())
        before = store.clock.now() - timedelta(seconds=20)
        terms = LeaseTerms.drawn("worker", before, before + timedelta(seconds=30))
        picks = [Pick(made.lane.id, made.rank, 1)]
        (run,) = store.runs.claim(picks, 1, terms, limits=limits_of(store, Limits(concurrency=1)))
        assert run.started_at is not None
        assert run.lease_until is not None
        assert run.lease_until - run.started_at == timedelta(seconds=30)

    def test_a_rate_lets_no_more_start_in_any_span(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(20)])
        rate = Limits(rate="3/10s")
        times = [0.0, 0.5, 4, 9.5, 10, 10.4, 10.5, 13.9, 14, 20, 20.4, 20.5]
        taken = {at: len(claim_within(store, rate, 1, at=at)) for at in times}
        assert taken == {0.0: 1, 0.5: 1, 4: 1, 9.5: 0, 10: 1, 10.4: 0, 10.5: 1, 13.9: 0, 14: 1, 20: 1, 20.4: 0, 20.5: 1}

    def test_a_rate_counts_starts_whatever_came_of_them(self, store: CoreStore) -> None:
        add(store, request(), request())
        (run,) = claim_within(store, Limits(rate="1/m"), 1)
        store.runs.apply([state.release(run, after(1))])
        assert claim_within(store, Limits(rate="1/m"), at=59) == []
        assert len(claim_within(store, Limits(rate="1/m"), at=60)) == 1

    def test_rate_and_concurrency_together(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(10)])
        both = Limits(concurrency=2, rate="3/m")
        first = claim_within(store, both)
        assert len(first) == 2
        end(store, *first)
        third = claim_within(store, both, at=2)
        assert len(third) == 1
        end(store, *third, at=3)
        assert claim_within(store, both, at=3) == []

    def test_chosen_runs_keep_to_limits(self, store: CoreStore) -> None:
        """In the order to be worked on, whatever order they were named in; what has no limit is taken."""
        late, early, urgent = add(store, request(at=3), request(at=1), request(at=4, priority=5))
        (free,) = add(store, request("free"))
        two = limits_of(store, Limits(concurrency=2))
        wanted = [late.id, free.id, early.id, urgent.id]
        first = take(store, wanted, at=5, limits=two)
        assert {run.id for run in first} == {urgent.id, early.id, free.id}
        assert take(store, wanted, at=5, limits=two) == []
        assert claim_within(store, Limits(concurrency=2), at=5) == []
        end(store, *first, at=6)
        assert [run.id for run in take(store, wanted, at=7, limits=two)] == [late.id]

    def test_chosen_runs_count_as_starts(self, store: CoreStore) -> None:
        runs = add(store, *[request() for _ in range(4)])
        rate = Limits(rate="3/m")
        limits = limits_of(store, rate)
        assert len(take(store, [run.id for run in runs[:2]], limits=limits)) == 2
        assert len(claim_within(store, rate, at=1)) == 1
        assert take(store, [runs[3].id], at=59, limits=limits) == []
        assert len(take(store, [runs[3].id], at=60, limits=limits)) == 1

    def test_unlimited_runs_beside_limited_ones(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(5)], *[request("free") for _ in range(5)])
        assert Counter(run.job for run in claim_within(store, Limits(concurrency=1))) == {"work": 1, "free": 5}

    def test_lanes_of_many_keys_can_be_listed_and_claimed(self, store: CoreStore) -> None:
        made = add(store, *[request(lane_key=f"k{n}") for n in range(1100)], request("other"))
        listed = store.runs.list(Filter("default", job="work", limit=2000))
        assert {run.id for run in listed} == {run.id for run in made[:-1]}
        assert store.runs.list(Filter("stranger", limit=2000)) == []
        assert len(store.runs.list(Filter("default", limit=2000))) == 1101
        taken = claim(store, 2000) + claim(store, 2000)
        assert {run.lane.key for run in taken} == {None, *(f"k{n}" for n in range(1100))}
