"""The D1 store by its URL: `d1+https://bridge.example.workers.dev`, with the token from the environment."""

from __future__ import annotations

import os

from workbell.errors import InvalidUrl
from workbell.model.state import Retention
from workbell.remote.address import UrlWords, address_of, check_token
from workbell.stores.d1.bridge_calls import TOKEN, BridgeCalls
from workbell.stores.d1.database import D1Database
from workbell.stores.sql_store import SqlStore

CONNECTIONS = 8  # D1 does one thing after the other: more of them only hide the way there


def open_url(url: str, keep: Retention, connections: int | None) -> SqlStore:
    """The store that a URL names. Connects to nothing yet."""
    most = min(connections or CONNECTIONS, CONNECTIONS)
    return SqlStore(D1Database(open_calls(url, most), most), keep)


def open_calls(url: str, connections: int) -> BridgeCalls:
    """The calls to the bridge that a URL names, with the token from the environment."""
    address = address_of(url.removeprefix("d1+"), words=UrlWords("bridge", f"set {TOKEN}", None))
    token = os.environ.get(TOKEN)
    if not token:
        raise InvalidUrl(f"{address.shown}: no token; set {TOKEN} to the secret TOKEN of the bridge Worker.")
    check_token(token)
    return BridgeCalls(address.shown, token, loopback=address.loopback, connections=connections)
