"""A store of Workbell in a small server: `socketdb://host:port/name`."""

from __future__ import annotations

import re

from socket_store.database import SocketDatabase
from workbell import InvalidUrl
from workbell.model.state import Retention
from workbell.stores.port import Store
from workbell.stores.sql_store import SqlStore

_URL = re.compile(r"socketdb://([\w.-]+):(\d+)/(\w+)", re.ASCII)


def open_url(url: str, *, keep: Retention, connections: int | None, **_later: object) -> Store:
    """The store that a URL names. Connects to nothing yet."""
    found = _URL.fullmatch(url)
    if found is None:
        raise InvalidUrl("Write the URL as socketdb://host:port/name, with letters, digits and _ in the name.")
    return SqlStore(SocketDatabase(found[1], int(found[2]), found[3]), keep)
