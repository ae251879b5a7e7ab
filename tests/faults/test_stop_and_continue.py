"""SIGSTOP beyond the lease: another worker takes the run over, and the first one's result is not taken (D6, F1)."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.processes import Site, file_of, freeze, thaw
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Status, Workbell
from workbell.model.run import LIVE

Requests = list[tuple[str, Mapping[str, object]]]


@pytest.mark.parametrize("job", ["held_async", "held_plain"])
def test_stopped_beyond_its_lease(tmp_path: Path, sql_store_url: str, job: str) -> None:
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        first = site.worker()
        run = bell.enqueue(job, {"gate": "first"})
        site.recorder.acknowledged([run])
        assert site.await_start(run.id)["pid"] == first.pid
        freeze(first, file_of(sql_store_url))

        second = site.worker()
        assert site.await_start(run.id, 2)["pid"] == second.pid
        site.open_gate("first")
        ended = bell.wait(run.id, timeout=30)
        assert (ended.status, ended.result["token"], ended.losses) == (Status.SUCCEEDED, ended.token, 1)

        # Only the first is left, so what comes now can be done by nobody else.
        second.send_signal(signal.SIGTERM)
        assert second.wait(30) == 0
        thaw(first)
        until(lambda: "its lease was lost" in site.logged(), "the first worker to learn of its loss")
        fresh = bell.enqueue(job, {"gate": "first"})
        site.recorder.acknowledged([fresh])
        assert bell.wait(fresh.id, timeout=30).status is Status.SUCCEEDED
        assert site.await_start(fresh.id)["pid"] == first.pid
        first.send_signal(signal.SIGTERM)
        assert first.wait(30) == 0

        assert bell.get(run.id) == ended
        assert [attempt.status.value for attempt in bell.attempts(run.id)] == ["lost", "succeeded"]
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


@pytest.mark.parametrize("job", ["held_async", "held_plain"])
def test_continued_while_the_other_still_works(tmp_path: Path, sql_store_url: str, job: str) -> None:
    """The first one's result arrives while the run is live, under the second's token: only the fence keeps it out."""
    with Site(tmp_path, sql_store_url) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        first = site.worker()
        run = bell.enqueue(job, {"gate": "gate"})
        site.recorder.acknowledged([run])
        site.await_start(run.id)
        freeze(first, file_of(sql_store_url))
        second = site.worker()
        assert site.await_start(run.id, 2)["pid"] == second.pid

        site.open_gate("gate-1")
        thaw(first)  # its handler returns at once
        until(lambda: "its lease was lost" in site.logged(), "the first worker to learn of its loss")
        held = bell.get(run.id)
        assert (held.status, held.attempt) == (Status.RUNNING, 2)
        site.open_gate("gate-2")
        ended = bell.wait(run.id, timeout=30)
        assert (ended.status, ended.result) == (Status.SUCCEEDED, {"token": held.token, "attempt": 2})
        violations = check(bell.store, site.events())
        assert not violations, report(violations)


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_what_waits_in_a_stopped_worker_does_not_begin_there(tmp_path: Path, sql_store_url: str, kind: str) -> None:
    """Runs that it has claimed and not begun are executed by another worker meanwhile. When it goes on, it knows by its
    clock that their leases are over."""
    with Site(tmp_path, sql_store_url, CONCURRENCY="1") as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        first = site.worker()
        site.await_ready(first)
        for turn in range(10):  # on a busy machine they may have been handed back before it is stopped
            warm_up: Requests = [(f"quick_{kind}", {})] * 300  # so that it claims ahead
            runs = bell.enqueue_many([*warm_up, (f"held_{kind}", {"gate": f"gate{turn}"}), *warm_up[:100]])
            site.recorder.acknowledged(runs)
            site.await_start(runs[300].id)
            freeze(first, file_of(sql_store_url))
            begun = {event["run"] for event in site.starts()}
            claimed = [run.id for run in bell.runs(status=[Status.RUNNING], limit=1000) if run.id not in begun]
            if len(claimed) >= 3:
                break
            site.open_gate(f"gate{turn}")
            thaw(first)

        second = site.worker()
        site.open_gate(f"gate{turn}-2")
        until(lambda: not bell.runs(status=LIVE, limit=1), "the second worker to end all runs", 60)
        second.send_signal(signal.SIGTERM)
        assert second.wait(30) == 0
        site.open_gate(f"gate{turn}")  # the handler returns, and its slot goes on to those that wait
        thaw(first)
        fresh = bell.enqueue(f"quick_{kind}")
        site.recorder.acknowledged([fresh])
        assert bell.wait(fresh.id, timeout=30).status is Status.SUCCEEDED
        first.send_signal(signal.SIGTERM)
        assert first.wait(30) == 0

        assert [run_id for run_id in claimed if site.starts(run_id, first.pid)] == []
        assert all(site.starts(run_id, second.pid) for run_id in claimed)
        violations = check(bell.store, site.events())
        assert not violations, report(violations)
