"""Contract of pauses: paused lanes are left out of every survey until they are resumed."""

from __future__ import annotations

from typing import Any

from workbell.model import state
from workbell.model.limit import Limits, limits_on
from workbell.model.pause import Pause
from workbell.stores.port import Store
from workbell.testing.contracts.core.texts import nasty
from workbell.testing.contracts.making import add, after, claim, request, take


def waiting(store: Store) -> set[tuple[str, str, str]]:
    """Tenants, queues and jobs that a claim could take from."""
    return {(head.lane.tenant, head.lane.queue, head.lane.job) for head in store.runs.survey(-1, 100)}


def fill(store: Store) -> None:
    add(store, request("a", queue="x"), request("b", queue="x"), request("a", queue="y"))
    add(store, request("a", queue="x", tenant="t"), request("a", queue="x", lane_key="7"))


class PausingContract:
    def test_a_queue_is_paused(self, store: Store) -> None:
        """The queue of one tenant, with all its jobs and keys."""
        fill(store)
        assert store.pauses.add("default", "x", None, after(5)) == Pause("default", "x", None, after(5))
        assert waiting(store) == {("default", "y", "a"), ("t", "x", "a")}
        assert store.pauses.remove("default", "x", None) == 1
        assert len(claim(store)) == 5

    def test_a_job_is_paused(self, store: Store) -> None:
        fill(store)
        store.pauses.add("default", None, "a", after(5))
        assert waiting(store) == {("default", "x", "b"), ("t", "x", "a")}
        assert store.pauses.remove("default", None, "a") == 1
        assert len(store.runs.survey(-1, 100)) == 5

    def test_a_job_in_a_queue_is_paused(self, store: Store) -> None:
        fill(store)
        store.pauses.add("default", "x", "a", after(5))
        assert waiting(store) == {("default", "x", "b"), ("default", "y", "a"), ("t", "x", "a")}
        assert store.pauses.remove("default", "y", "a") == 0
        assert store.pauses.remove("default", "x", "a") == 1
        assert len(store.runs.survey(-1, 100)) == 5

    def test_what_comes_after_the_pause_is_paused_too(self, store: Store) -> None:
        """Also in lanes that did not exist."""
        store.pauses.add("default", "x", None, after(5))
        add(store, request("new", queue="x"), request("new", queue="x", lane_key="7"), request("new", queue="y"))
        assert waiting(store) == {("default", "y", "new")}

    def test_pausing_twice_is_pausing_once(self, store: Store) -> None:
        first = store.pauses.add("default", "x", None, after(5))
        assert store.pauses.add("default", "x", None, after(9)) == first
        assert store.pauses.list("default") == [first]
        assert store.pauses.remove("default", "x", None) == 1
        assert store.pauses.remove("default", "x", None) == 0

    def test_resuming_a_queue_or_a_job_ends_all_pauses_within(self, store: Store) -> None:
        for queue, job in (("x", None), ("x", "a"), ("y", "a"), (None, "a"), (None, "b")):
            store.pauses.add("default", queue, job, after(5))
        assert store.pauses.remove("default", "x", None) == 2
        assert [(pause.queue, pause.job) for pause in store.pauses.list()] == [(None, "a"), ("y", "a"), (None, "b")]
        assert store.pauses.remove("default", None, "a") == 2
        assert [str(pause) for pause in store.pauses.list()] == ["job b"]

    def test_a_job_that_is_paused_stays_so_when_its_queue_is_resumed(self, store: Store) -> None:
        fill(store)
        store.pauses.add("default", "x", None, after(5))
        store.pauses.add("default", None, "a", after(5))
        store.pauses.remove("default", "x", None)
        assert waiting(store) == {("default", "x", "b"), ("t", "x", "a")}

    def test_pauses_are_of_one_tenant(self, store: Store) -> None:
        one, other = store.pauses.add("default", "x", None, after(5)), store.pauses.add("t", "x", None, after(6))
        assert store.pauses.list("default") == [one]
        assert store.pauses.list() == [one, other]
        assert store.pauses.remove("t", "x", None) == 1
        assert store.pauses.list() == [one]

    def test_a_pause_of_one_tenant_leaves_chosen_runs_of_another_alone(self, store: Store) -> None:
        paused, other = add(store, request("a", queue="x"), request("a", queue="x", tenant="t"))
        store.pauses.add("default", "x", None, after(5))
        limits = limits_on(Limits(concurrency=1), other.lane)
        ids, lanes = [paused.id, other.id], [paused.lane.id, other.lane.id]
        ways: list[dict[str, Any]] = [{}, {"limits": {other.lane.id: limits}}, {"lanes": lanes}]
        for wanted in ways:
            assert [run.id for run in take(store, ids, at=6, **wanted)] == [other.id]
            (running,) = store.runs.held_by("worker")
            store.runs.apply([state.release(running, after(6))])

    def test_counts_show_what_is_paused(self, store: Store) -> None:
        fill(store)
        store.pauses.add("default", "x", "a", after(5))
        paused = {
            (counts.lane.queue, counts.lane.job, counts.lane.key) for counts in store.reports.counts() if counts.paused
        }
        assert paused == {("x", "a", None), ("x", "a", "7")}

    def test_paused_lanes_are_left_out_and_do_not_fill_a_page(self, store: Store) -> None:
        """A page of paused lanes would otherwise seem to be the last page."""
        add(store, *[request(queue=f"q{n}") for n in range(10)])
        every = store.runs.survey(-1, 100)
        for head in every[:4]:
            store.pauses.add("default", head.lane.queue, None, after(0))
        assert store.runs.survey(-1, 4) == every[4:8]
        store.pauses.remove("default", every[0].lane.queue, None)
        assert store.runs.survey(-1, 2) == [every[0], every[4]]

    def test_lanes_of_a_tenant_that_are_paused_are_left_out(self, store: Store) -> None:
        add(store, request(), request("off"))
        store.pauses.add("default", None, "off", after(5))
        assert [head.lane.job for head in store.runs.survey_tenant("default", 9)] == ["work"]

    def test_chosen_runs_of_paused_lanes_are_not_taken(self, store: Store) -> None:
        off, on, elsewhere = add(store, request("off"), request(), request(queue="closed"))
        store.pauses.add("default", None, "off", after(5))
        store.pauses.add("default", "closed", None, after(5))
        wanted = [off.id, on.id, elsewhere.id]
        assert [run.id for run in take(store, wanted)] == [on.id]
        lanes = [run.lane.id for run in (off, on, elsewhere)]
        assert take(store, wanted, lanes=lanes) == []
        assert store.pauses.remove("default", None, "off")
        assert [run.id for run in take(store, wanted, lanes=lanes)] == [off.id]
        assert store.pauses.remove("default", "closed", None)
        assert [run.id for run in take(store, wanted)] == [elsewhere.id]

    @nasty
    def test_pauses_keep_their_texts(self, store: Store, text: str) -> None:
        name = text[:100]
        add(store, request(name, queue=name))
        store.pauses.add("default", name, name, after(0))
        assert [counts.paused for counts in store.reports.counts()] == [True]
        assert store.runs.survey(-1, 10) == []
        assert store.pauses.remove("default", name, name) == 1
        assert len(store.runs.survey(-1, 10)) == 1
