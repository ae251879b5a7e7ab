"""The engine beside rows that cannot be read: a broken run ends as failed, once, and everything else goes on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.spoilt_rows import Rows
from workbell import Context, Event, Workbell
from workbell.app import open_store
from workbell.errors import JobsError, UnreadableRow
from workbell.model.run import Run
from workbell.testing import drain

CUT = '{"cut'


@pytest.fixture
def bell(sql_store_url: str) -> Iterator[Workbell]:
    with Workbell(sql_store_url) as bell:
        yield bell


@pytest.fixture
def rows(sql_store_url: str) -> Iterator[Rows]:
    rows = Rows(sql_store_url)
    yield rows
    rows.close()


def test_a_run_without_readable_options_fails_and_is_not_tried_again(bell: Workbell, rows: Rows) -> None:
    """Its handler is not called: it would be without its own timeout, retries and window."""
    called: list[str] = []

    @bell.job
    def send(ctx: Context, to: str) -> None:
        called.append(to)

    first, broken, last = (send.options(timeout=60).enqueue(to=to) for to in ("a", "b", "c"))
    rows.spoil("workbell_runs", "options", CUT, f"id = '{broken.id}'")
    drain(bell)
    assert called == ["a", "c"]
    assert [bell.get(run.id).status for run in (first, last)] == ["succeeded", "succeeded"]
    ended = bell.get(broken.id)
    assert (ended.status, ended.attempt, ended.reason) == ("failed", 1, "unreadable")
    assert ended.error is not None
    assert "its stored `options` cannot be read (Input data was truncated); enqueue it again." in ended.error
    assert "It failed" in bell.why(broken.id)


def test_a_run_without_readable_input_fails(bell: Workbell, rows: Rows) -> None:
    @bell.job(retry=1)
    def send(to: str) -> None: ...

    broken, good = send.enqueue(to="a"), send.enqueue(to="b")
    rows.spoil("workbell_runs", "input", CUT, f"id = '{broken.id}'")
    [shown] = [run for run in bell.runs() if run.unreadable]
    assert (shown.id, shown.as_dict()["input"]) == (broken.id, None)
    with pytest.raises(UnreadableRow, match=f"the input of run {broken.id} cannot be read"):
        _ = shown.input
    drain(bell)
    assert (bell.get(broken.id).status, bell.get(broken.id).reason) == ("failed", "input")
    assert bell.get(good.id).status == "succeeded"


def test_a_broken_run_can_be_canceled_and_is_not_repeated(bell: Workbell, rows: Rows) -> None:
    @bell.job
    def send(to: str) -> None: ...

    waiting, ended = send.options(delay=60).enqueue(to="a"), send.options(timeout=9).enqueue(to="b")
    drain(bell)
    rows.spoil("workbell_runs", "options", CUT, f"id = '{waiting.id}'")
    rows.spoil("workbell_history", "options", CUT, f"id = '{ended.id}'")
    assert bell.cancel(waiting.id).status == "canceled"
    with pytest.raises(UnreadableRow, match="its stored `options` cannot be read"):
        bell.retry(ended.id)


def test_events_go_on_beside_broken_triggers_endpoints_and_data(bell: Workbell, rows: Rows) -> None:
    seen: list[str] = []

    @bell.processor("note")
    def note(event: Event) -> None:
        seen.append(event.type)

    @bell.processor("read", retry=1)
    def read(event: Event) -> None:
        seen.append(event.data)

    broken = bell.triggers.add("broken", pattern="posts.*", processor="note")
    bell.triggers.add("fine", pattern="posts.*", processor="note")
    rows.spoil("workbell_triggers", "options", CUT, f"id = '{broken.id}'")
    bell.emit("posts.created", {"id": 1})
    drain(bell)
    assert seen == ["posts.created"]
    [listed] = [one for one in bell.triggers.list() if one.unreadable is not None]
    assert listed.name == "broken"

    bell.triggers.update("broken", tag="t", description="mended", priority=1)
    assert bell.triggers.get("broken").unreadable is None
    bell.triggers.add("data", pattern="users.*", processor="read")
    spoilt = bell.emit("users.created", {"id": 2})
    rows.spoil("workbell_events", "data", CUT, f"id = '{spoilt.id}'")
    bell.emit("posts.created", {"id": 3})
    drain(bell)
    assert seen == ["posts.created"] * 3, "twice more, as the trigger is mended"
    [failed] = bell.runs(job="read")
    assert failed.status == "failed"
    assert f"the data of event {spoilt.id} cannot be read" in (failed.error or "")


def test_a_broken_definition_makes_no_runs_and_holds_up_nobody(bell: Workbell, rows: Rows) -> None:
    @bell.job
    def send(to: str = "all") -> None: ...

    bell.jobs.put("eu", handler="send", input={"to": "eu"}, rate="100/m")
    bell.jobs.put("us", handler="send", input={"to": "us"}, rate="100/m")
    made = bell.enqueue("eu")
    for column, garbage in (("rate", "often"), ("input", "7"), ("retry", CUT)):
        rows.spoil("workbell_jobs", column, garbage, "name = 'eu'")
        bell.runtime.definitions.forget()
        with pytest.raises(UnreadableRow, match=f"job eu: its stored .*`{column}`"):
            bell.enqueue("eu")
    bell.schedules.put("tick", job="eu", every=60)
    bell.schedules.put("tock", job="us", every=60)
    later = bell.enqueue("us")
    drain(bell)
    assert [bell.get(run.id).status for run in (made, later)] == ["succeeded", "succeeded"]
    bell.jobs.put("eu", handler="send", input={"to": "eu"})
    assert bell.jobs.get("eu").unreadable is None
    assert bell.enqueue("eu").status == "queued"


def test_garbage_in_the_count_of_starts_is_forgotten(bell: Workbell, rows: Rows) -> None:
    """Else nobody could claim a run of the job again."""

    @bell.job(rate="100/m")
    def send() -> None: ...

    send.enqueue()
    drain(bell)
    rows.spoil("workbell_limits", "starts", CUT)
    run = send.enqueue()
    drain(bell)
    assert bell.get(run.id).status == "succeeded"


def test_a_schedule_that_cannot_be_read_is_broken_at_once(bell: Workbell, rows: Rows) -> None:
    """Not only when it is due; the others are not held up, and putting it again mends it (E5)."""

    @bell.job
    def nightly() -> None: ...

    for name in ("expression", "timezone", "options"):
        bell.schedules.put(name, job=nightly, cron="0 3 1 1 *")
        rows.spoil("workbell_schedules", name, "garbage", f"name = '{name}'")
    bell.schedules.put("fine", job=nightly, cron="0 3 1 1 *")
    found = {schedule.name: schedule for schedule in bell.schedules.list()}
    assert {name for name, schedule in found.items() if schedule.broken} == {"expression", "timezone", "options"}
    assert {one.name for one in bell.store.reports.broken(10)} == {"expression", "timezone", "options"}
    assert "its stored `timezone` cannot be read" in (found["timezone"].last_error or "")
    for name in ("expression", "timezone", "options"):
        bell.schedules.pause(name)
        assert f"`{name}`" in (bell.schedules.get(name).last_error or ""), "a pause keeps what is stored"
        with pytest.raises(JobsError, match=r"garbage|cannot be read"):
            bell.schedules.resume(name)
        bell.schedules.put(name, job=nightly, cron="0 3 1 1 *")
        assert not bell.schedules.resume(name).broken
    assert bell.store.reports.broken(10) == []


def test_a_copy_takes_broken_rows_along(bell: Workbell, rows: Rows, tmp_path: Path) -> None:
    @bell.job
    def send(to: str = "x") -> None: ...

    run = send.options(delay=timedelta(hours=1), timeout=5).enqueue()
    good = send.options(delay=60).enqueue()
    bell.jobs.put("eu", handler="send", retry=3)
    rows.spoil("workbell_runs", "options", CUT, f"id = '{run.id}'")
    rows.spoil("workbell_jobs", "retry", CUT, "name = 'eu'")
    target = open_store(f"sqlite:///{tmp_path}/copy.db")
    try:
        for page in bell.store.export():
            target.load(page)
        copied: dict[str, Run] = target.runs.find([run.id, good.id])
        assert (copied[run.id].options_text, copied[good.id].unreadable) == (CUT, None)
        job = target.jobs.find("default", "eu")
        assert job is not None
        assert job.unreadable is not None
        assert job.unreadable.stored == {"retry": CUT}
    finally:
        target.close()
