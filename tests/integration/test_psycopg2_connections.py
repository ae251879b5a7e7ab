"""`connection=` with psycopg2: what is refused, and Django where it uses psycopg2."""

from __future__ import annotations

import subprocess
import sys

import psycopg2
import pytest
from psycopg2.errors import LockNotAvailable

from tests.docs.pages import plain_environment
from tests.integration.connection_ways import enqueue, plain_psycopg2
from workbell import Workbell, WrongConnection

pytestmark = pytest.mark.parametrize("sql_store_url", ["postgres"], indirect=True)


def test_autocommit_failures_and_closed_connections_are_named(bell: Workbell, sql_store_url: str) -> None:
    connection = psycopg2.connect(sql_store_url)
    connection.autocommit = True
    with pytest.raises(WrongConnection, match="in autocommit and in no transaction; open one with `with connection:`"):
        enqueue(bell, connection)
    connection.autocommit = False
    with pytest.raises(psycopg2.errors.UndefinedColumn):
        connection.cursor().execute("SELECT nonsense")
    with pytest.raises(WrongConnection, match="its transaction has failed; roll it back"):
        enqueue(bell, connection)
    connection.rollback()
    run = enqueue(bell, connection)
    connection.commit()
    connection.close()
    with pytest.raises(WrongConnection, match="it is closed"):
        enqueue(bell, connection)
    assert [one.id for one in bell.runs()] == [run.id]


def test_another_database_is_refused(bell: Workbell, sql_store_url: str, empty_postgres_url: str) -> None:
    with (
        plain_psycopg2(empty_postgres_url) as connection,
        pytest.raises(WrongConnection, match="is open on another database than the store's"),
    ):
        enqueue(bell, connection)


@pytest.mark.anyio
async def test_in_async_code_the_other_verb_is_named(bell: Workbell, sql_store_url: str) -> None:
    with (
        plain_psycopg2(sql_store_url) as connection,
        pytest.raises(WrongConnection, match=r"is synchronous; use enqueue\(\)"),
    ):
        await bell.aenqueue("send", {"to": "x"}, connection=connection)


def test_errors_of_the_database_come_as_the_driver_raises_them(bell: Workbell, sql_store_url: str) -> None:
    with plain_psycopg2(sql_store_url) as holder:
        enqueue(bell, holder, key="k")
        with plain_psycopg2(sql_store_url) as connection:
            connection.cursor().execute("SET LOCAL lock_timeout = '20ms'")
            with pytest.raises(LockNotAvailable):
                enqueue(bell, connection, key="k")
            connection.rollback()


# Django takes psycopg 3 where it is installed, as it is with our store: it is hidden while Django looks for it.
DJANGO = """
import sys

sys.modules["psycopg"] = None
import django.db.backends.postgresql.base
del sys.modules["psycopg"]

from django.db import connection, transaction
from tests.support.django_site import database, databases
from workbell import Workbell

url = sys.argv[1]
bell = Workbell(url)
bell.job(name="send")(lambda to: None)
with databases(default=database(url)):
    with transaction.atomic():
        kept = bell.enqueue("send", {"to": "100 % sure %s"}, key="k", tag="t", connection=connection)
        try:
            with transaction.atomic():
                bell.enqueue("send", {"to": "lost"}, tag="t", replace_tag=True, connection=connection)
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
    print(type(connection.connection).__module__, bell.get(kept.id).status.value, len(bell.runs()))
bell.close()
"""


def test_django_on_psycopg2(bell: Workbell, sql_store_url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DJANGO, sql_store_url], capture_output=True, text=True, env=plain_environment()
    )
    assert done.stdout == "psycopg2.extensions queued 1\n", done.stderr
