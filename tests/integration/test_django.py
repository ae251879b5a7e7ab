"""`connection=` with Django's connections: its transactions carry the run, and what cannot be one is refused (F4)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError, connection, connections, transaction

from tests.support.django_site import database, databases, forget
from tests.support.inside.stores import through_django
from workbell import Workbell, WrongConnection


@pytest.fixture(autouse=True)
def site(sql_store_url: str) -> Iterator[None]:
    elsewhere = database("sqlite:///:memory:")
    with databases(default=database(sql_store_url), other=database(sql_store_url), elsewhere=elsewhere):
        yield


def enqueue(bell: Workbell, to: str = "100 % sure %s %(to)s", using: object = connection) -> str:
    return bell.enqueue("send", {"to": to}, connection=using).id


def made(bell: Workbell) -> list[str]:
    return [run.id for run in bell.runs()]


def test_an_inner_block_that_is_rolled_back_takes_its_runs_along(bell: Workbell) -> None:
    with transaction.atomic():
        outer = enqueue(bell)
        with pytest.raises(ZeroDivisionError), transaction.atomic():  # noqa: PT012
            enqueue(bell)
            raise ZeroDivisionError
        assert made(bell) == []
    assert made(bell) == [outer]
    assert bell.get(outer).input == {"to": "100 % sure %s %(to)s"}


def test_its_query_log_and_its_wrappers_see_the_statements(bell: Workbell) -> None:
    seen: list[str] = []

    def note(execute, sql, params, many, context):
        seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note), transaction.atomic():
        enqueue(bell)
    assert any("INSERT INTO workbell_runs" in sql for sql in seen)


def test_a_percent_sign_in_a_statement_is_one(sql_store_url: str) -> None:
    """Django reads the statements of SQLite as a format, and ours have the names of SQLite."""
    sql = "SELECT :word || '%'" if "sqlite" in sql_store_url else "SELECT %(word)s || '%%'"
    assert through_django(connection)(sql, {"word": "100"}) == [("100%",)]
    assert through_django(connection)("SELECT '%'", {}) == [("%",)]


def test_autocommit_is_refused(bell: Workbell) -> None:
    with pytest.raises(WrongConnection, match=r"'default' is in no transaction; .*`with transaction\.atomic\(\):`"):
        enqueue(bell)
    with transaction.atomic(), pytest.raises(WrongConnection, match=r"transaction\.atomic\(using='other'\):"):
        enqueue(bell, using=connections["other"])
    assert made(bell) == []


def test_another_database_is_refused(bell: Workbell, sql_store_url: str) -> None:
    expected = "the store's file" if "sqlite" in sql_store_url else r"django\.\S+ over sqlite3 .* or Django over it"
    with transaction.atomic(using="elsewhere"), pytest.raises(WrongConnection, match=expected):
        enqueue(bell, using=connections["elsewhere"])


def test_a_broken_transaction_is_refused(bell: Workbell) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():  # noqa: PT012
        try:
            with transaction.atomic(savepoint=False):
                connection.cursor().execute("SELECT nonsense FROM nowhere")
        except DatabaseError:
            with pytest.raises(WrongConnection, match="its transaction has failed; leave the atomic block"):
                enqueue(bell)
            raise
    assert made(bell) == []


@pytest.mark.anyio
async def test_in_async_code_the_transaction_is_a_function(bell: Workbell) -> None:
    """Django has no async transactions: its own advice is one function for all of it."""

    @sync_to_async
    def order() -> str:
        try:
            with transaction.atomic():
                return enqueue(bell)
        finally:
            forget()

    run = await order()
    assert [one.id for one in await bell.aruns()] == [run]
    with pytest.raises(WrongConnection, match="into one function, and call that with sync_to_async"):
        await bell.aenqueue("send", {"to": "a"}, connection=connection)
    with pytest.raises(WrongConnection, match="into one function, and call that with sync_to_async"):
        await bell.aemit("orders.placed", {}, connection=connections["other"])
