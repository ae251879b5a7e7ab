"""URLs of PostgreSQL: split as libpq does it, with parameters of our own, and without secrets for other programs."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import Any, NamedTuple
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from workbell.errors import InvalidUrl
from workbell.logs.secrets import without_quotes

MODES = ("session", "transaction")
SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")


class OwnParameters(NamedTuple):
    """Parameters of a URL that are ours; None: not given."""

    prepare_threshold: int | None = None  # after how many uses a statement is prepared; 0: never
    pooler: str | None = None  # the mode of a pooler in between


class _Parts(NamedTuple):
    """The parts of a URL, as they were written."""

    scheme: str
    user: str  # with the password, and the at sign behind it
    place: str  # host and database
    parameters: list[str]

    def without(self, names: Collection[str]) -> _Parts:
        return self._replace(parameters=[one for one in self.parameters if _name_and_value(one)[0] not in names])

    def __str__(self) -> str:
        mark = "?" if self.parameters else ""
        return f"{self.scheme}{self.user}{self.place}{mark}{'&'.join(self.parameters)}"


def _split(url: str) -> _Parts:
    """Unlike for `urlsplit`, a `#` or `?` before the at sign belongs to the password."""
    found = re.fullmatch(r"(\w+://)([^@/]*@)?([^?]*)\??(.*)", url, re.DOTALL)
    if found is None:
        raise InvalidUrl("The store's URL cannot be read; write it as postgresql://user:password@host:5432/database.")
    return _Parts(found[1], found[2] or "", found[3], [one for one in found[4].split("&") if one])


def _name_and_value(parameter: str) -> tuple[str, str]:
    """A plus sign is no blank: libpq knows %20 only."""
    name, _, value = parameter.partition("=")
    return unquote(name), unquote(value)


def read_url(url: str) -> tuple[dict[str, Any], OwnParameters]:
    """The driver's parameters, and our own."""
    parts = _split(url)
    named = dict(_name_and_value(one) for one in parts.parameters)
    threshold, pooler = named.get("prepare_threshold"), named.get("pooler")
    if threshold is not None and not threshold.isdecimal():
        raise InvalidUrl(f"The store's URL: prepare_threshold={threshold!r} is not a whole number; 0 turns it off.")
    if pooler not in (None, *MODES):
        raise InvalidUrl(f"The store's URL: pooler={pooler!r} is no mode of a pooler; write {' or '.join(MODES)}.")
    try:
        given = conninfo_to_dict(str(parts.without(OwnParameters._fields)))
    except (psycopg.ProgrammingError, ValueError) as error:
        raise InvalidUrl(
            f"The store's URL cannot be read: {without_quotes(str(error).strip())}; "
            "write it as postgresql://user:password@host:5432/database."
        ) from None
    return given, OwnParameters(None if threshold is None else int(threshold), pooler)


def url_for_others(url: str) -> str:
    """The URL for PostgreSQL's own programs: without secrets, and without our own parameters."""
    read_url(url)
    parts = _split(url).without((*OwnParameters._fields, *SECRETS))
    if "@" in parts.place:
        raise InvalidUrl(
            "The store's URL: its password cannot be told from the rest; write @ as %40 and / as %2F in it."
        )
    user = parts.user.removesuffix("@").partition(":")[0]
    return str(parts._replace(user=f"{user}@" if user else ""))


def shown_name(given: dict[str, Any]) -> str:
    """Host, port and database, as messages name them."""
    hosts = str(given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "local").split(",")
    ports = str(given.get("port") or os.environ.get("PGPORT") or 5432).split(",")
    ports *= len(hosts) if len(ports) == 1 else 1
    listed = [f"{host}:{port or 5432}" for host, port in zip(hosts, ports, strict=False)]
    return f"{','.join(listed)}/{given.get('dbname') or given.get('user') or ''}"
