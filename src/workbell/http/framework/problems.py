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
from workbell.wire.problem import PROBLEM_JSON, TYPE

log = logging.getLogger("workbell.http")

STORE_AWAY = "The store cannot be used just now; the server's log says why."

STATUS: Mapping[type[errors.WorkbellError], int] = {
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.RunNotFound: 404,
    errors.ScheduleNotFound: 404,
    errors.TriggerNotFound: 404,
    errors.EventNotFound: 404,
    errors.EndpointNotFound: 404,
    errors.StoredFileNotFound: 404,
    errors.DuplicateRun: 409,
    errors.TriggerExists: 409,
    errors.RunNotFinished: 409,
    errors.LeaseLost: 409,
    errors.KeyReused: 409,
    errors.PreconditionFailed: 412,
    errors.TooLarge: 413,
    errors.TooMany: 429,
    errors.MissingPackage: 501,
    errors.StoreError: 503,  # the caller has done nothing wrong, and may ask again
    errors.DatabaseUnavailable: 503,
    errors.ServiceUnavailable: 503,
    errors.QueueUnavailable: 503,
    errors.SecretSealed: 503,
    errors.UnknownJob: 422,
    errors.JobsError: 422,
    errors.InvalidPayload: 422,
    errors.InvalidOption: 422,
    errors.InvalidEvent: 422,
    errors.UnknownMessage: 422,
    errors.EndpointRefused: 422,
    errors.WorkbellError: 400,
}


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
    title = (type(error).__doc__ or "").strip().partition("\n")[0]
    more = {"run_id": error.run_id} if isinstance(error, errors.DuplicateRun) else {}
    detail = str(error) if operator else public_words(error)
    return problem(status, type(error).__name__, title, detail, headers_of(error), **more)


def public_words(error: errors.WorkbellError) -> str:
    """Text of an error for those who are no operators: it does not say where the store is."""
    return STORE_AWAY if isinstance(error, errors.StoreUnavailable | errors.SchemaMismatch) else str(error)


def log_failure(error: errors.WorkbellError) -> None:
    """Log an error that is not the caller's: the answer may say less."""
    if status_of(error) >= 500:
        log.error("%s: %s", type(error).__name__, error)


def headers_of(error: errors.WorkbellError) -> Mapping[str, str] | None:
    """Response headers of an error, for problem documents and pages."""
    match status_of(error):
        case 401:
            return {"WWW-Authenticate": 'Bearer realm="workbell"'}
        case 429 | 503:
            return {"Retry-After": str(getattr(error, "retry_after", 1))}
        case _:
            return None


class InvalidRequest(Exception):
    """A request that does not have the form of its operation: where, and what is wrong."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}.")
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
    """Refusals of the framework itself: no such path or method, a body that is no JSON."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, errors.WorkbellError):  # such as a body that turned out to be too large
        return of_error(error.__cause__)
    names = {404: "NotFound", 405: "MethodNotAllowed", 400: "InvalidRequest", 415: "UnsupportedMediaType"}
    titles = {404: "There is nothing here.", 405: "This path does not know the method."}
    title = titles.get(error.status_code, "The request cannot be read.")
    detail = str(error.detail) if error.detail else title
    return problem(error.status_code, names.get(error.status_code, "InvalidRequest"), title, detail, error.headers)


async def on_gone(_request: Request, _error: Exception) -> Response:
    """The caller disconnected while its body was read: nobody receives this, but the log has a status for it."""
    return Response(status_code=499)


async def on_crash(request: Request, error: Exception) -> Response:
    """An error in Workbell itself: the log has it, the caller does not."""
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "InternalError", "Something went wrong in Workbell.", "The server's log has the details.")
