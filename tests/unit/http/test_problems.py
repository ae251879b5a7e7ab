"""Problem documents of HTTPException: what an application's `auth` hook raises, and the framework itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from workbell import errors
from workbell.http.framework.problems import on_http
from workbell.remote.problems import ServiceProblem, same_class

pytestmark = pytest.mark.anyio

REQUEST = Request({"type": "http", "method": "GET", "path": "/", "headers": []})
BEARER = 'Bearer realm="workbell"'


async def answered(error: HTTPException) -> tuple[Response, Any]:
    answer = await on_http(REQUEST, error)
    return answer, msgspec.json.decode(bytes(answer.body))


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (400, "InvalidRequest", errors.InvalidOption),
        (401, "Unauthorized", errors.Unauthorized),
        (402, "WorkbellError", errors.WorkbellError),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.WorkbellError),
        (408, "WorkbellError", errors.WorkbellError),
        (413, "TooLarge", errors.TooLarge),
        (415, "UnsupportedMediaType", errors.WorkbellError),
        (422, "InvalidRequest", errors.InvalidOption),
        (429, "TooMany", errors.TooMany),
        (500, "InternalError", errors.WorkbellError),
        (501, "InternalError", errors.WorkbellError),
        (503, "ServiceUnavailable", errors.ServiceUnavailable),
        (504, "InternalError", errors.ServiceUnavailable),
    ],
)
async def test_the_name_follows_the_status(status: int, name: str, kind: type[Exception]) -> None:
    answer, told = await answered(HTTPException(status, "session database is away"))
    assert answer.status_code == told["status"] == status
    assert told["type"] == f"urn:workbell:error:{name}"
    assert told["detail"] == "session database is away"
    assert told["title"]
    assert same_class(ServiceProblem(told["type"]), status) is kind


@pytest.mark.parametrize(
    ("status", "header", "value"),
    [(401, "www-authenticate", BEARER), (429, "retry-after", "1"), (503, "retry-after", "1")],
)
async def test_headers_as_of_our_own_errors_and_those_of_the_hook_before_them(
    status: int, header: str, value: str
) -> None:
    answer, _ = await answered(HTTPException(status))
    assert answer.headers.getlist(header) == [value]
    answer, _ = await answered(HTTPException(status, headers={header.title(): "7", "X-Own": "yes"}))
    assert answer.headers.getlist(header) == ["7"]
    assert answer.headers["x-own"] == "yes"


async def test_other_statuses_have_the_headers_that_they_came_with() -> None:
    answer, _ = await answered(HTTPException(405, headers={"Allow": "GET"}))
    assert answer.headers["allow"] == "GET"
    assert "retry-after" not in answer.headers


async def test_the_status_of_a_hook_stands_whatever_its_cause() -> None:
    """A cause speaks for a body that cannot be read, status 400; a hook that says 503 means later."""
    too_large, away = HTTPException(400), HTTPException(503, "away")
    too_large.__cause__, away.__cause__ = errors.TooLarge("too large"), errors.InvalidOption("no such session")
    assert (await answered(too_large))[0].status_code == 413
    answer, told = await answered(away)
    assert (answer.status_code, told["type"]) == (503, "urn:workbell:error:ServiceUnavailable")
