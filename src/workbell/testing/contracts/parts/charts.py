"""Contract of dashboard reads: tallies by time steps, next schedules, last runs of jobs."""

from __future__ import annotations

from typing import Any

from workbell.model import state
from workbell.model.clock import EPOCH
from workbell.model.ended_run import EndedRun
from workbell.model.ids import new_id
from workbell.model.run import Run, Status
from workbell.model.schedule import FireStatus
from workbell.stores.port import Store
from workbell.testing.contracts.core.scheduling import begin, schedule
from workbell.testing.contracts.making import KEEP, START, add, after, claim, ids, request
from workbell.testing.contracts.parts.tallies import tally

STEP = 300
FIRST = int((START - EPOCH).total_seconds()) // STEP  # the start is the beginning of a step


def ended(store: Store, *, at: float, fail: bool = False, job: str = "work", **lane: Any) -> Run:
    """A run that was started two seconds after it was made, and ended three later."""
    [made] = add(store, request(job, at=at, **lane))
    [run] = claim(store, at=at + 2)
    assert run.id == made.id
    if fail:
        change = state.fail(run, after(at + 5), error="E", reason="error", keep=KEEP.other, started_at=after(at + 2))
    else:
        change = state.succeed(run, after(at + 5), result="1", keep=KEEP.succeeded, started_at=after(at + 2))
    assert store.runs.apply([change]) == {run.id}
    return change.after(run)


class ChartsContract:
    def test_tallies_by_steps_of_time(self, store: Store) -> None:
        store.tallies.add([tally(minute, count=1) for minute in (-1, 0, 4, 5, 14)])
        store.tallies.add(
            [tally(0, status="failed", count=3), tally(0, job="b", count=4), tally(0, queue="q", count=5)]
        )
        store.tallies.add([tally(0, tenant="acme", count=9)])
        span: dict[str, Any] = {"since": after(0), "until": after(840), "step": STEP}
        found = store.tallies.sum("default", **span, job=None, queue=None)
        assert sorted(found) == [
            (FIRST, "b", "succeeded", 4),
            (FIRST, "send", "failed", 3),
            (FIRST, "send", "succeeded", 7),
            (FIRST + 1, "send", "succeeded", 1),
        ]
        assert store.tallies.sum("default", **span, job="b", queue=None) == [(FIRST, "b", "succeeded", 4)]
        assert store.tallies.sum("default", **span, job=None, queue="q") == [(FIRST, "send", "succeeded", 5)]
        assert store.tallies.sum("default", **span, job="b", queue="q") == []
        # The totals, which stand at the beginning of time, are no minute.
        every = store.tallies.sum("acme", since=EPOCH, until=after(10**6), step=STEP, job=None, queue=None)
        assert every == [(FIRST, "send", "succeeded", 9)]

    def test_schedules_by_their_next_runs(self, store: Store) -> None:
        begin(
            store,
            schedule("late", next_run_at=after(30), look_at=after(1)),
            schedule("b", next_run_at=after(20)),
            schedule("a", next_run_at=after(20)),
            schedule("past", next_run_at=after(-20)),
            schedule("over", next_run_at=None),
            schedule("off", next_run_at=after(1), enabled=False),
            schedule("paused", next_run_at=after(1), paused=True),
            schedule("theirs", next_run_at=after(1), tenant="acme"),
        )
        assert [one.name for one in store.reports.upcoming("default", 10)] == ["past", "a", "b", "late"]
        assert [one.next_run_at for one in store.reports.upcoming("default", 2)] == [after(-20), after(20)]
        assert [one.name for one in store.reports.upcoming("acme", 10)] == ["theirs"]
        assert store.reports.upcoming("nobody", 10) == []

    def test_broken_schedules_of_all_tenants(self, store: Store) -> None:
        """E5: one that the scheduler failed with is listed, until it is paused, switched off or mended."""
        failed = {"last_fire_status": FireStatus.SCHEDULER_FAILED, "last_error": "cannot be read"}
        begin(
            store,
            schedule("b", **failed),
            schedule("a", **failed),
            schedule("theirs", tenant="acme", **failed),
            schedule("off", enabled=False, **failed),
            schedule("paused", paused=True, **failed),
            schedule("mended", **(failed | {"last_error": None})),
            schedule("fine", last_fire_status=FireStatus.FIRED),
            schedule("new"),
        )
        assert [one.name for one in store.reports.broken(10)] == ["theirs", "a", "b"]
        assert [(one.name, one.last_error) for one in store.reports.broken(1)] == [("theirs", "cannot be read")]

    def test_the_last_runs_of_jobs(self, store: Store) -> None:
        first = ended(store, at=0)
        second = ended(store, at=10, fail=True, queue="q")
        third = ended(store, at=20, queue="q", target="label:x")
        other = ended(store, at=30, job="other")
        ended(store, at=40, tenant="acme")
        [canceled] = add(store, request(at=50))
        assert store.runs.apply([state.cancel(canceled, after(51), reason="-", keep=KEEP.other)]) == {canceled.id}
        add(store, request(at=60))  # not finished
        found = store.reports.recent("default", ["work", "other", "never"], 10)
        assert [one.id for one in found["work"]] == ids([canceled, third, second, first])
        assert found["work"][2:] == [
            EndedRun(second.id, Status.FAILED, 1, after(12), after(15)),
            EndedRun(first.id, Status.SUCCEEDED, 1, after(2), after(5)),
        ]
        assert found["work"][0] == EndedRun(canceled.id, Status.CANCELED, 0, None, after(51))
        assert [one.duration for one in found["work"]] == [None, 3.0, 3.0, 3.0]
        assert [one.id for one in found["other"]] == [other.id]
        assert found["never"] == []
        assert [one.id for one in store.reports.recent("default", ["work"], 2)["work"]] == ids([canceled, third])
        assert store.reports.recent("default", [], 2) == {}

    def test_the_last_runs_of_a_job_with_a_crowd_of_lanes(self, store: Store) -> None:
        """Those of the lanes that were used last, and several of one lane."""
        lanes = [f"k{number}" for number in range(7)]
        made = [request(at=index, lane_key=key, id=new_id()) for index, key in enumerate([*lanes, "k6", "k5", "k6"])]
        runs = add(store, *sorted(made, key=lambda new: new.run.id))
        changes = [state.cancel(run, after(99), reason="-", keep=KEEP.other) for run in runs]
        assert len(store.runs.apply(changes)) == len(runs)
        newest_first = ids(sorted(runs, key=lambda run: run.id, reverse=True))
        for most in (1, 2, 3, 5, 7, 20):
            found = store.reports.recent("default", ["work"], most)["work"]
            assert [one.id for one in found] == newest_first[:most], most
