"""Tasks of the test site; found by autodiscovery."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from django.db import connection, connections, transaction

from workbell import Cancel
from workbell.django import task
from workbell.django.compat import task_backends

calls: list[Any] = []


def before() -> None:
    """Called by tasks that add a thing; tests replace it."""
    calls.append("before")


@task
def note(*args: Any, **kwargs: Any) -> list[Any]:
    calls.append([list(args), kwargs])
    return [list(args), kwargs]


@task(max_attempts=3, backoff=[0.0, 120])
def fragile(message: str) -> None:
    calls.append(message)
    raise ValueError(message)


@task(max_attempts=3, backoff=lambda error, result: 30 * result.attempts)
def slower() -> None:
    raise KeyError("slower")


@task(max_attempts=2, backoff=lambda error, result: "soon")
def wrong_backoff() -> None:
    raise KeyError("wrong")


@task
def unlucky() -> None:
    raise ZeroDivisionError("unlucky")


@task(takes_context=True)
def which(context: Any, *, word: str) -> list[Any]:
    result = context.task_result
    return [context.attempt, result.id, result.status, word]


@task
async def count_tables() -> int:
    from asgiref.sync import sync_to_async

    return await sync_to_async(lambda: len(connection.introspection.table_names()))()


@task
def use_connection() -> None:
    connection.cursor().execute("SELECT 1")
    calls.append(connections["default"])


@task(key="invoice:{order}", concurrency=2, timeout=30)
def invoice(order: int, copies: int = 1) -> int:
    return order * copies


@task
def insert_twice(marks_transaction: bool) -> None:
    """`atomic(savepoint=False)`, as in `Model.save`, marks the transaction around it as failed; a cursor does not."""
    with transaction.atomic(savepoint=False) if marks_transaction else nullcontext():
        for _ in range(2):
            connection.cursor().execute("INSERT INTO things VALUES ('broken')")


@task
def insert_once() -> None:
    connection.cursor().execute("INSERT INTO things VALUES ('whole')")


@task
def nested(times: int) -> None:
    with transaction.atomic():
        if times:
            nested.enqueue(times - 1)


@task
def give_up() -> Any:
    return Cancel("nothing to do")


@task(max_attempts=3)
def deep() -> Any:
    value: list[Any] = []
    for _ in range(200):
        value = [value]
    return value


@task(takes_context=True)
def stopped(context: Any, *, raises: bool) -> None:
    task_backends["default"].bells.client.cancel(context.task_result.id, "no longer wanted")
    if raises:
        raise ZeroDivisionError("stopped")


@task(cron="0 3 * * *", timezone="Europe/Paris")
def nightly() -> str:
    return "done"


@task
def add_thing(name: str) -> None:
    before()
    connection.cursor().execute("INSERT INTO things VALUES (%s)", [name])


@task(timeout=1)
def add_thing_soon(name: str) -> None:
    add_thing.func(name)


@task
async def add_thing_async(name: str) -> None:
    from asgiref.sync import sync_to_async

    await sync_to_async(add_thing.func)(name)


@task
def add_thing_atomic(name: str) -> None:
    before()
    with transaction.atomic():
        connection.cursor().execute("INSERT INTO things VALUES (%s)", [name])


@task
def add_thing_in_a_savepoint(name: str) -> None:
    before()
    with transaction.atomic(), transaction.atomic():
        connection.cursor().execute("INSERT INTO things VALUES (%s)", [name])


@task
def add_thing_among_many(name: str) -> None:
    before()
    connection.cursor().executemany("INSERT INTO things VALUES (%s)", [[name]])


@task
def add_thing_after_reading(name: str) -> None:
    """In a transaction that does not hold the write lock yet."""
    with transaction.atomic():
        connection.cursor().execute("SELECT * FROM things").fetchall()
        before()
        connection.cursor().execute("INSERT INTO things VALUES (%s)", [name])
