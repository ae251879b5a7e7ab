"""The router of the API: every path of the table is found, with the names in it as they were meant."""

from __future__ import annotations

from itertools import product
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.routing import Match

from workbell.http.app import SERVED
from workbell.http.framework.operations import ServedOperation
from workbell.http.framework.router import ApiRoutes
from workbell.model.access import Scope
from workbell.remote.call import path
from workbell.wire.operation import PREFIX, Operation

ROUTES = ApiRoutes(SERVED)
FIXED = {segment for one in ROUTES.served for segment in one.operation.path.split("/") if not segment.startswith("{")}
NAMES = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: name not in {*FIXED, ".", ".."})


def scope_of(method: str, sent: str, root: str = "") -> dict[str, Any]:
    """As a server gives it: the path decoded, and as it was sent."""
    whole = root + sent
    return {
        "type": "http",
        "method": method,
        "path": unquote(whole),
        "raw_path": whole.encode("ascii"),
        "root_path": root,
    }


def found(routes: ApiRoutes, method: str, sent: str, root: str = "") -> tuple[str, dict[str, str]] | None:
    match, child = routes.matches(scope_of(method, sent, root))
    if match is not Match.FULL:
        return None
    return child["endpoint"].operation.name, child["path_params"]


def filled(operation: Operation[Any], names: list[str]) -> str:
    left = iter(names)
    parts = operation.path.strip("/").split("/")
    return PREFIX + path(*(next(left) if part.startswith("{") else part for part in parts))


@given(st.sampled_from(ROUTES.served), st.lists(NAMES, min_size=3, max_size=3), st.sampled_from(["", "/a", "/a/b"]))
def test_names_arrive_as_they_were_sent(served: ServedOperation, names: list[str], root: str) -> None:
    operation = served.operation
    wanted = dict(zip(operation.parameters, names, strict=False))
    assert found(ROUTES, operation.method, filled(operation, names), root) == (operation.name, wanted)


@given(st.text(st.characters(codec="utf-8")), st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "X"]))
def test_any_path_is_found_or_not(text: str, method: str) -> None:
    for sent in (text, f"/{text}", f"/runs/{text}", f"/{text}/cancel"):
        scope = scope_of(method, PREFIX) | {"path": PREFIX + sent, "raw_path": (PREFIX + sent).encode()}
        match, child = ROUTES.matches(scope)
        if match is Match.FULL:
            assert all(child["path_params"].values()), "no name is empty"


def routes_of(*paths: tuple[str, str]) -> ApiRoutes:
    """Routes by method and path; they are named after both."""

    def served(method: str, route: str) -> ServedOperation:
        name = f"{method} {route}"
        operation = Operation[object](name=name, method=method, path=route, scope=Scope.READ, text="", answer=object)
        parameters = ", ".join(["call", *operation.parameters])
        made: dict[str, Any] = {}
        exec(f"async def handle({parameters}): ...", made)
        return ServedOperation(operation, made["handle"])

    return ApiRoutes(served(*one) for one in paths)


def test_a_fixed_segment_goes_before_a_parameter() -> None:
    routes = routes_of(("GET", "/runs/{run_id}"), ("GET", "/runs/count"))
    assert found(routes, "GET", "/api/v1/runs/count") == ("GET /runs/count", {})
    assert found(routes, "GET", "/api/v1/runs/counts") == ("GET /runs/{run_id}", {"run_id": "counts"})


def test_a_parameter_takes_what_the_fixed_segment_does_not_know() -> None:
    routes = routes_of(("GET", "/jobs/list/{after}"), ("POST", "/jobs/{name}/{verb}"), ("GET", "/jobs/list/all/x"))
    assert found(routes, "POST", "/api/v1/jobs/list/all") == (
        "POST /jobs/{name}/{verb}",
        {"name": "list", "verb": "all"},
    )
    assert found(routes, "GET", "/api/v1/jobs/list/all") == ("GET /jobs/list/{after}", {"after": "all"})


ALPHABET = ("a", "b", "{p}", "{q}")
SHORT = st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=3).filter(
    lambda parts: len({part for part in parts if "{" in part}) == sum("{" in part for part in parts)
)


@given(st.lists(st.tuples(st.sampled_from(["GET", "POST"]), SHORT), min_size=1, max_size=5))
def test_whatever_fits_a_route_is_found(table: list[tuple[str, list[str]]]) -> None:
    """A request is found if a route of its method fits it, with the names that stand at the route's parameters."""
    unique = {(method, tuple("{" if "{" in part else part for part in parts)): parts for method, parts in table}
    listed = [(method, parts) for (method, _), parts in unique.items()]
    routes = routes_of(*((method, "/" + "/".join(parts)) for method, parts in listed))
    for method, length in product(("GET", "POST"), (1, 2, 3)):
        for asked in product(("a", "b", "c"), repeat=length):
            fitting = {
                f"{method} /{'/'.join(parts)}": {part[1:-1]: word for part, word in pairs if "{" in part}
                for known, parts in listed
                if known == method and len(parts) == length
                for pairs in [[*zip(parts, asked, strict=True)]]
                if all("{" in part or part == word for part, word in pairs)
            }
            answer = found(routes, method, PREFIX + path(*asked))
            if answer is None:
                assert not fitting
            else:
                assert fitting[answer[0]] == answer[1]


@pytest.mark.anyio
async def test_another_method_is_refused_with_those_that_there_are() -> None:
    scope = scope_of("PUT", "/api/v1/runs")
    match, child = ROUTES.matches(scope)
    assert match is Match.PARTIAL
    with pytest.raises(HTTPException) as raised:
        await ROUTES.handle(scope | dict(child), None, None)  # type: ignore[arg-type]
    assert raised.value.status_code == 405
    assert raised.value.headers == {"Allow": "GET, HEAD, POST"}


@pytest.mark.anyio
@pytest.mark.parametrize("thing", ["schedules", "jobs"])
async def test_what_is_made_by_its_name_says_so(thing: str) -> None:
    scope = scope_of("POST", f"/api/v1/{thing}")
    _, child = ROUTES.matches(scope)
    with pytest.raises(HTTPException, match=f"PUT /api/v1/{thing}/{{name}} makes one") as raised:
        await ROUTES.handle(scope | dict(child), None, None)  # type: ignore[arg-type]
    assert raised.value.status_code == 405


def test_an_encoded_slash_is_no_fixed_path() -> None:
    assert found(ROUTES, "POST", f"{PREFIX}/runs/batch") == ("runs.enqueue_batch", {})
    assert found(ROUTES, "POST", f"{PREFIX}/runs%2Fbatch") is None
