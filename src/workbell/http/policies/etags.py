"""ETags: a hash of a resource's definition, against lost updates."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import PreconditionFailed
from workbell.http.framework.answers import JsonResponse, check_shown, encode


def etag_of(definition: Any) -> str:
    """ETag of the fields that users can change, and of none that changes by itself."""
    return f'"{blake2b(encode(definition), digest_size=12).hexdigest()}"'


def answer_with(request: Request, value: Any, etag: str, status: int = 200) -> Response:
    """The thing with its ETag; nothing, if the caller has it already."""
    if request.method in ("GET", "HEAD") and etag in _listed(request.headers.get("if-none-match")):
        return Response(status_code=304, headers={"ETag": etag})
    check_shown(request, value)
    return JsonResponse(value, status, {"ETag": etag})


def check_match(request: Request, etag: str | None) -> None:
    """Raise if the caller wants to change another version than there is. None: there is nothing yet."""
    wanted = request.headers.get("if-match")
    unwanted = request.headers.get("if-none-match")
    if wanted is not None and etag is None:
        raise PreconditionFailed("There is nothing of this name to change (If-Match); leave that out to make it.")
    if wanted is not None and wanted.strip() != "*" and etag not in _listed(wanted):
        raise PreconditionFailed("It was changed since it was read (If-Match); read it again, and send its ETag.")
    if unwanted is not None and unwanted.strip() == "*" and etag is not None:
        raise PreconditionFailed("It exists already (If-None-Match: *).")


def _listed(header: str | None) -> list[str]:
    return [] if header is None else [part.strip().removeprefix("W/") for part in header.split(",")]
