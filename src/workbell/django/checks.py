"""System checks of a task backend: wrong options and databases are errors with a hint, before a task is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, Warning  # noqa: A004
from django.db import connections

from workbell.django.connections import store_aliases
from workbell.django.database import SUPPORTED, DjangoDatabase
from workbell.django.migrating import is_migrated
from workbell.django.store_urls import is_in_memory
from workbell.errors import SchemaMismatch

if TYPE_CHECKING:
    from workbell.django.backend import WorkbellBackend

CHECKPOINTS = "PRAGMA wal_autocheckpoint"
OPTIONS = ("database", "url", "max_attempts", "dashboard")


def check_backend(backend: WorkbellBackend) -> Iterator[CheckMessage]:
    where = f"TASKS[{backend.alias!r}]"
    if not apps.is_installed("workbell.django"):
        yield Error(
            f"{where}: workbell.django is not in INSTALLED_APPS.",
            hint='Add "workbell.django" to INSTALLED_APPS: it has the migration, the command and the autodiscovery.',
            id="workbell.E001",
        )
    options = backend.options
    unknown = sorted(set(options) - set(OPTIONS))
    for name in unknown:
        near = get_close_matches(name, OPTIONS, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"The options are {', '.join(OPTIONS)}."
        yield Error(f"{where}: there is no option {name!r}.", hint=hint, id="workbell.E002")
    attempts = options.get("max_attempts", 1)
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        yield Error(
            f"{where}: max_attempts is {attempts!r}.", hint="Give a whole number of 1 or more.", id="workbell.E003"
        )
    if options.get("url") is not None:
        if "database" in options:
            yield Error(
                f"{where}: database and url both name the store.", hint="Leave one of them out.", id="workbell.E004"
            )
        return
    yield from _check_database(where, options.get("database", "default"))


def check_stores(databases: Sequence[str] | None = None, **_: object) -> list[CheckMessage]:
    """Check of the databases themselves: Django runs it only where they are named, as in `manage.py migrate`."""
    named = [alias for alias in store_aliases() if alias in (databases or ())]
    return [message for alias in named for message in _check_store(alias)]


def _check_store(alias: str) -> Iterator[CheckMessage]:
    database = DjangoDatabase(alias)
    if database.connection.vendor not in SUPPORTED:
        return  # told by the check of the backend
    try:
        database.ready()
    except SchemaMismatch as error:
        if is_migrated(alias):  # otherwise `migrate` is yet to come, and may be what asks
            yield Warning(
                str(error),
                hint="`manage.py migrate` makes the tables; without them no task can be enqueued.",
                id="workbell.W002",
            )
    if database.is_sqlite and not database.connection.is_in_memory_db():
        with database.connection.cursor() as cursor:
            cursor.execute(CHECKPOINTS)
            pages = cursor.fetchone()[0]
        if pages:
            yield Warning(
                f"DATABASES[{alias!r}]: its connections make checkpoints after {pages} pages, which can lose commits "
                "of workers before SQLite 3.51.3.",
                hint="Leave `PRAGMA wal_autocheckpoint` out of init_command; workbell.django turns it off.",
                id="workbell.W003",
            )


def _check_database(where: str, alias: object) -> Iterator[CheckMessage]:
    if alias not in connections.settings:
        yield Error(
            f"{where}: there is no database {alias!r}.",
            hint=f'Set OPTIONS["database"] to one of DATABASES: {", ".join(connections.settings)}.',
            id="workbell.E005",
        )
        return
    connection = connections[str(alias)]
    if connection.vendor not in SUPPORTED:
        yield Error(
            f"{where}: the database {alias!r} is {connection.vendor}, and Workbell keeps runs in SQLite or PostgreSQL.",
            hint='Name another database by OPTIONS["database"], or a store by OPTIONS["url"].',
            id="workbell.E006",
        )
    elif connection.vendor == "sqlite":
        yield from _check_sqlite(where, connection)
    elif find_spec("psycopg") is None:
        yield Error(
            f"{where}: the database {alias!r} is PostgreSQL, and psycopg 3 is not installed.",
            hint="pip install 'workbell[postgres]'; Django uses it in the place of psycopg2.",
            id="workbell.E007",
        )


def _check_sqlite(where: str, connection: Any) -> Iterator[CheckMessage]:
    entry = connection.settings_dict
    if is_in_memory(str(entry["NAME"])):
        return  # a test's
    if "?" in str(Path(entry["NAME"]).absolute()):
        yield Error(
            f"{where}: the file of the database {connection.alias!r} has a question mark in its path, where workers "
            "would read parameters.",
            hint="Give NAME the path of a file, without a question mark.",
            id="workbell.E008",
        )
    if entry.get("OPTIONS", {}).get("transaction_mode") != "IMMEDIATE":
        yield Warning(
            f"{where}: transactions of the database {connection.alias!r} begin DEFERRED: one that reads first and "
            "enqueues later can fail with “database is locked” while a worker writes.",
            hint='Set OPTIONS["transaction_mode"] of that database to "IMMEDIATE".',
            id="workbell.W001",
        )
