"""Migration operation, and the receiver that completes it: they bring the tables of the store up to date."""

from __future__ import annotations

from typing import Any

from django.db import connections, router
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation

from workbell.django.connections import store_aliases
from workbell.django.database import LABEL, SUPPORTED, DjangoDatabase
from workbell.stores import migrate


class MigrateStore(Operation):  # type: ignore[misc]
    """Applies what the store lacks. A store that `workbell` made before is taken over as it is: nothing to fake."""

    reduces_to_sql = True
    reversible = False
    elidable = False

    def __init__(self, version: int) -> None:
        self.version = version

    def state_forwards(self, app_label: str, state: Any) -> None:
        """No model changes."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        alias = schema_editor.connection.alias
        if not _keeps_tables(alias):
            return
        if schema_editor.collect_sql:
            engine = "sqlite" if schema_editor.connection.vendor == "sqlite" else "postgres"
            schema_editor.collected_sql.append(migrate.dump(engine))
            return
        DjangoDatabase(alias).migrate()

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Never called: it is not reversible."""

    def describe(self) -> str:
        return f"Workbell's tables, version {self.version}"


def complete_store(sender: object, using: str, **_: object) -> None:
    """Receiver of `post_migrate`: makes the tables that applied migrations have left out.

    The backend may have had another database when they ran, or a router forbade them; Django does not run them again.
    """
    if not _keeps_tables(using) or connections[using].vendor not in SUPPORTED:
        return
    database = DjangoDatabase(using)
    tables = database.tables()
    if (tables is None or tables.version < migrate.NEWEST) and is_migrated(using):
        database.migrate()


def is_migrated(alias: str) -> bool:
    """Whether Django has applied every migration of ours there; also if MIGRATION_MODULES has none of them."""
    loader = MigrationLoader(connections[alias])
    return set(loader.graph.leaf_nodes(LABEL)) <= set(loader.applied_migrations)


def _keeps_tables(alias: str) -> bool:
    return alias in store_aliases() and bool(router.allow_migrate(alias, LABEL))
