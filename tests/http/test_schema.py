"""The API keeps its word: requests made at random from the OpenAPI page, right and wrong, by callers of every role.

No answer is a server error; each has a status, a content type and a form that the page declares. Each run sends other
requests, for a fixed time: WORKBELL_SEED=… sends those of an earlier run again, from the seed that its failure names.
With WORKBELL_SOAK=1 a number of requests takes the place of the time, against every store.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import requests
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from starlette.applications import Starlette

from tests.http.conftest import served
from tests.http.things import Things
from tests.support.inside.wire import OPERATIONS, openapi
from workbell import Scope, Workbell

if TYPE_CHECKING:  # loaded where it is used: by two of the test processes, and not by all
    from schemathesis import APIOperation, Case

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
SEED = int(os.environ.get("WORKBELL_SEED") or random.randrange(2**32))
SHARES = 2  # tests, so that two processes can share the work
SECONDS = float(os.environ.get("WORKBELL_SCHEMA_SECONDS") or 10)  # of one share
REQUESTS = 50_000 // SHARES  # of one share, in a soak
ENOUGH = 300  # requests, after which each role and each kind of answer has come
RIGHT, WRONG = (3, 2) if not SOAK else (12, 4)  # requests of an operation in a round, each sent by three callers
ROLES = ("none", "read", "enqueue", "operate", "admin", "root", "agent")
HOST = "http://localhost"
NEEDS = {one.name: one.scope for one in OPERATIONS}


class TriedOperation:
    """An operation of the page with its requests: as the page says that they are, and as it does not allow."""

    def __init__(self, operation: APIOperation) -> None:
        from schemathesis import GenerationMode

        self.label = operation.label
        self.path = operation.path
        self.is_delete = operation.method == "delete"
        self.strongest = "agent" if NEEDS[operation.definition.raw["operationId"]] is Scope.AGENT else "admin"
        self.right = operation.as_strategy(GenerationMode.POSITIVE)
        self.wrong = operation.as_strategy(GenerationMode.NEGATIVE)


class Callers:
    """Sends each request as one who may, and as two others; what is wrong with the answers is gathered."""

    def __init__(self, bell: Workbell, app: Starlette) -> None:
        self._bell = bell
        self._tokens: dict[str, str | None] = {}
        self._http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app, raise_app_exceptions=False), base_url=HOST)
        self._runner = asyncio.Runner()
        self._checks = checks()
        self.sent: Counter[str] = Counter()
        self.answered: Counter[int] = Counter()
        self.faults: list[str] = []

    def close(self) -> None:
        self._runner.run(self._http.aclose())
        self._runner.close()

    def start_anew(self, tenant: str) -> None:
        """Take a new tenant, in which there is one thing of each kind: some requests take such things away."""
        self._things = Things(self._bell, tenant)
        scopes = {role: (role, tenant) for role in ("read", "enqueue", "operate", "admin")} | {"root": ("admin", "*")}
        self._tokens = {
            role: self._bell.tokens.create(role, scopes=[scope], tenant=whose, user_id=7).text
            for role, (scope, whose) in scopes.items()
        }
        self._tokens |= {"agent": self._things.agent_token, "none": None}

    def try_out(self, operation: TriedOperation, chance: random.Random) -> None:
        """Send right and wrong requests; `chance` chooses which."""
        self._try(operation, operation.right, RIGHT, chance, known=self._known(operation))
        self._try(operation, operation.wrong, WRONG, chance, known={})

    def _known(self, operation: TriedOperation) -> dict[str, str]:
        """Path parameters of things that are there."""
        known = self._things.parameters(operation.path)
        if operation.path.endswith("/stream"):
            known["run_id"] = self._things.ended.id  # that of one that waits would not end
        return known

    def _try(
        self,
        operation: TriedOperation,
        cases: st.SearchStrategy[Case],
        examples: int,
        chance: random.Random,
        known: dict[str, str],
    ) -> None:
        @seed(chance.randrange(2**32))
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases)
        def ask(case: Case) -> None:
            case.path_parameters |= known
            without_waiting(case)
            if known and chance.random() < 0.75:
                case.query.pop("tenant", None)  # most other tenants are refused at once
            asked = requests.Request(**case.as_transport_kwargs(base_url=HOST)).prepare()
            for role in (operation.strongest, *chance.sample(ROLES, 2)):
                self._ask(case, asked, role)

        ask()

    def _ask(self, case: Case, asked: requests.PreparedRequest, role: str) -> None:
        """Send a request, and gather what is wrong with its answer. Nothing is raised: Hypothesis would send it again,
        and find another world."""
        from schemathesis.core.failures import FailureGroup

        headers = {name: value for name, value in asked.headers.items() if name.lower() != "authorization"}
        token = self._tokens[role]
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        response = self._runner.run(
            self._http.request(str(asked.method), str(asked.url), headers=headers, content=asked.body)
        )
        self.sent[role] += 1
        self.answered[response.status_code] += 1
        try:
            case.validate_response(response, checks=self._checks)
        except FailureGroup as group:
            self.faults += [f"{case.operation.label} by {role}: {failure}" for failure in group.exceptions]


def checks() -> list[Any]:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    return [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def without_waiting(case: Case) -> None:
    """Nobody waits for what does not come."""
    for part in (case.query, case.body):
        if isinstance(part, dict) and isinstance(part.get("wait"), int | float | str):
            part["wait"] = 0


@pytest.fixture(scope="module")
def operations() -> list[TriedOperation]:
    """The operations of the page, which is the same for every store."""
    import schemathesis

    return [TriedOperation(one.ok()) for one in schemathesis.openapi.from_dict(openapi()).get_all_operations()]


def try_all(callers: Callers, operations: list[TriedOperation], share: int) -> Iterator[None]:
    """Try operations in rounds without an end. Every round has a tenant and an order of its own; deletes come late,
    because the others ask for what they take away."""
    for number in count():
        chance = random.Random(f"{SEED} {share} {number}")
        callers.start_anew(f"a{number}")
        order = {one.label: chance.random() + 0.5 * one.is_delete for one in operations}
        for operation in sorted(operations[share::SHARES], key=lambda one: order[one.label]):
            callers.try_out(operation, chance)
            yield


@pytest.mark.timeout(0 if SOAK else SECONDS + 100)
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("store_url", ["sqlite", *(["postgres"] if SOAK else [])], indirect=True)
def test_every_answer_is_as_the_page_says(
    store_url: str, share: int, operations: list[TriedOperation], tmp_path: Path
) -> None:
    with served(store_url, tmp_path) as (bell, app):
        callers = Callers(bell, app)
        end = time.monotonic() + SECONDS
        try:
            for _ in try_all(callers, operations, share):
                if callers.sent.total() >= REQUESTS if SOAK else time.monotonic() >= end:
                    break
        finally:
            callers.close()
    print(f"WORKBELL_SEED={SEED}: {callers.sent.total()} requests, {dict(sorted(callers.answered.items()))}")
    assert not callers.faults, "\n\n".join([f"WORKBELL_SEED={SEED}", *dict.fromkeys(callers.faults)])
    assert callers.sent["admin"], "on the slowest machine too"
    if callers.sent.total() >= ENOUGH:
        assert set(callers.sent) == set(ROLES)
        assert {200, 401, 403, 404, 422} <= set(callers.answered)
