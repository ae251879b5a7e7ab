"""Settings of DATABASES that change how Django's connections commit, or where they come from (PostgreSQL)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction

from tests.django import tasks
from tests.support.django_site import database, databases
from tests.support.waiting import until
from workbell import Workbell
from workbell.django import bells
from workbell.settings import Settings

OPEN = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'"""


@contextmanager
def on_postgres(url: str, entry: dict[str, Any]) -> Iterator[None]:
    """A migrated site with these settings."""
    with databases(default=database(url)):
        call_command("migrate", "workbell", verbosity=0)
    with databases(default=entry):
        try:
            yield
        finally:
            bells.close_all()


def orders(url: str) -> list[Any]:
    with Workbell(settings=Settings(url=url)) as reader:
        return [run.input["args"] for run in reader.runs()]


def test_without_autocommit_a_run_is_there_after_the_commit_and_not_before(postgres_url: str) -> None:
    with on_postgres(postgres_url, database(postgres_url) | {"AUTOCOMMIT": False}):
        tasks.note.enqueue(1)
        transaction.rollback()
        assert orders(postgres_url) == []
        tasks.note.enqueue(2)
        with transaction.atomic():
            tasks.note.using(queue_name="new").enqueue(3)
        assert orders(postgres_url) == []
        transaction.commit()
        assert sorted(orders(postgres_url)) == [[2], [3]]


def test_a_pool_of_one_connection_is_enough(postgres_url: str) -> None:
    """The first run of a task makes its lane, apart from the transaction that holds the connection."""
    pool = {"min_size": 1, "max_size": 1, "timeout": 5}
    with on_postgres(postgres_url, database(postgres_url, pool=pool)):
        try:
            with transaction.atomic():
                connection.cursor().execute("SELECT 1")
                tasks.note.enqueue(1)
            assert orders(postgres_url) == [[1]]
        finally:
            connection.close()
            connection.close_pool()


def test_the_enqueues_of_a_block_share_a_hint(postgres_url: str) -> None:
    with on_postgres(postgres_url, database(postgres_url)), transaction.atomic():
        for number in range(3):
            tasks.note.enqueue(number)
        assert len(connection.run_on_commit) == 1
        with transaction.atomic():  # whose rollback would drop the hint of its own
            tasks.note.enqueue(3)
            tasks.note.enqueue(4)
            assert len(connection.run_on_commit) == 2
            transaction.set_rollback(True)
        assert len(connection.run_on_commit) == 1


def test_the_connections_that_make_lanes_are_closed(postgres_url: str) -> None:
    """Each queue that is new here has one of its own for a moment."""
    with on_postgres(postgres_url, database(postgres_url)):

        def opened() -> int:
            with connection.cursor() as cursor:
                cursor.execute(OPEN)
                return int(cursor.fetchone()[0])

        before = opened()  # that of Django, and those that earlier tests have left in this database
        for number in range(4):
            tasks.note.using(queue_name=f"new{number}").enqueue(number)
        until(lambda: opened() == before, "the end of the others", 10)
