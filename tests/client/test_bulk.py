"""Bulk actions: all runs of a filter are canceled or repeated by a run; each once, whatever happens to that one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.conftest import fail, take
from tests.support.fresh_store import fresh_store
from tests.support.inside.features import LocalClient, bulk_job, serves
from tests.support.inside.values import ALERT, BULK, DELIVERY, Lane, Settings, plain_request, state
from workbell import InvalidOption, JobsError, Run, Status, Workbell
from workbell.testing import drain


@pytest.fixture
def store_url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(bulk_job, "PAGE", 4)
    return 4


@pytest.fixture
def failed(bell: Workbell, send: Any) -> list[Run]:
    """Ten failed runs, to three addresses."""
    bell.enqueue_many(send.request(f"a{number % 3}") for number in range(10))
    return [fail(bell, run) for run in take(bell)]


def of(bell: LocalClient, *runs: Run) -> list[Status]:
    return [bell.get(run.id).status for run in runs]


def retried(bell: LocalClient) -> list[str]:
    return sorted(run.retry_of or "" for run in bell.runs(status="queued", job="send", limit=1000))


def test_cancel_ends_what_the_filter_means_and_nothing_else(bell: Workbell, send: Any, small_pages: int) -> None:
    other = bell.for_tenant("b")
    mine = [send.options(tag="t", delay=60 * (number % 2)).enqueue("x") for number in range(11)]
    untagged, foreign = send.enqueue("x"), other.enqueue("send", {"to": "x"}, tag="t")
    bulk = bell.bulk("cancel", tag="t")
    later = send.options(tag="t").enqueue("made after it")
    assert (bulk.status, bulk.job, bulk.queue) == (Status.QUEUED, BULK, "bulk")
    bell.pause(queue="mail")
    other.pause(queue="mail")
    drain(bell)
    ended = bell.get(bulk.id)
    assert ended.result == {"matched": 11, "done": 11, "skipped": 0, "errors": []}
    assert (ended.progress or {})["done"] == (ended.progress or {})["total"] == 11
    assert set(of(bell, *mine)) == {Status.CANCELED}
    assert {bell.get(run.id).reason for run in mine} == {f"canceled by bulk action {bulk.id}"}
    assert of(bell, untagged, later) == [Status.QUEUED] * 2
    assert of(other, foreign) == [Status.QUEUED]


def test_cancel_asks_what_is_running(bell: Workbell, send: Any) -> None:
    send.enqueue("x")
    (running,) = take(bell)
    bulk = bell.bulk("cancel", status=["running", "queued"])
    drain(bell)
    assert bell.get(bulk.id).result["done"] == 1
    assert (bell.get(running.id).status, bell.get(running.id).cancel_requested) == (Status.RUNNING, True)
    again = bell.bulk("cancel", status="running")
    drain(bell)
    assert bell.get(again.id).result == {"matched": 1, "done": 0, "skipped": 1, "errors": []}


def test_retry_repeats_what_failed(bell: Workbell, failed: list[Run], small_pages: int) -> None:
    bell.pause(queue="mail")
    bulk = bell.bulk("retry", input={"to": "a1"})
    drain(bell)
    wanted = sorted(run.id for run in failed if run.input["to"] == "a1")
    assert bell.get(bulk.id).result == {"matched": 3, "done": 3, "skipped": 0, "errors": []}
    assert retried(bell) == wanted


def test_retry_leaves_out_what_was_retried_before(bell: Workbell, failed: list[Run], small_pages: int) -> None:
    """However often it is asked for: a run whose retry waits, or has succeeded, or failed, is not run again."""
    bell.retry(failed[0].id)
    bell.retry(failed[3].id)
    (_, first) = [fail(bell, run) for run in take(bell)]
    bell.pause(queue="mail")
    assert bell.count_runs(status="failed", retried=False).count == 10
    for matched in (10, 0):
        bulk = bell.bulk("retry", status=["failed"])
        drain(bell)
        assert bell.get(bulk.id).result == {"matched": matched, "done": matched, "skipped": 0, "errors": []}
    assert bell.count_runs(status="failed", retried=False).count == 0
    old = [run.id for run in failed if run.id not in (failed[0].id, failed[3].id)]
    assert retried(bell) == sorted([*old, *[run.id for run in bell.runs(status="failed") if run.retry_of]])
    (again,) = bell.runs(retry_of=first.id)
    assert bell.store.reports.retries([first.id])[first.id].id == again.id


def test_two_bulk_retries_at_once_make_one_run_each(
    bell: Workbell, failed: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one has looked before the first one has written."""
    bell.pause(queue="mail")
    bell.bulk("retry")
    bell.bulk("retry")
    with monkeypatch.context() as blind:
        blind.setattr(bell.store.reports, "retries", lambda _ids: {})
        drain(bell)
    assert retried(bell) == sorted(run.id for run in failed)


def test_a_retry_by_hand_meanwhile_counts(bell: Workbell, failed: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is quicker than the bulk action, which was asked for before."""
    bell.pause(queue="mail")
    bulk = bell.bulk("retry")
    bell.retry(failed[2].id)
    drain(bell)
    assert bell.get(bulk.id).result == {"matched": 10, "done": 9, "skipped": 1, "errors": []}
    assert retried(bell) == sorted(run.id for run in failed)


def test_a_dry_run_touches_nothing(bell: Workbell, failed: list[Run]) -> None:
    bulk = bell.bulk("retry", dry_run=True)
    drain(bell)
    assert bell.get(bulk.id).result == {"matched": 10, "done": 0, "skipped": 0, "errors": []}
    assert retried(bell) == []


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_crash_in_the_middle_repeats_no_run_twice(
    bell: Workbell, failed: list[Run], small_pages: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is gone after it has acted on a page, and before that is noted; another one does the rest."""
    bell.pause(queue="mail")
    bulk = bell.bulk("retry", job="send")
    real, pages = bulk_job.act, []

    def dying(*args: Any) -> Any:
        acted = real(*args)
        pages.append(args[2])
        if len(pages) == after + 1:
            raise KeyboardInterrupt
        return acted

    monkeypatch.setattr(bulk_job, "act", dying)
    with pytest.raises(KeyboardInterrupt):
        drain(bell)
    waiting = bell.get(bulk.id)
    assert waiting.status is Status.SCHEDULED, "it is tried again"
    assert (waiting.progress or {"done": 0})["done"] == after * small_pages
    bell.resume(queue="mail")
    for run in take(bell):  # meanwhile what was repeated has ended: its key must not be free again
        fail(bell, run)
    bell.pause(queue="mail")
    _make_due(bell, waiting)
    drain(bell)
    ended = bell.get(bulk.id)
    assert (ended.status, ended.result) == (
        Status.SUCCEEDED,
        {"matched": 10, "done": 10, "skipped": 0, "errors": []},
    )
    assert [run.id for run in pages[after + 1]] == [run.id for run in pages[after]], "it goes on where it was"
    made = [run.retry_of for run in bell.runs(job="send", limit=1000) if run.retry_of is not None]
    assert sorted(made) == sorted(run.id for run in failed)


def _make_due(bell: Workbell, run: Run) -> None:
    assert bell.store.runs.dispatch(run.scheduled_for, 10) == [run.id]


def test_it_stops_when_it_is_canceled(
    bell: Workbell, failed: list[Run], small_pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bell.pause(queue="mail")
    bulk = bell.bulk("retry")
    real = bulk_job.act

    def canceled_meanwhile(*args: Any) -> Any:
        bell.cancel(bulk.id, "enough")
        return real(*args)

    monkeypatch.setattr(bulk_job, "act", canceled_meanwhile)
    drain(bell)
    ended = bell.get(bulk.id)
    assert (ended.status, ended.reason) == (Status.CANCELED, "enough")
    assert len(retried(bell)) == small_pages


def test_what_cannot_be_repeated_is_told(bell: Workbell, failed: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    @bell.on("order.paid")
    def ship(ctx: Any) -> None:
        raise ValueError("no")

    bell.pause(queue="mail")
    event = bell.emit("order.paid", {"n": 1})
    drain(bell)
    clock = bell.store.clock
    (shipped,) = bell.runs(event=event.id)
    while not (shipped := bell.get(shipped.id)).status.final:  # its attempts
        bell.store.runs.dispatch(shipped.scheduled_for, 10)
        drain(bell)
    found = bell.store.events.find
    monkeypatch.setattr(bell.store.events, "find", lambda ids: {} if list(ids) == [event.id] else found(ids))
    bulk = bell.bulk("retry", job="ship")
    drain(bell)
    result = bell.get(bulk.id).result
    assert (result["matched"], result["done"], result["skipped"]) == (1, 0, 0)
    assert [error["run"] for error in result["errors"]] == [shipped.id]
    assert "was removed" in result["errors"][0]["error"]
    monkeypatch.undo()
    for matched in (1, 0):  # the second time, it has been retried
        bulk = bell.bulk("retry", job="ship", until=clock.now())
        drain(bell)
        assert bell.get(bulk.id).result == {"matched": matched, "done": matched, "skipped": 0, "errors": []}


def test_others_of_its_kind_are_left_alone_unless_they_are_named(bell: Workbell, send: Any) -> None:
    first = bell.bulk("retry", dry_run=True)
    run = send.enqueue("x")
    second = bell.bulk("cancel")
    assert second.input == {
        "action": "cancel",
        "filter": {"status": ["scheduled", "queued", "running"]},
        "dry_run": False,
    }
    taken = {each.id: each for each in take(bell)}
    bell.store.runs.apply([state.release(taken[each.id], bell.store.clock.now()) for each in (run, second)])
    drain(bell)
    assert of(bell, first, run, second) == [Status.RUNNING, Status.CANCELED, Status.SUCCEEDED]
    named = bell.bulk("cancel", job=BULK)
    drain(bell)
    assert bell.get(named.id).result["done"] == 1
    assert bell.get(first.id).cancel_requested


@pytest.mark.parametrize("job", [ALERT, DELIVERY])
def test_what_workbell_sends_is_left_alone_unless_it_is_named(bell: Workbell, send: Any, job: str) -> None:
    """Who ends all runs of a bad night must still hear of those that failed."""
    own = plain_request(Lane(bell.tenant, "elsewhere", job), "{}", bell.store.clock.now())
    bell.store.runs.add([own])
    run = send.enqueue("x")
    bell.pause(queue="elsewhere")
    bulk = bell.bulk("cancel")
    drain(bell)
    assert of(bell, run, own.run, bulk) == [Status.CANCELED, Status.QUEUED, Status.SUCCEEDED]
    assert bell.get(bulk.id).result["matched"] == 1
    bell.bulk("cancel", job=job)
    drain(bell)
    assert of(bell, own.run) == [Status.CANCELED]


def test_any_worker_takes_it() -> None:
    with Workbell(store=fresh_store(), settings=Settings()) as bell:
        lane = bell.bulk("cancel").lane
        assert serves(bell.registry, ["mail"])(lane)
        assert not serves(bell.registry, ["mail"])(Lane("default", "webhooks", "webhook-delivery"))


@pytest.mark.parametrize(
    ("action", "wanted", "says"),
    [
        ("remove", {}, "action: 'remove' is none of cancel, retry"),
        ("cancel", {"status": "failed"}, "cancel: a run that is failed has ended already"),
        ("retry", {"status": ["failed", "queued"]}, "retry: a run that is queued has not ended"),
        ("retry", {"retried": True}, "retry: a run that was retried is not retried again with others"),
        ("retry", {"input": {"a": []}}, "input: a: runs are found by"),
        ("retry", {"limit": 5}, "Unknown word 'limit' in a filter"),
    ],
)
def test_an_order_that_cannot_be_carried_out(action: str, wanted: dict[str, Any], says: str) -> None:
    with Workbell(store=fresh_store()) as bell, pytest.raises(InvalidOption, match=says):
        bell.bulk(action, **wanted)


def test_its_name_is_taken() -> None:
    with Workbell(store=fresh_store()) as bell:
        with pytest.raises(InvalidOption, match=r"which enqueues it itself; see bell\.webhooks and bell\.bulk"):
            bell.enqueue(BULK, {"action": "cancel"})
        with pytest.raises(JobsError, match="Workbell itself has a job of this name"):
            bell.job(name=BULK)(lambda: None)
