"""Headers of a request as a dict, made once: Starlette's `Headers` reads the whole list for each name."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Scope

CACHED = "workbell.headers"


def request_headers(scope: Scope) -> Mapping[bytes, bytes]:
    """Header values by their names in lower case; of a header that came several times, the first one."""
    found: Mapping[bytes, bytes] | None = scope.get(CACHED)
    if found is None:
        found = scope[CACHED] = dict(reversed(scope["headers"]))
    return found


def header_of(scope: Scope, name: bytes) -> str | None:
    """The text of one header, if it came."""
    value = request_headers(scope).get(name)
    return None if value is None else value.decode("latin-1")
