"""Idempotency keys: for any requests in any order, a request is written whole or not at all, and once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.http.conftest import Api, opened
from workbell.testing.sqlite_files import SqliteFiles

runs = st.fixed_dictionaries(
    {"job": st.sampled_from(("send", "rest"))},
    optional={"delay": st.sampled_from((5, 6)), "queue": st.just("q"), "priority": st.sampled_from((1, 2))},
).map(lambda run: run | ({"input": {"to": "x"}} if run["job"] == "send" else {}))
facts = st.fixed_dictionaries(
    {"type": st.sampled_from(("a.b", "a.c"))}, optional={"data": st.sampled_from((1, None)), "subject": st.just("7")}
)
requests = (
    st.tuples(st.just("/runs"), runs)
    | st.tuples(st.just("/runs/batch"), st.fixed_dictionaries({"runs": st.lists(runs, min_size=1, max_size=3)}))
    | st.tuples(st.just("/events"), facts)
    | st.tuples(st.just("/events/batch"), st.fixed_dictionaries({"events": st.lists(facts, min_size=1, max_size=3)}))
)
asked = st.lists(st.tuples(st.sampled_from(("k", "other")), requests), min_size=1, max_size=8)
tenants = map("t{}".format, count())


class Service:
    """An API that all examples share, each as a tenant of its own."""

    def __init__(self, api: Api, loop: asyncio.Runner) -> None:
        self.api = api
        self._loop = loop

    def check(self, requests: list[tuple[str, tuple[str, Any]]]) -> None:
        self._loop.run(self._check(requests, next(tenants)))

    async def _check(self, requests: list[tuple[str, tuple[str, Any]]], tenant: str) -> None:
        caller, client = self.api.caller("admin", tenant=tenant), self.api.bell.for_tenant(tenant)
        first: dict[tuple[str, str], tuple[Any, list[str]]] = {}
        made: set[str] = set()
        for key, (path, body) in requests:
            answer = await caller.send("POST", path, json=body, headers={"Idempotency-Key": key})
            told, kind = answer.json(), path.split("/")[1]
            if answer.status_code == 201:
                ids = [one["id"] for one in told.get("items", [told])]
                before, answered = first.setdefault((kind, key), (body, ids))
                assert (ids, _facts(body)) == (answered, _facts(before))
                made |= set(ids)
            else:
                assert answer.status_code == 409
                assert "was used for another request" in told["detail"]
                assert first[kind, key][0] != body
            runs, events = client.runs(limit=1000), client.events.list(limit=1000)
            assert {one.id for one in (*runs, *events)} == made  # nothing beside what was answered


def _facts(body: Any) -> Any:
    """What a request says. A single event is the same as a batch of it; null data is the same as none."""
    listed = body.get("events", [body]) if "runs" not in body and "job" not in body else body
    return [{k: v for k, v in one.items() if v is not None} for one in listed] if isinstance(listed, list) else listed


@contextmanager
def served(url: str, folder: Path) -> Iterator[Service]:
    with asyncio.Runner() as loop:
        context = opened(url, folder)
        api = loop.run(context.__aenter__())
        try:
            yield Service(api, loop)
        finally:
            loop.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def service(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("request-keys")
    with served(sqlite_files.make(folder / "workbell.db"), folder) as service:
        yield service


@given(asked, st.data())
def test_a_key_stands_for_one_request(service: Service, asked: list[tuple[str, Any]], data: st.DataObject) -> None:
    service.check([*asked, *(data.draw(st.sampled_from(asked)) for _ in range(4))])
