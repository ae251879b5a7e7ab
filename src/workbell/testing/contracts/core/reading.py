"""Contract of reads: waiting runs and jobs; and removal of expired rows."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.job import Job
from workbell.model.retry import Retry
from workbell.model.run_defaults import RunDefaults
from workbell.stores.port import CoreStore, Filter
from workbell.testing.contracts.making import START, add, after, claim, claimed, ids, request


def job(name: str, **fields: object) -> Job:
    given = {"id": new_id(), "name": name, "handler": f"module:{name}", "created_at": START, "updated_at": START}
    return Job(**(given | fields))  # type: ignore[arg-type]


class ReadingContract:
    def test_pending_of_server_processes(self, store: CoreStore) -> None:
        """B9."""
        claimed(store, accepted_by="host/1/1")
        queued, delayed, _persistent = add(
            store, request(accepted_by="host/1/1"), request(accepted_by="host/2/9", delay=9), request()
        )
        assert sorted(store.runs.accepting()) == ["host/1/1", "host/2/9"]
        assert ids(store.runs.pending(accepted_by="host/1/1", limit=9)) == [queued.id]
        assert ids(store.runs.pending(accepted_by="host/2/9", limit=9)) == [delayed.id]
        assert store.runs.pending(accepted_by="host/3/1", limit=9) == []
        add(store, request(accepted_by="host/1/1"))
        assert len(store.runs.pending(accepted_by="host/1/1", limit=1)) == 1

    def test_runs_that_were_queued_long_ago(self, store: CoreStore) -> None:
        """D11."""
        claimed(store)
        old, other, _young, _delayed, _aimed = add(
            store, request(), request(tenant="b"), request(at=5), request(delay=1), request(target="agent/x")
        )
        assert sorted(ids(store.runs.pending(queued_before=after(5), limit=10))) == sorted([old.id, other.id])
        assert len(store.runs.pending(queued_before=after(5), limit=1)) == 1
        assert store.runs.pending(queued_before=after(0), limit=10) == []

    def test_jobs_are_kept_by_name(self, store: CoreStore) -> None:
        """D2, C1."""
        full = job(
            "send",
            queue="mail",
            description="Sends 'mail'.",
            input_text='{"a":1}',
            retry=Retry(attempts=7, give_up_on=("ValueError",)),
            timeout=2.5,
            enabled=False,
            options=RunDefaults(tag="t", user_id="ada", replace_tag=True, remove_delay=0.5),
        )
        store.jobs.put([full, job("clean"), job("send", tenant="b")])
        assert store.jobs.find("default", "send") == full
        assert store.jobs.find("default", "nothing") is None
        assert [found.name for found in store.jobs.list("default")] == ["clean", "send"]
        assert [found.name for found in store.jobs.list("nobody")] == []

    def test_a_job_put_again_is_updated_and_keeps_its_identity(self, store: CoreStore) -> None:
        old = job("send")
        new = job("send", queue="mail", created_at=after(5), updated_at=after(5))
        store.jobs.put([old])
        store.jobs.put([new])
        assert store.jobs.list("default") == [msgspec.structs.replace(new, id=old.id, created_at=START)]

    def test_attempts_are_read_in_pages(self, store: CoreStore) -> None:
        """A handler that asks to be called later leaves one each time: there may be any number."""
        run = claimed(store)
        for second in range(1, 5):
            store.runs.apply([state.release(run, after(second), started_at=after(second))])
            (run,) = claim(store, at=second)
        assert [one.number for one in store.runs.attempts(run.id)] == [1, 2, 3, 4]
        assert [one.number for one in store.runs.attempts(run.id, limit=2)] == [1, 2]
        assert [one.number for one in store.runs.attempts(run.id, after=1, limit=2)] == [2, 3]
        assert [one.number for one in store.runs.attempts(run.id, after=3)] == [4]
        assert store.runs.attempts(run.id, after=4) == []

    def test_finished_runs_are_removed_when_their_time_is_over(self, store: CoreStore) -> None:
        """B7: with their attempts; live runs and younger ones stay."""
        run = claimed(store)
        store.runs.apply([state.release(run, after(1), started_at=after(1))])
        (run,) = claim(store, at=2)
        store.runs.apply([state.succeed(run, after(3), result=None, keep=timedelta(seconds=10))])
        young = claimed(store, at=3)
        store.runs.apply([state.succeed(young, after(4), result=None, keep=timedelta(seconds=60))])
        live = claimed(store, at=4)
        assert len(store.runs.attempts(run.id)) == 1
        assert store.prune(after(12), 100) == 0
        assert store.prune(after(13), 100) == 1
        assert store.runs.attempts(run.id) == []
        assert sorted(ids(store.runs.list(Filter(None)))) == sorted([young.id, live.id])

    def test_removal_is_in_batches_oldest_first(self, store: CoreStore) -> None:
        runs = add(store, *[request() for _ in range(5)])
        for index, run in enumerate(runs):
            keep = timedelta(seconds=50 - index)
            assert store.runs.apply([state.cancel(run, after(0), reason="-", keep=keep)])
        assert store.prune(after(99), 2) == 2
        assert sorted(ids(store.runs.list(Filter(None)))) == sorted(ids(runs[:3]))
        assert store.prune(after(99), 100) == 3
        assert store.prune(after(99), 100) == 0

    def test_upkeep_can_be_called_at_any_time(self, store: CoreStore) -> None:
        (run,) = add(store, request())
        store.tidy()
        store.check()
        assert store.migrate() == []
        store.measure_time()
        assert all(level in ("ok", "note", "risk") and what and text for level, what, text in store.describe())
        assert store.runs.find([run.id])
