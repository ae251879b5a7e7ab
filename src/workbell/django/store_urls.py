"""Store URL of an entry of DATABASES: the database that workers open on connections of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from workbell.errors import StoreError

# Entries of OPTIONS that are Django's or psycopg's own, and no parameters of libpq.
NOT_LIBPQ = frozenset(
    "assume_role client_encoding cursor_factory isolation_level pool prepare_threshold server_side_binding".split()
)
PLAIN_HOST = re.compile(r"[A-Za-z0-9_.-]*")


def store_url(alias: str, entry: Mapping[str, Any]) -> str:
    """The URL of the database; raises StoreError where only Django's own connection can reach it."""
    engine = str(entry.get("ENGINE", ""))
    if "sqlite" in engine or "spatialite" in engine:
        return _sqlite_url(alias, str(entry["NAME"]))
    if "postg" in engine:  # also PostGIS
        return _postgres_url(entry)
    raise StoreError(
        f"DATABASES[{alias!r}] is {engine or 'without an engine'}, and Workbell keeps runs in SQLite or PostgreSQL; "
        'name another database by OPTIONS["database"], or a store by OPTIONS["url"].'
    )


def is_in_memory(name: str) -> bool:
    return name == ":memory:" or "mode=memory" in name


def _sqlite_url(alias: str, name: str) -> str:
    if is_in_memory(name):
        raise StoreError(
            f"DATABASES[{alias!r}] is in memory, where no other connection reaches it; in tests call "
            "workbell.django.testing.drain(), and for workers use a file or PostgreSQL."
        )
    if name.startswith("file:"):
        raise StoreError(
            f"DATABASES[{alias!r}]: {name} is a URI, which workers cannot use; write the path of the file in NAME."
        )
    return f"sqlite:///{Path(name).absolute()}"


def _postgres_url(entry: Mapping[str, Any]) -> str:
    options = dict(entry.get("OPTIONS") or {})
    parameters = {word: str(value) for word, value in options.items() if word not in NOT_LIBPQ}
    if options.get("assume_role"):
        role = f"-c role={options['assume_role']}"
        parameters["options"] = f"{parameters['options']} {role}" if "options" in parameters else role
    host, port = str(entry.get("HOST") or ""), str(entry.get("PORT") or "")
    if not PLAIN_HOST.fullmatch(host):  # a list, an IPv6 address, the folder of a socket
        parameters["host"], host = host, ""
    if port and not host:
        parameters["port"], port = port, ""
    user, password = (quote(str(entry.get(key) or ""), safe="") for key in ("USER", "PASSWORD"))
    login = f"{user}{':' if password else ''}{password}@" if user or password else ""
    path = quote(str(entry.get("NAME") or ""), safe="")
    asked = urlencode(parameters, quote_via=quote)
    return f"postgresql://{login}{host}{':' if port else ''}{port}/{path}{'?' if asked else ''}{asked}"
