"""Django's connections for `connection=`: statements go through its own cursor, inside `transaction.atomic()`.

So its execute wrappers and query log see them, and a transaction that it knows to be broken is left alone. Django need
not be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbell.errors import WrongConnection
from workbell.stores.is_a import is_a

ASYNC = (
    "connection=: a Django connection is synchronous, and its transactions cannot span an await; put "
    "transaction.atomic() and enqueue() or emit() into one function, and call that with sync_to_async."
)


def is_django(connection: Any) -> bool:
    """Whether it is `django.db.connection`, or one of `django.db.connections`."""
    return is_a(connection, "django.utils.connection", "ConnectionProxy") or is_a(
        connection, "django.db.backends.base.base", "BaseDatabaseWrapper"
    )


def check_django(connection: Any) -> None:
    """Refuse one that is in no transaction, or in a broken one."""
    if not connection.in_atomic_block and connection.get_autocommit():
        raise WrongConnection(
            f"connection=: Django's connection {connection.alias!r} is in no transaction; enqueue inside "
            f"`with transaction.atomic({_using(connection)}):`."
        )
    if connection.needs_rollback:
        raise WrongConnection(
            "connection=: its transaction has failed; leave the atomic block, so that Django rolls it back, then "
            "repeat the call."
        )


def _using(connection: Any) -> str:
    return "" if connection.alias == "default" else f"using={connection.alias!r}"


def through_django(connection: Any) -> Callable[[str, Mapping[str, Any] | Sequence[Any]], list[Any]]:
    """Executes statements with a Django cursor."""
    sqlite = connection.vendor == "sqlite"

    def rows(sql: str, values: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        # Its cursor for SQLite turns %(name)s into :name, which ours are already: only a % has to survive that.
        text = sql.replace("%", "%%") if sqlite and values else sql
        with connection.cursor() as cursor:
            cursor.execute(text, values or None)
            return list(cursor.fetchall()) if cursor.description else []

    return rows
