"""Enqueue, execution and results of tasks through `WorkbellBackend`, on each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction
from django.test import override_settings
from django.utils import timezone

from tests.django import tasks
from tests.support.django_site import BACKEND, forget
from workbell.django import TaskCanceled, task
from workbell.django.compat import (
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
    task_enqueued,
    task_finished,
    task_started,
)
from workbell.django.testing import adrain, drain

pytestmark = pytest.mark.usefixtures("site")


@contextmanager
def heard(signal: Any) -> Iterator[list[Any]]:
    found: list[Any] = []

    def receive(sender: Any, task_result: Any, **_: Any) -> None:
        found.append((sender.__name__, task_result.id, task_result.status))

    signal.connect(receive)
    try:
        yield found
    finally:
        signal.disconnect(receive)


def test_a_task_is_ready_then_executed_then_successful(calls: list[Any]) -> None:
    with heard(task_enqueued) as enqueued, heard(task_started) as started, heard(task_finished) as finished:
        result = tasks.note.enqueue(1, two=[3])
        assert (result.status, result.attempts, result.is_finished) == (TaskResultStatus.READY, 0, False)
        (after,) = drain()
    assert calls == [[[1], {"two": [3]}]]
    assert after.return_value == [[1], {"two": [3]}]
    assert after.id == result.id
    assert after.attempts == 1
    assert after.enqueued_at <= after.started_at <= after.finished_at
    assert after.last_attempted_at == after.started_at
    assert [status for _, _, status in enqueued + started + finished] == ["READY", "RUNNING", "SUCCESSFUL"]
    assert {sender for sender, _, _ in enqueued + started + finished} == {"WorkbellBackend"}
    result.refresh()
    assert result == after


def test_a_run_shares_the_fate_of_its_transaction() -> None:
    with transaction.atomic():
        kept = tasks.note.enqueue("kept")
        with pytest.raises(ZeroDivisionError), transaction.atomic():  # noqa: PT012
            gone = tasks.note.enqueue("gone")
            assert tasks.note.get_result(gone.id).status == TaskResultStatus.READY
            raise ZeroDivisionError
        assert tasks.note.get_result(kept.id).args == ["kept"]
    assert tasks.note.get_result(kept.id).args == ["kept"]
    with pytest.raises(TaskResultDoesNotExist):
        tasks.note.get_result(gone.id)
    assert [result.id for result in drain()] == [kept.id]


def test_drain_executes_inside_an_open_transaction_and_vanishes_with_it(calls: list[Any]) -> None:
    with transaction.atomic():
        result = tasks.nested.enqueue(2)
        tasks.note.enqueue(1)
        assert [one.status for one in drain()] == [TaskResultStatus.SUCCESSFUL] * 4
        assert calls == [[[1], {}]]
        transaction.set_rollback(True)
    with pytest.raises(TaskResultDoesNotExist):
        tasks.nested.get_result(result.id)


def test_a_failure_keeps_its_class_and_its_traceback() -> None:
    with heard(task_finished) as finished:
        tasks.unlucky.enqueue()
        (result,) = drain()
    assert result.status == TaskResultStatus.FAILED
    (error,) = result.errors
    assert error.exception_class is ZeroDivisionError
    assert error.traceback.startswith("Traceback (most recent call last):\n")
    assert 'raise ZeroDivisionError("unlucky")' in error.traceback
    assert error.traceback.endswith("\nZeroDivisionError: unlucky\n")
    assert [status for _, _, status in finished] == ["FAILED"]


def test_retries_wait_as_the_list_says_and_finish_once(calls: list[Any]) -> None:
    with heard(task_finished) as finished, heard(task_started) as started:
        result = tasks.fragile.enqueue("again")
        drain()  # the first retry is due at once
        result.refresh()
        assert calls == ["again", "again"]
        assert (result.status, result.attempts, len(result.errors)) == (TaskResultStatus.READY, 2, 2)
        assert not finished
        run = task_backends["default"].bells.client.get(result.id)
        assert timedelta(seconds=110) < run.scheduled_for - datetime.now(UTC) < timedelta(seconds=121)
    assert len(started) == 2
    assert {error.exception_class for error in result.errors} == {ValueError}


@pytest.mark.parametrize(("late", "seconds"), [(tasks.slower, 30), (tasks.wrong_backoff, 60)])
def test_a_backoff_may_be_a_function(late: Any, seconds: int) -> None:
    result = late.enqueue()
    drain()
    run = task_backends["default"].bells.client.get(result.id)
    assert run.scheduled_for - run.updated_at == timedelta(seconds=seconds)
    assert run.error_type == "builtins.KeyError"


def test_context_async_and_the_order_by_priority(calls: list[Any]) -> None:
    tasks.note.using(priority=-5).enqueue("late")
    tasks.note.using(priority=5, queue_name="mail").enqueue("early")
    counted = tasks.count_tables.enqueue()
    told = tasks.which.enqueue(word="so")
    drain()
    assert [args[0] for args, _ in calls] == ["early", "late"]
    counted.refresh()
    assert counted.return_value >= 10
    told.refresh()
    assert told.return_value == [1, told.id, "RUNNING", "so"]


def test_run_after_waits() -> None:
    after = timezone.now() + timedelta(hours=1)
    result = tasks.note.using(run_after=after).enqueue()
    assert drain() == []
    assert result.task.run_after == after
    assert tasks.note.get_result(result.id) == result


def test_a_key_stands_for_the_waiting_run() -> None:
    with heard(task_enqueued) as enqueued:
        first = tasks.invoice.enqueue(7)
        assert tasks.invoice.enqueue(order=7, copies=2).id == first.id
    assert [run for _, run, _ in enqueued] == [first.id]
    assert tasks.invoice.enqueue(8).id != first.id
    assert len(drain()) == 2
    assert tasks.invoice.enqueue(7).id != first.id


def test_an_enqueue_that_a_key_stands_for_answers_with_the_attempts_so_far() -> None:
    first = tasks.fragile.using(key="{message}", backoff=60).enqueue("x")
    assert drain() == []
    again = tasks.fragile.using(key="{message}", backoff=60).enqueue("x")
    assert (again.id, again.attempts, len(again.errors), again.task.run_after) == (first.id, 1, 1, None)


@pytest.mark.parametrize("by_a_model", [True, False], ids=["model", "cursor"])
def test_a_failed_statement_ends_its_task_and_not_the_transaction_of_the_test(by_a_model: bool) -> None:
    """As in a worker, where each task has a transaction of its own, or none."""
    with transaction.atomic():  # as in a TestCase
        connection.cursor().execute("CREATE TABLE things (name TEXT PRIMARY KEY)")
        broken = tasks.insert_twice.enqueue(by_a_model)
        whole = tasks.insert_once.enqueue()
        assert {found.id: found.status for found in drain()} == {
            broken.id: TaskResultStatus.FAILED,
            whole.id: TaskResultStatus.SUCCESSFUL,
        }
        broken.refresh()
        assert broken.errors[0].exception_class_path == "django.db.utils.IntegrityError"
        cursor = connection.cursor()
        cursor.execute("SELECT name FROM things")
        assert ("whole",) in cursor.fetchall()
        transaction.set_rollback(True)


def test_a_canceled_run_has_failed_and_says_why() -> None:
    result = tasks.note.enqueue()
    task_backends["default"].bells.client.cancel(result.id, "no longer wanted")
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    assert result.errors[0].exception_class is TaskCanceled
    assert "no longer wanted" in result.errors[0].traceback


def test_a_task_may_cancel_its_run() -> None:
    with heard(task_finished) as finished:
        tasks.give_up.enqueue()
        (result,) = drain()
    assert result.status == TaskResultStatus.FAILED
    assert result.errors[0].traceback.endswith("nothing to do\n")
    assert [status for _, _, status in finished] == ["FAILED"]


def test_a_result_that_cannot_be_stored_has_failed_for_receivers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # files are stored in `storage` there
    with heard(task_finished) as finished:
        tasks.deep.enqueue()
        (result,) = drain()
    assert (result.status, result.attempts) == (TaskResultStatus.FAILED, 1)
    assert "nested deeper" in result.errors[0].traceback
    assert [status for _, _, status in finished] == ["FAILED"]
    (file,) = task_backends["default"].bells.client.files.list()
    assert f"kept as file {file.id}" in result.errors[0].traceback
    assert file.filename == f"result-{result.id}.json"


@pytest.mark.parametrize("raises", [False, True])
def test_an_attempt_that_was_asked_to_stop_sends_no_end(raises: bool) -> None:
    """What follows is not decided by the function then: the run may be canceled, or be executed elsewhere."""
    with heard(task_finished) as finished:
        tasks.stopped.enqueue(raises=raises)
        (result,) = drain()
    assert result.is_finished
    assert finished == []


def test_options_are_those_of_the_job_and_cron_is_its_schedule() -> None:
    drain()  # puts schedules, as a worker does when it starts
    client = task_backends["default"].bells.client
    (schedule,) = client.schedules.list()
    assert (schedule.name, schedule.expression, schedule.timezone) == (
        "tests.django.tasks.nightly",
        "0 3 * * *",
        "Europe/Paris",
    )
    run = client.schedules.run(schedule.name)
    assert [(result.id, result.return_value) for result in drain()] == [(run.id, "done")]
    job = client.registry.find(tasks.invoice.module_path)
    assert job is not None
    assert (job.limits.concurrency, job.timeout) == (2, 30)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_attempts": 0}, "max_attempts: expected a whole number"),
        ({"backoff": "soon"}, "backoff: expected seconds, a list of them or a function"),
        ({"backoff": [1, -1]}, "backoff: -1 is not a span"),
        ({"timeout": 0}, "timeout: it is more than 0 seconds"),
        ({"concurrency": True}, "concurrency: expected a whole number"),
        ({"rate": "often"}, "rate: "),
        ({"isolate": "thread"}, "isolate: "),
        ({"key": "{nobody}"}, r"key: \{nobody\} is no argument of it; it has order, copies"),
        ({"key": "{order"}, "key: .* cannot be read"),
        ({"cron": "0 3 * * *"}, "cron: it runs without arguments, and its function needs some"),
        ({"timezone": "Europe/Paris"}, "timezone: it is that of cron"),
    ],
)
def test_a_wrong_option_is_refused_where_the_task_is_declared(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidTask, match=words):
        task(**options)(tasks.invoice.func)


def test_results_of_other_ids_do_not_exist() -> None:
    for unknown in ("123", "01a1ec5c-b757-725e-9bef-cadcd03903c9"):
        with pytest.raises(TaskResultDoesNotExist):
            tasks.note.get_result(unknown)


def test_what_json_cannot_carry_is_refused_before_anything_is_written() -> None:
    with pytest.raises(TypeError):
        tasks.note.enqueue(object())
    assert drain() == []


def test_an_own_default_of_attempts(calls: list[Any]) -> None:
    options = {"max_attempts": 2}
    with override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}}):
        result = tasks.unlucky.enqueue()
        drain()
        result.refresh()
        assert (result.status, result.attempts) == (TaskResultStatus.READY, 1)


def test_using_changes_options_of_one_run() -> None:
    result = tasks.unlucky.using(max_attempts=2, backoff=0).enqueue()
    drain()
    result.refresh()
    assert (result.status, result.attempts) == (TaskResultStatus.FAILED, 2)
    for wrong in ({"cron": "* * * * *"}, {"concurrency": 2}, {"backoff": [1, 2]}):
        with pytest.raises(InvalidTask, match="give it to @task, not to using"):
            tasks.unlucky.using(**wrong).enqueue()


@pytest.mark.parametrize(
    ("changes", "wait"),
    [({"backoff": 7}, 7), ({"backoff": timedelta(seconds=9)}, 9), ({"max_attempts": 5}, 30), ({"timeout": 5}, 30)],
)
def test_a_backoff_of_one_run_replaces_the_function_of_its_task(changes: dict[str, Any], wait: int) -> None:
    result = tasks.slower.using(**changes).enqueue()
    drain()
    run = task_backends["default"].bells.client.get(result.id)
    assert run.scheduled_for - run.updated_at == timedelta(seconds=wait)


def test_a_backoff_of_zero_replaces_a_list() -> None:
    result = tasks.fragile.using(backoff=0).enqueue("at once")
    drain()
    result.refresh()
    assert (result.status, result.attempts) == (TaskResultStatus.FAILED, 3)


def test_with_use_tz_off_times_are_local() -> None:
    with override_settings(USE_TZ=False):
        after = datetime.now() + timedelta(hours=1)  # noqa: DTZ005  as Django has it then
        later = tasks.note.using(run_after=after).enqueue()
        assert later.task.run_after == after
        result = tasks.note.enqueue()
        drain()
        result.refresh()
        assert result.enqueued_at.tzinfo is None
        assert result.enqueued_at <= result.started_at <= result.finished_at <= datetime.now()  # noqa: DTZ005


@pytest.mark.anyio
async def test_async_code_enqueues_and_drains(site: str) -> None:
    if site == "memory":
        pytest.skip("the thread of sync_to_async has another database in memory")
    result = await tasks.note.aenqueue("from async code")
    await adrain()
    await result.arefresh()
    assert result.return_value == [["from async code"], {}]
    await sync_to_async(forget)()
