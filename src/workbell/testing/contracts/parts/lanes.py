"""Contract of lanes: counts of waiting and running runs, used limits, and removal of empty lanes."""

from __future__ import annotations

from datetime import timedelta

from workbell.model import state
from workbell.model.limit import Limits, limits_on
from workbell.model.run import Lane
from workbell.stores.port import Counts, Pick, Store
from workbell.testing.contracts.core.limiting import DAY, claim_within, end
from workbell.testing.contracts.making import KEEP, add, after, claim, claim_picks, claimed, request


class LanesContract:
    def test_how_many_are_ahead(self, store: Store) -> None:
        """F5."""
        low, first, second, high = add(store, request(priority=-1), request(), request(at=1), request(priority=1, at=2))
        add(store, request(queue="other", priority=9), request(delay=60, priority=9))
        assert [store.reports.ahead_of(run) for run in (high, first, second, low)] == [0, 1, 2, 3]
        claim_picks(store, [Pick(high.lane.id, high.rank, 1)], 1, at=3)
        assert store.reports.ahead_of(low) == 2

    def test_counts_of_live_runs_by_lane(self, store: Store) -> None:
        claimed(store, queue="mail")
        done = claimed(store, queue="done")
        store.runs.apply([state.succeed(done, after(1), result=None, keep=KEEP.succeeded)])
        add(store, request(queue="mail", at=7), request(queue="mail", at=6), request(queue="mail", delay=9))
        add(store, request(tenant="b", at=4), request(tenant="b", at=3, delay=9))
        store.pauses.add("b", "default", None, after(5))
        expected = {
            Counts(Lane("default", "mail", "work"), 1, 2, 1, False, after(6)),
            Counts(Lane("b", "default", "work"), 1, 1, 0, True, after(4)),
        }
        assert set(store.reports.counts()) == expected
        for tenant in ("default", "b"):
            assert set(store.reports.counts(tenant)) == {one for one in expected if one.lane.tenant == tenant}
        assert store.reports.counts("nobody") == []

    def test_how_many_run_in_the_lane_of_a_run(self, store: Store) -> None:
        add(store, *[request(lane_key="a") for _ in range(3)])
        assert len(claim(store, limit=2)) == 2
        waiting, elsewhere, theirs = add(
            store, request(lane_key="a"), request(lane_key="b"), request(tenant="t", lane_key="a")
        )
        assert [store.reports.running_beside(run) for run in (waiting, elsewhere, theirs)] == [2, 0, 0]

    def test_how_much_is_taken_can_be_asked(self, store: Store) -> None:
        add(store, *[request(lane_key="a") for _ in range(4)])
        limits = Limits(concurrency=3, concurrency_key="customer", rate="5/m", rate_key="customer")
        (limit,) = limits_on(limits, Lane("default", "default", "work", None, "a"))
        assert limit.room(store.limits.uses([limit])[limit.id], after(0)) == 3
        end(store, *claim_within(store, limits))
        use = store.limits.uses([limit])[limit.id]
        assert (use.running, limit.room(use, after(1)), limit.room(use, after(60))) == (0, 2, 3)
        claim_within(store, limits, at=1)
        assert store.limits.uses([limit, limit])[limit.id].running == 1

    def test_a_lane_of_a_key_goes_when_nothing_is_left_of_it(self, store: Store) -> None:
        """And comes back when it is asked for again."""
        used = {"scheduled": request(delay=99 * DAY, lane_key="s"), "queued": request(lane_key="q", at=3)}
        done, gone = request(lane_key="done"), request(lane_key="gone", at=1)
        add(store, *used.values(), done, gone, request("plain"))
        for run in claim(store, at=2):
            if run.id == done.run.id:
                store.runs.apply([state.succeed(run, after(3), result=None, keep=timedelta(days=400))])
            elif run.id == gone.run.id:
                store.runs.apply([state.succeed(run, after(3), result=None, keep=timedelta(days=1))])
            else:
                store.runs.apply([state.release(run, after(3))])
        for _ in range(2):
            store.prune(after(3 * DAY), 100)
        keys = {lane.key for batch in store.export() for lane in batch.lanes}
        assert keys == {"s", "q", "done", None}
        again = add(store, request(lane_key="gone", at=4 * DAY))
        assert {run.id for run in claim(store, at=5 * DAY)} >= {run.id for run in again}

    def test_lanes_of_many_keys_are_counted(self, store: Store) -> None:
        add(store, *[request(lane_key=f"k{n}") for n in range(1100)], request("other"))
        assert len(store.reports.counts()) == 1101
