"""Router of the API: finds an operation by the segments of its path, with one step in a dict for each.

One Starlette route for all of them, because Starlette compares a path with a hundred regular expressions, one after the
other. A fixed segment goes before a parameter: `/runs/count` is not the run `count`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Message, Receive, Scope, Send

from workbell.http.framework.operations import ServedOperation
from workbell.wire.operation import PREFIX

_ENCODED_SLASH = re.compile(rb"%2f", re.IGNORECASE)


class _Node:
    """A place in the tree of paths."""

    __slots__ = ("fixed", "methods", "parameter")

    def __init__(self) -> None:
        self.fixed: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.methods: dict[str, ServedOperation] = {}

    def add(self, segments: list[str], served: ServedOperation) -> None:
        if not segments:
            self.methods[served.operation.method] = served
            return
        first, *rest = segments
        if first.startswith("{"):
            self.parameter = self.parameter or _Node()
            self.parameter.add(rest, served)
        else:
            self.fixed.setdefault(first, _Node()).add(rest, served)

    def find(self, segments: list[str], at: int, method: str, names: list[str]) -> _Node | None:
        """The node of a path that knows the method; else the last one that the path leads to. `names` gets what
        stands at parameters."""
        if at == len(segments):
            return self if self.methods else None
        before = len(names)
        known = self.fixed.get(segments[at])
        found = None if known is None else known.find(segments, at + 1, method, names)
        if self.parameter is None or not segments[at] or (found is not None and method in found.methods):
            return found
        of_found = names[before:]
        names[before:] = [segments[at]]
        other = self.parameter.find(segments, at + 1, method, names)
        if other is not None and (found is None or method in other.methods):
            return other
        names[before:] = of_found
        return found


class ApiRoutes(BaseRoute):
    """All operations below /api/v1, as one route."""

    def __init__(self, served: Iterable[ServedOperation]) -> None:
        self._root = _Node()
        self.served = [*served]
        self._fixed = {(one.operation.method, one.path): one for one in self.served if not one.parameters}
        for one in self.served:
            self._root.add(one.operation.path.strip("/").split("/"), one)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        path: str = scope["path"]
        if above := scope.get("root_path"):
            path = path.removeprefix(above)
        fixed = self._fixed.get((method, path))
        if fixed is not None and b"%2" not in (scope.get("raw_path") or b""):  # without a walk through the tree
            return Match.FULL, {"endpoint": fixed, "route": fixed, "path_params": {}}
        if not path.startswith(PREFIX + "/"):
            return Match.NONE, {}
        names: list[str] = []
        node = self._root.find(_segments(scope, path), 0, method, names)
        if node is None:
            return Match.NONE, {}
        served = node.methods.get(method)
        if served is None:
            known = {*node.methods, *(("HEAD",) if "GET" in node.methods else ())}
            by_name = node.parameter.methods.get("PUT") if node.parameter is not None and method == "POST" else None
            makes = None if by_name is None else f"PUT {by_name.path}"
            return Match.PARTIAL, {"workbell.methods": sorted(known), "workbell.makes": makes}
        found: Scope = {
            "endpoint": served,
            "route": served,
            "path_params": dict(zip(served.parameters, names, strict=True)),
        }
        return Match.FULL, found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        served: ServedOperation | None = scope.get("endpoint")
        if served is None:
            allowed = ", ".join(scope["workbell.methods"])
            makes = scope["workbell.makes"]
            instead = "" if makes is None else f" {makes} makes one."
            raise HTTPException(405, f"This path knows {allowed}.{instead}", {"Allow": allowed})
        response = await served.answer(Request(scope, receive, send))
        await (
            _send_head(response, scope, receive, send) if scope["method"] == "HEAD" else response(scope, receive, send)
        )

    def url_path_for(self, name: str, /, **path_params: Any) -> Any:
        raise NotImplementedError


class _HeadSent(Exception):
    """The answer to a HEAD is complete."""


async def _send_head(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send an answer to HEAD, whose body the middleware drops. A stream ends at its first part, as if its client had
    left."""

    async def send_head(message: Message) -> None:
        if message.get("more_body", False):
            await send({"type": "http.response.body", "body": b""})
            raise _HeadSent
        await send(message)

    with suppress(_HeadSent):
        await response(scope, receive, send_head)


def _segments(scope: Scope, path: str) -> list[str]:
    """The segments of a path below the prefix. A slash within a name is sent as %2F: servers decode a path before
    anybody can tell the two apart, so where there is one, the path is read as it was sent."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%2" in raw and _ENCODED_SLASH.search(raw):
        sent = raw.decode("ascii", "replace")
        if unquote(sent) == scope["path"]:
            above = scope.get("root_path", "").count("/") + PREFIX.count("/") + 1
            return [unquote(segment) for segment in sent.split("/")[above:]]
    return path[len(PREFIX) + 1 :].split("/")
