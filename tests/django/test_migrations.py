"""The migration: it makes the tables through Django's connection, and covers every version of the store's schema."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test import override_settings

from tests.django import tasks
from tests.support.django_site import BACKEND, database, databases
from workbell import SchemaMismatch, Workbell
from workbell.django import bells
from workbell.django.migrating import MigrateStore
from workbell.django.testing import drain
from workbell.stores.migrate import NEWEST


def test_the_last_migration_brings_the_newest_version() -> None:
    """Fails when the store has a new migration, and Django's is missing: copy the last one, with the next number."""
    with databases(default=database("sqlite:///:memory:")):
        loader = MigrationLoader(connection)
        (leaf,) = loader.graph.leaf_nodes("workbell")
        versions = [one.version for one in loader.get_migration(*leaf).operations if isinstance(one, MigrateStore)]
        assert versions == [NEWEST]
        call_command("makemigrations", "workbell", check=True, dry_run=True, verbosity=0)


def test_without_tables_an_enqueue_names_the_command() -> None:
    with databases(default=database("sqlite:///:memory:")):
        with pytest.raises(
            SchemaMismatch, match=r"DATABASES\['default'\] has no tables .* `manage\.py migrate workbell`"
        ):
            tasks.note.enqueue()
        bells.close_all()


def test_a_store_that_is_there_is_taken_over(sqlite_url: str) -> None:
    with Workbell(sqlite_url) as bell:
        bell.store.migrate()
        before = bell.store.identity()
    with databases(default=database(sqlite_url)):
        call_command("migrate", "workbell", verbosity=0)
        call_command("migrate", "workbell", verbosity=0)
        tasks.note.enqueue()
        assert len(drain()) == 1
        bells.close_all()
    with Workbell(sqlite_url) as bell:
        assert bell.store.identity() == before
        assert len(bell.runs()) == 1


def test_tables_are_made_only_where_a_backend_keeps_runs() -> None:
    entries = {"default": database("sqlite:///:memory:"), "jobs": database("sqlite:///:memory:")}
    options = {"database": "jobs"}
    with (
        databases(**entries),
        override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}}),
    ):
        call_command("migrate", "workbell", verbosity=0)
        assert "workbell_runs" not in connection.introspection.table_names()
        call_command("migrate", "workbell", database="jobs", verbosity=0)
        result = tasks.note.enqueue(1)
        assert [one.id for one in drain()] == [result.id]
        bells.close_all()


def backend_with(**options: Any) -> Any:
    return override_settings(TASKS={"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}})


def test_a_migration_that_was_applied_without_tables_is_made_up_for() -> None:
    """The backend had a store of its own when `migrate` ran first."""
    with databases(default=database("sqlite:///:memory:")):
        with backend_with(url="memory://"):
            call_command("migrate", "workbell", verbosity=0)
            assert "workbell_runs" not in connection.introspection.table_names()
        for options in ({}, {"url": None}):
            with backend_with(**options):
                call_command("migrate", "workbell", verbosity=0)
                tasks.note.enqueue()
                assert len(drain()) == 1
                bells.close_all()


def test_the_migration_of_another_app_makes_no_tables() -> None:
    with databases(default=database("sqlite:///:memory:")):
        call_command("migrate", "contenttypes", verbosity=0)
        assert "workbell_runs" not in connection.introspection.table_names()


class NoTables:
    """Router that forbids them."""

    def allow_migrate(self, _db: str, app_label: str, **_: Any) -> bool:
        return app_label != "workbell"


def test_a_router_that_forbids_the_tables_is_named_with_a_remedy(tmp_path: Path) -> None:
    entry = database(f"sqlite:///{tmp_path}/shop.db", transaction_mode="IMMEDIATE")
    with databases(default=entry), override_settings(DATABASE_ROUTERS=[f"{__name__}.NoTables"]):
        call_command("migrate", "workbell", verbosity=0)
        with pytest.raises(SchemaMismatch, match=r"DATABASE_ROUTERS .* or run `manage\.py workbell migrate`"):
            tasks.note.enqueue()
        call_command("workbell", "migrate")
        assert tasks.note.enqueue().status == "READY"
        bells.close_all()


def test_sqlmigrate_prints_and_touches_nothing() -> None:
    with databases(default=database("sqlite:///:memory:")):
        text = io.StringIO()
        call_command("sqlmigrate", "workbell", "0001", stdout=text)
        assert "CREATE TABLE workbell_runs" in text.getvalue()
        assert "workbell_runs" not in connection.introspection.table_names()


def test_connections_to_the_file_make_no_checkpoints(tmp_path: Path) -> None:
    def pace() -> int:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_autocheckpoint")
            return int(cursor.fetchone()[0])

    entry = database(f"sqlite:///{tmp_path}/shop.db")
    with databases(default=entry):
        assert pace() == 0
    with (
        databases(default=entry),
        override_settings(TASKS={"default": {"BACKEND": BACKEND, "OPTIONS": {"url": "memory://"}}}),
    ):
        assert pace() == 1000
