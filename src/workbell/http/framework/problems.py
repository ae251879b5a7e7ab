"""Errors as `application/problem+json`: every error of Workbell has its status; other errors reveal nothing.

`type` names the error's class, so that a client can raise the same one.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from workbell import errors
from workbell.http.framework.answers import encode
from workbell.http.framework.call import CALL, ApiCall
from workbell.wire.problem import BY_STATUS, PROBLEM_JSON, STATUS, TYPE

log = logging.getLogger("workbell.http")

STORE_AWAY = "The store cannot be used just now; the server's log says why."

INTERNAL = "InternalError"
OTHER_WORDS: Mapping[int, tuple[str, str]] = {
    400: ("InvalidRequest", "The request cannot be read."),
    405: ("MethodNotAllowed", "This path does not know the method."),
    415: ("UnsupportedMediaType", "The request cannot be read."),
    422: ("InvalidRequest", "The request cannot be read."),
}
"""Name and title of a problem for statuses that no class of `workbell.errors` stands for."""


def status_of(error: errors.WorkbellError) -> int:
    for kind in type(error).__mro__:
        if kind in STATUS:
            return STATUS[kind]
        own = kind.__dict__.get("http_status")
        if own is not None:
            return int(own)
    return 400


def problem(
    status: int, name: str, title: str, detail: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    body = {"type": f"{TYPE}{name}", "title": title, "status": status, "detail": detail, **more}
    return Response(encode(body), status_code=status, headers=headers, media_type=PROBLEM_JSON)


def of_error(error: errors.WorkbellError, *, operator: bool = False) -> Response:
    """An error as a problem, in the words for operators or for everybody else."""
    status = status_of(error)
    more = {"run_id": error.run_id} if isinstance(error, errors.DuplicateRun) else {}
    detail = str(error) if operator else public_words(error)
    return problem(status, type(error).__name__, _title(type(error)), detail, error_headers(error), **more)


def _title(kind: type[errors.WorkbellError]) -> str:
    return (kind.__doc__ or "").strip().partition("\n")[0]


def public_words(error: errors.WorkbellError) -> str:
    """Text of an error for those who are no operators: it does not say where the store is."""
    return STORE_AWAY if isinstance(error, errors.StoreUnavailable | errors.SchemaMismatch) else str(error)


def log_failure(error: errors.WorkbellError) -> None:
    """Log an error that is not the caller's: the answer may say less."""
    if status_of(error) >= 500:
        log.error("%s: %s", type(error).__name__, error)


def error_headers(error: errors.WorkbellError) -> Mapping[str, str] | None:
    """Response headers of an error, for problem documents and pages."""
    return _status_headers(status_of(error), getattr(error, "retry_after", 1))


def _status_headers(status: int, retry_after: int = 1) -> Mapping[str, str] | None:
    match status:
        case 401:
            return {"www-authenticate": 'Bearer realm="workbell"'}
        case 429 | 503:
            return {"retry-after": str(retry_after)}
        case _:
            return None


class InvalidRequest(Exception):
    """A request that does not have the form of its operation: where, and what is wrong."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}{'' if what.endswith('?') else '.'}")
        self.where = where
        self.what = what


async def on_workbell_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.WorkbellError)
    log_failure(error)
    call: ApiCall | None = request.scope.get(CALL)  # none, while it is not known who asks
    return of_error(error, operator=call is not None and call.is_operator)


async def on_invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, InvalidRequest)
    title = "The request does not have the form that the API asks for."
    return problem(422, "InvalidRequest", title, str(error), errors=[{"where": error.where, "what": error.what}])


async def on_http(_request: HTTPConnection, error: Exception) -> Response:
    """HTTPException as a problem: refusals of the framework itself, and whatever the application's `auth` hook raises.

    The name follows the status: clients and agents decide by it whether to send the request again.
    """
    assert isinstance(error, HTTPException)
    status = error.status_code
    if status == 400 and isinstance(error.__cause__, errors.WorkbellError):  # such as a body that is too large
        return of_error(error.__cause__)
    name, title = _words_of_status(status)
    given = {word.lower(): value for word, value in (error.headers or {}).items()}
    return problem(status, name, title, str(error.detail or title), {**(_status_headers(status) or {}), **given})


def _words_of_status(status: int) -> tuple[str, str]:
    """Name and title of a problem for a status that comes without an error of Workbell."""
    if status in BY_STATUS:
        kind = BY_STATUS[status]
        return kind.__name__, _title(kind)
    if status >= 500:
        return INTERNAL, "The server could not answer the request."
    return OTHER_WORDS.get(status, (errors.WorkbellError.__name__, "The request was refused."))


async def on_gone(_request: Request, _error: Exception) -> Response:
    """The caller disconnected while its body was read: nobody receives this, but the log has a status for it."""
    return Response(status_code=499)


async def on_crash(request: Request, error: Exception) -> Response:
    """An error in Workbell itself: the log has it, the caller does not."""
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, INTERNAL, "Something went wrong in Workbell.", "The server's log has the details.")
