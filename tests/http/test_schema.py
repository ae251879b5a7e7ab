"""The API keeps its word: requests made at random from the OpenAPI page, right and wrong, by callers of every role.

No answer is a server error; each has a status, a content type and a form that the page declares. The same requests in
every run; with WORKBELL_SOAK=1 more than twenty times as many, against every store.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import requests
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.http.conftest import served
from tests.http.things import Things
from workbell import Workbell
from workbell.http.routing import Guarded, RouteGuard
from workbell.model.access import Scope
from workbell.testing.sqlite_files import SqliteFiles

if TYPE_CHECKING:  # loaded where it is used: by two of the test processes, and not by all
    from schemathesis import APIOperation, Case

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
SHARES = 2  # tests, so that two processes can share the work
RIGHT, WRONG = (3, 1) if not SOAK else (150, 45)  # requests of an operation, each sent by three callers
FEWEST = 1_000 if not SOAK else 50_000
ROLES = ("none", "read", "enqueue", "operate", "admin", "root", "agent")
HOST = "http://localhost"


class Callers:
    """Sends each request as one who may, and as two others; what is wrong with the answers is gathered."""

    def __init__(self, bell: Workbell, app: FastAPI) -> None:
        self.things = Things(bell, "a")
        scopes = {role: (role, "a") for role in ("read", "enqueue", "operate", "admin")} | {"root": ("admin", "*")}
        self._tokens: dict[str, str | None] = {
            role: bell.tokens.create(role, scopes=[scope], tenant=tenant, user_id=7).text
            for role, (scope, tenant) in scopes.items()
        }
        self._tokens |= {"agent": self.things.agent_token, "none": None}
        self._needs = {
            f"{method} {route.path}": guard.needs
            for route in app.routes
            if isinstance(route, Guarded)
            for guard in [_guard(route)]
            for method in route.methods
        }
        self._http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app, raise_app_exceptions=False), base_url=HOST)
        self._runner = asyncio.Runner()
        self.sent: Counter[str] = Counter()
        self.answered: Counter[int] = Counter()
        self.faults: list[str] = []
        self._checks = checks()

    def close(self) -> None:
        self._runner.run(self._http.aclose())
        self._runner.close()

    def try_out(self, operation: APIOperation) -> None:
        """Requests as the page says that they are, for things that are there; and those that it does not allow."""
        from schemathesis import GenerationMode

        known = self.things.parameters(operation.path)
        if operation.path.endswith("/stream"):
            known["run_id"] = self.things.ended.id  # that of one that waits would not end
        right = operation.as_strategy(GenerationMode.POSITIVE, path_parameters=known or None)
        wrong = operation.as_strategy(GenerationMode.NEGATIVE)
        for cases, number in ((right, RIGHT), (wrong, WRONG)):
            self._try(operation, cases, number)

    def _try(self, operation: APIOperation, cases: st.SearchStrategy[Case], number: int) -> None:
        from schemathesis.core.failures import FailureGroup

        @settings(
            max_examples=number,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases, st.permutations(ROLES))
        def ask(case: Case, order: list[str]) -> None:
            without_waiting(case)
            strongest = "agent" if self._needs[operation.label] is Scope.AGENT else "admin"
            asked = requests.Request(**case.as_transport_kwargs(base_url=HOST)).prepare()
            for role in (strongest, *order[:2]):
                self._ask(case, asked, role)

        try:
            ask()
        except FailureGroup as group:
            self.faults += [f"{operation.label}: {failure}" for failure in group.exceptions]

    def _ask(self, case: Case, asked: requests.PreparedRequest, role: str) -> None:
        headers = {name: value for name, value in asked.headers.items() if name.lower() != "authorization"}
        token = self._tokens[role]
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        response = self._runner.run(
            self._http.request(str(asked.method), str(asked.url), headers=headers, content=asked.body)
        )
        self.sent[role] += 1
        self.answered[response.status_code] += 1
        case.validate_response(response, checks=self._checks)


def checks() -> list[Any]:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    return [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def _guard(route: Guarded) -> RouteGuard:
    guard: RouteGuard = route.endpoint.guard  # type: ignore[attr-defined]
    return guard


def without_waiting(case: Case) -> None:
    """Nobody waits for what does not come."""
    for part in (case.query, case.body):
        if isinstance(part, dict) and isinstance(part.get("wait"), int | float | str):
            part["wait"] = 0


@pytest.fixture(scope="module")
def operations(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> list[APIOperation]:
    """Those of the page, which is the same for every store: it takes two seconds to make and to read."""
    import schemathesis

    folder = tmp_path_factory.mktemp("page")
    with served(sqlite_files.make(folder / "page.db"), folder) as (_bell, app):
        page: dict[str, Any] = app.openapi()
    found = [one.ok() for one in schemathesis.openapi.from_dict(page).get_all_operations()]
    found.sort(key=lambda one: one.method == "delete")  # what they take away, the others ask for
    return found


@pytest.mark.timeout(0 if SOAK else 120)
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("store_url", ["sqlite", *(["postgres"] if SOAK else [])], indirect=True)
def test_every_answer_is_as_the_page_says(
    store_url: str, share: int, operations: list[APIOperation], tmp_path: Path
) -> None:
    with served(store_url, tmp_path) as (bell, app):
        callers = Callers(bell, app)
        try:
            for operation in operations[share::SHARES]:
                callers.try_out(operation)
        finally:
            callers.close()
    assert not callers.faults, "\n\n".join(callers.faults)
    assert callers.sent.total() * SHARES >= FEWEST
    assert set(callers.sent) == set(ROLES)
    assert {200, 401, 403, 404, 422} <= set(callers.answered)
