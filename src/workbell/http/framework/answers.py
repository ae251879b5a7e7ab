"""JSON responses, encoded by msgspec, which knows our structs, enums and times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from workbell.model.unreadable import check_readable
from workbell.wire.operation import PREFIX

encode = msgspec.json.Encoder().encode
_KIND = (b"content-type", b"application/json")


class JsonResponse(Response):
    """A value as JSON; times come out as RFC 3339 in UTC."""

    media_type = "application/json"

    def __init__(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        if headers is not None:
            super().__init__(encode(value), status_code=status, headers=headers)
            return
        # The same, without looking for what is in other headers: a third of the cost of a small answer.
        self.status_code = status
        self.background = None
        self.body = encode(value)
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), _KIND]


def check_shown(request: Request, value: Any) -> None:
    """Raise UnreadableRow where one thing is asked for that cannot be read; a list shows it among the others."""
    if request.method == "GET":
        check_readable(request.scope["path"].removeprefix(PREFIX), getattr(value, "unreadable", None))


def nothing() -> Response:
    """Done, and there is nothing to say."""
    return Response(status_code=204)
