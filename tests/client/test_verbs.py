"""Looking at runs and steering them: get, runs, attempts, cancel, retry, wait, why, pause."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.client.conftest import fail, finish, take
from tests.support.inside.stores import Held
from tests.support.inside.values import WORKER_LOST_AFTER as LOST_AFTER
from tests.support.inside.values import AttemptStatus, state
from tests.unit.makers import worker_of
from workbell import InvalidOption, RunNotFinished, RunNotFound, Status, WaitTimeout, Workbell


@pytest.mark.parametrize("run_id", ["", "x", "' OR 1=1 --", None, 5, "01890000-0000-7000-8000-000000000001"])
def test_a_run_that_is_not_there(bell: Workbell, run_id: Any) -> None:
    for verb in (bell.get, bell.attempts, bell.cancel, bell.retry, bell.wait, bell.why):
        with pytest.raises(RunNotFound, match=r"There is no run .* of tenant default; it may have been removed"):
            verb(run_id)


@pytest.mark.parametrize("name", ["", " x", "a\ud800", "\0", "x" * 201, 5])
def test_names_that_nothing_has(bell: Workbell, name: Any) -> None:
    for read in (
        lambda: bell.jobs.recent(name),
        lambda: bell.runs.tallies(job=name),
        lambda: bell.runs.tallies(queue=name),
        lambda: bell.queues.scale([name]),
    ):
        with pytest.raises(InvalidOption, match=r"^(job|queue)\b"):
            read()
    with pytest.raises(InvalidOption, match="expected a list of names such as \\['mail'\\]"):
        bell.queues.scale("mail")


def test_runs_are_listed_newest_first_and_by_pages(bell: Workbell, send: Any) -> None:
    made = [send.enqueue(str(number)).id for number in range(7)]
    finish(bell, take(bell, 1)[0])
    newest = list(reversed(made))
    assert [run.id for run in bell.runs()] == newest
    pages = [bell.runs(limit=3)]
    while len(pages[-1]) == 3:
        pages.append(bell.runs(limit=3, before=pages[-1][-1].id))
    assert [run.id for page in pages for run in page] == newest


def test_runs_by_filter(bell: Workbell, send: Any, report: Any) -> None:
    queued = send.options(tag="t", user_id=3).enqueue("x")
    later = report.options(delay=60, user_id=4).enqueue(1)
    ended = report.options(tag="t").enqueue(1)
    bell.cancel(ended.id)

    def ids(**wanted: Any) -> set[str]:
        return {run.id for run in bell.runs(**wanted)}

    assert ids() == {queued.id, later.id, ended.id}
    assert ids(status="queued") == {queued.id}
    assert ids(status=["scheduled", Status.CANCELED]) == {later.id, ended.id}
    assert ids(job="report") == {later.id, ended.id}
    assert ids(queue="mail") == {queued.id}
    assert ids(tag="t") == {queued.id, ended.id}
    assert ids(user_id=4) == {later.id}
    assert ids(job="report", tag="t", status="canceled") == {ended.id}
    assert ids(job="nothing") == ids(tag="'; --") == ids(status="failed") == set()


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"limit": 0}, "limit: 0 is not from 1 to 1000"),
        ({"limit": 1001}, "limit: 1001 is not"),
        ({"status": "done"}, "status: 'done' is not a valid Status; the statuses are scheduled, queued,"),
    ],
)
def test_a_filter_that_cannot_be_used(bell: Workbell, wanted: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        bell.runs(**wanted)


def test_attempts_are_one_list(bell: Workbell, send: Any) -> None:
    """C7: one record for each attempt, whether or not it was the last."""
    run = send.enqueue("x")
    assert bell.attempts(run.id) == []
    first = take(bell)[0]
    assert [(each.number, each.status) for each in bell.attempts(run.id)] == [(1, AttemptStatus.RUNNING)]
    now = bell.store.clock.now()
    change = state.retry(first, now, error="E: 1", reason="error", wait=timedelta(0), started_at=now)
    assert bell.store.runs.apply([change])
    bell.store.runs.dispatch(bell.store.clock.now(), 10)
    fail(bell, take(bell)[0])
    attempts = bell.attempts(run.id)
    assert [(each.number, each.status, each.worker) for each in attempts] == [
        (1, AttemptStatus.FAILED, "w1"),
        (2, AttemptStatus.FAILED, "w1"),
    ]
    assert [each.error for each in attempts] == ["E: 1", "ValueError: bad"]
    assert all(each.started_at and each.finished_at for each in attempts)


@pytest.mark.parametrize("ended_by", ["failure", "loss"])
def test_only_an_attempt_that_has_ended_has_an_error(bell: Workbell, send: Any, ended_by: str) -> None:
    """The run keeps the error of the attempt before; the attempt that is running has none."""
    run = send.enqueue("x")
    first, now = take(bell)[0], bell.store.clock.now()
    if ended_by == "failure":
        change = state.retry(first, now, error="E: 1", reason="error", wait=timedelta(0), started_at=now)
    else:
        change = state.lose(first, now, keep=timedelta(days=1))
    assert bell.store.runs.apply([change])
    bell.store.runs.dispatch(bell.store.clock.now(), 10)
    second = take(bell)[0]
    assert bell.get(run.id).error == change.error
    assert [(each.number, each.error) for each in bell.attempts(run.id)] == [(1, change.error), (2, None)]

    end = state.cancel(second, bell.store.clock.now(), reason="enough", keep=timedelta(days=1))
    assert bell.store.runs.apply([end])
    assert [(each.status, each.error) for each in bell.attempts(run.id)][1:] == [(AttemptStatus.CANCELED, None)]


def test_cancel_ends_what_has_not_started(bell: Workbell, send: Any) -> None:
    for run in (send.enqueue("x"), send.options(delay=60).enqueue("x")):
        ended = bell.cancel(run.id, "not needed")
        assert (ended.status, ended.reason) == (Status.CANCELED, "not needed")
        assert bell.get(run.id) == ended
        assert bell.cancel(run.id) == ended  # once more changes nothing
    assert take(bell) == []


def test_cancel_asks_a_running_handler_to_stop(bell: Workbell, send: Any) -> None:
    send.enqueue("x")
    run = take(bell)[0]
    asked = bell.cancel(run.id, "enough")
    assert (asked.status, asked.cancel_requested) == (Status.RUNNING, True)
    now = bell.store.clock.now()
    (renewed,) = bell.store.runs.renew([Held(run.id, run.token)], now=now, lease_until=now)
    assert renewed.cancel_reason == "enough"
    ended = finish(bell, run)
    assert bell.cancel(run.id).status is ended.status is Status.SUCCEEDED


def test_retry_makes_a_new_run_that_is_linked(bell: Workbell, send: Any) -> None:
    send.options(tag="t", priority=5).enqueue("x", copies=3)
    ended = fail(bell, take(bell)[0])
    again = bell.retry(ended.id)
    assert again.id != ended.id
    assert (again.retry_of, again.status, again.attempt) == (ended.id, Status.QUEUED, 0)
    assert (again.input, again.tag, again.priority, again.queue) == ({"to": "x", "copies": 3}, "t", 5, "mail")
    assert bell.get(ended.id).status is Status.FAILED
    with pytest.raises(RunNotFinished, match=f"run {again.id} is queued; cancel it, or wait until it has ended"):
        bell.retry(again.id)


def test_wait_returns_the_ended_run(bell: Workbell, send: Any) -> None:
    run = send.enqueue("x")
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(bell.wait, run.id, 30)
        finish(bell, take(bell)[0], '{"a":1}')
        ended = future.result(30)
    assert (ended.status, ended.result) == (Status.SUCCEEDED, {"a": 1})
    assert bell.wait(run.id) == ended  # at once


def test_wait_has_an_end(bell: Workbell, send: Any) -> None:
    with pytest.raises(WaitTimeout):
        bell.wait(send.enqueue("x").id, timeout=0.01)


def test_why_tells_where_a_run_stands(bell: Workbell, send: Any) -> None:
    first, second = send.enqueue("x"), send.enqueue("y")
    assert "No worker is running" in bell.why(first.id)
    bell.store.workers.put(worker_of("send", now=bell.store.clock.now()))
    assert "first in its lane" in bell.why(first.id)
    assert "1 before it in its lane, 0 of the lane running" in bell.why(second.id)
    bell.pause(queue="mail")
    assert "paused" in bell.why(first.id)
    bell.resume(queue="mail")
    taken = take(bell, 1)[0]
    assert "It is running: attempt 1" in bell.why(first.id)
    assert "0 before it in its lane, 1 of the lane running" in bell.why(second.id)
    fail(bell, taken)
    assert "It failed" in bell.why(first.id)
    assert "It is due in" in bell.why(send.options(delay=60).enqueue("x").id)


def test_why_knows_that_no_worker_knows_the_job(bell: Workbell) -> None:
    other = Workbell(store=bell.store, settings=bell.settings)

    @other.job
    def stranger() -> None: ...

    run = stranger.enqueue()
    now = bell.store.clock.now()
    assert "No worker is running; start one: `workbell start`." in bell.why(run.id), "before any has started"
    lost = worker_of("stranger", now=now, id="lost", seen_at=now - LOST_AFTER - timedelta(seconds=1))
    bell.store.workers.put(lost)
    assert "No worker is running; start one: `workbell start`." in bell.why(run.id)
    bell.store.workers.put(worker_of("send", now=now))
    assert "There is no job 'stranger' in the store" in bell.why(run.id), "nobody has declared it"
    bell.store.jobs.put(other.registry.declared_jobs(bell.store.clock, bell.tenant))
    assert "1 worker is running, and it does not know job 'stranger' (queue 'default')" in bell.why(run.id)
    bell.store.workers.put(worker_of("stranger", now=now, id="b", stopping=True))
    assert "2 workers are running, and the only one that could take job 'stranger'" in bell.why(run.id)
    bell.store.workers.put(worker_of("stranger", now=now, id="c"))
    assert "first in its lane" in bell.why(run.id)
    other.runtime.waiter.close()


def test_a_paused_queue_or_job_is_not_claimed(bell: Workbell, send: Any, report: Any) -> None:
    send.enqueue("x")
    report.enqueue(1)
    mail = bell.pause(queue="mail")
    assert [run.job for run in take(bell)] == ["report"]
    jobs = bell.pause(job="report")
    report.enqueue(2)
    send.enqueue("new")
    assert take(bell) == []
    assert bell.pauses() == [jobs, mail]
    assert bell.resume(queue="mail") == 1
    assert [run.job for run in take(bell)] == ["send", "send"]
    assert bell.resume(job="report") == 1
    assert [run.job for run in take(bell)] == ["report"]
    assert bell.resume(queue="no such") == 0
    assert bell.pauses() == []


def test_a_job_is_paused_in_one_queue(bell: Workbell, send: Any) -> None:
    send.enqueue("x")
    send.options(queue="slow").enqueue("y")
    bell.pause(queue="slow", job="send")
    assert [run.queue for run in take(bell)] == ["mail"]
    assert bell.resume(queue="mail", job="send") == 0
    assert bell.resume(queue="slow", job="send") == 1
    assert [run.queue for run in take(bell)] == ["slow"]


@pytest.mark.parametrize("wanted", [{}, {"queue": ""}, {"job": " x"}])
def test_pause_and_resume_must_be_told_of_what(bell: Workbell, wanted: dict[str, str]) -> None:
    for verb in (bell.pause, bell.resume):
        with pytest.raises(InvalidOption):
            verb(**wanted)


def test_another_tenants_runs_are_not_there(bell: Workbell, send: Any) -> None:
    """Design rule 12: what belongs to another tenant is not found, not forbidden."""
    other = bell.for_tenant("other")
    mine, theirs = send.enqueue("x"), other.enqueue("send", {"to": "y"})
    assert (mine.tenant, theirs.tenant) == ("default", "other")
    for client, run in ((bell, theirs), (other, mine)):
        for verb in (client.get, client.attempts, client.cancel, client.retry, client.wait, client.why):
            with pytest.raises(RunNotFound, match=f"no run '{run.id}' of tenant {client.tenant}"):
                verb(run.id)
    assert [run.id for run in bell.runs()] == [mine.id]
    assert [run.id for run in other.runs()] == [theirs.id]
    other.pause(queue="mail")
    assert bell.pauses() == []
    assert [run.id for run in take(bell)] == [mine.id]


def test_a_tenant_needs_a_name(bell: Workbell) -> None:
    from workbell import JobsError

    for bad in ("", " x", "a\x00", None):
        with pytest.raises(JobsError, match="tenant"):
            bell.for_tenant(bad)  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_the_end_of_a_tenants_client_leaves_the_threads_to_the_workbell(bell: Workbell, send: Any) -> None:
    other = bell.for_tenant("other")
    other.close()
    assert (await bell.aenqueue("send", {"to": "x"})).status is Status.QUEUED
    assert [run.job for run in await other.aruns()] == []
