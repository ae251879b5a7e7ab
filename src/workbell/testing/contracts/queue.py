"""The contract of a queue: what is handed out, to whom, and in which order.

Subclass `QueueContract` and supply two fixtures: `store`, an empty store, and `queue`, a queue in front of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from workbell.model import state
from workbell.model.limit import Limit, Limits, limits_on
from workbell.model.run import Lane, NewRun, Run, Status
from workbell.queues.port import Claimant, Queue
from workbell.stores.port import Store
from workbell.testing.contracts.making import after, find, ids, request

SOON = 12  # claims within which something new must be seen though there is a backlog
LANES = 520  # more than any queue looks at in one go


def everything(_lane: Lane) -> bool:
    return True


def claimant(serves: Callable[[Lane], bool] = everything, worker: str = "worker") -> Claimant:
    return Claimant(worker, timedelta(seconds=30), serves)


def put(store: Store, queue: Queue, *requests: NewRun) -> list[str]:
    """Make runs and announce them, as the dispatcher does."""
    made = [answer.id for answer in store.runs.add(requests)]
    queue.send(made)
    return made


def claim_until_idle(queue: Queue, limit: int, serves: Callable[[Lane], bool] = everything, idle: int = 3) -> list[Run]:
    """Claim again and again; a queue with many lanes may look at some of them and find nothing."""
    every: list[Run] = []
    empty = 0
    while empty < idle:
        runs = queue.claim(claimant(serves), limit, after(0))
        empty = 0 if runs else empty + 1
        every += runs
    return every


def claim_all(queue: Queue, who: Claimant, now: datetime, slots: int | None = None, limit: int = 10) -> list[Run]:
    every: list[Run] = []
    while runs := queue.claim(who, limit, now, slots):
        every += runs
    return every


def only(job: str, limits: Limits) -> Callable[[Lane], Sequence[Limit]]:
    """Limits of one job."""
    return lambda lane: limits_on(limits, lane) if lane.job == job else ()


class QueueContract:
    def test_an_empty_queue_gives_nothing(self, queue: Queue) -> None:
        assert queue.claim(claimant(), 10, after(0)) == []

    def test_a_run_is_claimed_in_the_store_under_a_lease(self, store: Store, queue: Queue) -> None:
        """D6, D7: the store is the truth."""
        put(store, queue, request())
        (run,) = queue.claim(claimant(worker="w9"), 10, after(5))
        assert (run.status, run.worker, run.token) == (Status.RUNNING, "w9", 1)
        assert run.lease_until == after(35)
        assert find(store, run) == run
        queue.done([run.id])
        assert queue.claim(claimant(), 10, after(5)) == []

    def test_no_more_than_asked_for(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request(queue=f"q{n % 3}", tenant=f"t{n % 2}") for n in range(20)])
        sizes = []
        while runs := queue.claim(claimant(), 7, after(0)):
            sizes.append(len(runs))
        assert sum(sizes) == 20
        assert max(sizes) <= 7

    def test_only_lanes_the_claimant_serves(self, store: Store, queue: Queue) -> None:
        """D11: an unknown handler's run waits, and nothing is spent."""
        known = put(store, queue, request("known"), request("known", queue="mail"))
        unknown = put(store, queue, request("unknown"), request("known", target="machine"))
        runs = claim_until_idle(queue, 10, lambda lane: lane.job == "known" and lane.target is None)
        assert sorted(ids(runs)) == sorted(known)
        assert [(find(store, run).status, find(store, run).attempt) for run in unknown] == [(Status.QUEUED, 0)] * 2

    def test_a_claim_is_in_the_order_to_be_worked_on(self, store: Store, queue: Queue) -> None:
        late, early, same = request(at=3), request(at=1), request(at=1)
        put(store, queue, late, early, same)
        assert ids(queue.claim(claimant(), 10, after(5))) == [early.run.id, same.run.id, late.run.id]

    def test_priority_is_strict_within_a_tenant(self, store: Store, queue: Queue) -> None:
        made = [request(priority=n % 5, queue=f"q{n % 2}") for n in range(40)]
        put(store, queue, *made)
        taken = claim_until_idle(queue, 4)
        assert len(taken) == 40
        assert [run.priority for run in taken] == sorted((run.priority for run in taken), reverse=True)

    def test_an_urgent_run_does_not_wait_for_the_backlog(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request() for _ in range(100)])
        assert len(queue.claim(claimant(), 2, after(0))) == 2
        (urgent,) = put(store, queue, request(priority=9))
        taken = [run.id for _ in range(SOON) for run in queue.claim(claimant(), 2, after(0))]
        assert urgent in taken

    def test_tenants_share_evenly(self, store: Store, queue: Queue) -> None:
        """E6: one tenant's backlog does not starve another."""
        put(store, queue, *[request(tenant="big", priority=9) for _ in range(60)])
        put(store, queue, *[request(tenant="small") for _ in range(6)])
        first = Counter(run.tenant for run in queue.claim(claimant(), 12, after(0)))
        assert first["small"] >= 4
        assert first["big"] >= 4

    def test_tenants_take_turns_at_single_runs(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request(tenant=f"t{n % 3}") for n in range(30)])
        taken = Counter(run.tenant for _ in range(9) for run in queue.claim(claimant(), 1, after(0)))
        assert taken == {"t0": 3, "t1": 3, "t2": 3}

    def test_a_tenant_that_comes_late_gets_its_turn(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request(tenant="big") for _ in range(100)])
        queue.claim(claimant(), 2, after(0))
        (late,) = put(store, queue, request(tenant="late"))
        taken = [run.id for _ in range(SOON) for run in queue.claim(claimant(), 2, after(0))]
        assert late in taken

    def test_lanes_of_a_tenant_share_too(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request(queue="a") for _ in range(40)], *[request(queue="b") for _ in range(4)])
        assert Counter(run.queue for run in queue.claim(claimant(), 8, after(0))) == {"a": 4, "b": 4}

    def test_any_number_of_lanes_is_reached(self, store: Store, queue: Queue) -> None:
        made = put(store, queue, *[request(queue=f"q{n}") for n in range(LANES)])
        assert sorted(ids(claim_until_idle(queue, 50))) == sorted(made)

    def test_lanes_that_are_not_served_do_not_hide_others(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request("unknown", queue=f"q{n}") for n in range(LANES)])
        wanted = put(store, queue, *[request("known", queue=f"q{n}") for n in range(5)])
        assert sorted(ids(claim_until_idle(queue, 50, lambda lane: lane.job == "known"))) == sorted(wanted)

    def test_a_whole_page_of_lanes_with_nothing_to_claim_has_an_end(self, store: Store, queue: Queue) -> None:
        """However many lanes a queue looks at in one go: also if it is exactly as many as there are."""
        put(store, queue, *(request(queue=f"queue {number}") for number in range(500)))
        assert queue.claim(claimant(lambda _lane: False), 10, after(0)) == []

    def test_paused_lanes_do_not_hide_others(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request("paused", queue=f"q{n}") for n in range(LANES)])
        store.pauses.add("default", None, "paused", after(0))
        wanted = put(store, queue, *[request("known", queue=f"q{n}") for n in range(5)])
        assert sorted(ids(claim_until_idle(queue, 50))) == sorted(wanted)

    def test_a_limit_is_kept_and_its_place_given_again(self, store: Store, queue: Queue) -> None:
        made = put(store, queue, *[request() for _ in range(5)], *[request("free") for _ in range(5)])
        limited = claimant()._replace(limits=only("work", Limits(concurrency=2)))
        first = claim_all(queue, limited, after(0))
        assert Counter(run.job for run in first) == {"work": 2, "free": 5}
        store.runs.apply([state.release(next(run for run in first if run.job == "work"), after(1))])
        second = claim_all(queue, limited, after(2))
        assert [run.job for run in second] == ["work"]
        assert {run.id for run in (*first, *second)} < set(made)

    def test_of_limited_runs_no_more_than_there_are_slots(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request(lane_key=str(n)) for n in range(9)], *[request("free") for _ in range(9)])
        limited = claimant()._replace(limits=only("work", Limits(concurrency=1, concurrency_key="k")))
        found = queue.claim(limited, 12, after(0), 2)
        assert Counter(run.job for run in found)["work"] == 2
        assert Counter(run.job for run in claim_all(queue, limited, after(0), 0)).get("work") is None

    def test_keys_at_their_limit_do_not_hide_others(self, store: Store, queue: Queue) -> None:
        """Any number of them, and none of their share is lost."""
        limited = claimant()._replace(limits=only("work", Limits(concurrency=1, concurrency_key="k")))
        put(store, queue, *[request(lane_key=str(n), queue=f"q{n}") for n in range(LANES)])
        assert len(claim_all(queue, limited, after(0))) == LANES
        put(store, queue, *[request(lane_key=str(n), queue=f"q{n}") for n in range(LANES)])
        wanted = put(store, queue, *[request(lane_key=f"new{n}") for n in range(7)])
        assert sorted(ids(claim_all(queue, limited, after(0)))) == sorted(wanted)

    def test_it_is_known_when_a_rate_lets_the_next_start(self, store: Store, queue: Queue) -> None:
        put(store, queue, *[request() for _ in range(5)])
        limited = claimant()._replace(limits=only("work", Limits(rate="2/m")))
        assert len(claim_all(queue, limited, after(0))) == 2
        assert queue.free_at == after(60)
        assert queue.claim(limited, 10, after(59)) == []
        assert queue.free_at == after(60)
        assert len(claim_all(queue, limited, after(60))) == 2
        assert queue.claim(claimant(), 10, after(61)) != []
        assert queue.free_at is None

    def test_a_pause_is_seen_soon(self, store: Store, queue: Queue) -> None:
        """Also by a queue that keeps what it saw for a while."""
        put(store, queue, *[request() for _ in range(50)])
        assert len(queue.claim(claimant(), 2, after(0))) == 2
        store.pauses.add("default", "default", None, after(0))
        assert queue.claim(claimant(), 2, after(1)) == []

    def test_expired_runs_are_not_handed_out(self, store: Store, queue: Queue) -> None:
        put(store, queue, request(expires_at=after(10)))
        assert queue.claim(claimant(), 10, after(11)) == []

    def test_a_run_that_was_lost_on_the_way_is_found_in_the_store(self, store: Store, queue: Queue) -> None:
        """D7, D11: a lost message loses no run; here it was never sent."""
        (answer,) = store.runs.add([request()])
        assert ids(claim_until_idle(queue, 10)) == [answer.id]
