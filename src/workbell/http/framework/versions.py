"""Versions of things, against lost updates: an answer carries an ETag, and a change says by `If-Match` what was read.

A handler of a versioned operation gets the request's `Precondition`, and answers with a `Versioned` thing.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import PreconditionFailed
from workbell.http.framework.answers import JsonResponse, encode
from workbell.http.framework.parsing import check_read_only

Thing = TypeVar("Thing")


class Versioned(NamedTuple, Generic[Thing]):
    """A thing as it is shown, with the ETag of its version."""

    shown: Thing
    etag: str

    def answer(self, request: Request, status: int) -> Response:
        """The thing with its ETag; nothing, if the caller has it already."""
        if request.method in ("GET", "HEAD") and self.etag in _listed(request.headers.get("if-none-match")):
            return Response(status_code=304, headers={"ETag": self.etag})
        return JsonResponse(self.shown, status, {"ETag": self.etag})


class Precondition:
    """The version that a change is for: `If-Match`, `If-None-Match: *`, and the fields of the body that only show the
    thing."""

    def __init__(self, request: Request, read_only: Mapping[str, msgspec.Raw]) -> None:
        self._wanted = request.headers.get("if-match")
        self._unwanted = request.headers.get("if-none-match")
        self._read_only = read_only

    @property
    def is_guarded(self) -> bool:
        """Whether the change must be refused if somebody else made one since."""
        return self._wanted is not None or self._unwanted is not None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare, so that the thing need not be read."""
        return not self.is_guarded and not self._read_only

    def check(self, etag: str | None, **stored: Any) -> None:
        """Raise if another version is meant than there is, or another thing by its read-only fields; `etag` None: there
        is nothing yet."""
        if self._wanted is not None and etag is None:
            raise PreconditionFailed("There is nothing of this name to change (If-Match); leave that out to make it.")
        if self._wanted is not None and self._wanted.strip() != "*" and etag not in _listed(self._wanted):
            raise PreconditionFailed("It was changed since it was read (If-Match); read it again, and send its ETag.")
        if self._unwanted is not None and self._unwanted.strip() == "*" and etag is not None:
            raise PreconditionFailed("It exists already (If-None-Match: *).")
        check_read_only(self._read_only, **stored)

    def expected(self, version: int) -> int | None:
        """The version that the store compares as it writes; none, if any will do."""
        return version if self.is_guarded else None


def etag_of(definition: Any) -> str:
    """ETag of the fields that users can change, and of none that changes by itself."""
    return f'"{blake2b(encode(definition), digest_size=12).hexdigest()}"'


def _listed(header: str | None) -> list[str]:
    return [] if header is None else [part.strip().removeprefix("W/") for part in header.split(",")]
