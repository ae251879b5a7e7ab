"""An operator's action and its audit entry are one transaction: whenever the server dies, both are there or neither."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.http.conftest import Api, opened
from tests.http.things import Things
from tests.support.inside.features import Agents
from tests.support.inside.http import audit_trail, trigger_etag
from tests.support.inside.stores import Batch, Row
from tests.support.inside.values import AuditEntry, TokenKind
from tests.support.inside.wire import OPERATIONS, PREFIX, Operation
from workbell import StoreUnavailable, Workbell

pytestmark = pytest.mark.anyio

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
ASIDE = {"see_tokens"}  # written by another thread, whenever it comes to it
AUDITED = [
    operation
    for operation in OPERATIONS
    if operation.is_audited and operation.resource != "files"  # not in the store: their entries follow them
]
MOST = 12  # batches of one action
# What must be so before an action can change something.
BEFORE: Mapping[str, Callable[[Things], object]] = {
    "tenants.delete": lambda things: things.client.tenants.put(things.client.tenant, weight=3),
    "jobs.enable": lambda things: things.client.jobs.disable(things.examples["jobs", "name"]),
    "jobs.resume": lambda things: things.client.pause(job=things.examples["jobs", "name"]),
    "queues.resume": lambda things: things.client.pause(queue="default"),
    "schedules.resume": lambda things: things.client.schedules.pause(things.examples["schedules", "name"]),
    "triggers.enable": lambda things: things.client.triggers.disable("counts"),
    "webhooks.enable": lambda things: things.client.webhooks.disable(things.examples["webhooks", "endpoint_id"]),
    "webhooks.replay": lambda things: things.client.cancel(things.examples["webhooks", "delivery_id"]),
    "workers.drain": lambda things: things.client.resume_worker(things.examples["workers", "worker_id"]),
    "workers.resume": lambda things: things.client.drain_worker(things.examples["workers", "worker_id"]),
}


class Dying:
    """A store that is gone after so many batches were committed, as for a server that was killed then."""

    def __init__(self, bell: Workbell, batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = batches
        self.is_gone = False
        self._write = bell.store.database.write  # type: ignore[attr-defined]
        monkeypatch.setattr(bell.store.database, "write", self.write)  # type: ignore[attr-defined]
        monkeypatch.setattr(audit_trail, "PAUSES", ())

    def write(self, batch: Batch, **options: Any) -> list[list[Row]]:
        if batch[0].query in ASIDE:
            return self._write(batch, **options)  # type: ignore[no-any-return]
        if self.is_gone:
            raise StoreUnavailable("gone")
        answers = self._write(batch, **options)
        self.left -= 1
        if self.left == 0:
            self.is_gone = True
            raise StoreUnavailable("gone after the commit")
        return answers  # type: ignore[no-any-return]


def content(bell: Workbell) -> str:
    """All that the store has, but for the audit log, lanes without runs and the last use of tokens."""
    pages = [page._replace(audit=(), lanes=(), endpoints=(), tokens=()) for page in bell.store.export()]
    endpoints = [msgspec.structs.astuple(one) for one in bell.store.subscribers.list_endpoints()]
    tokens = [(one.id, one.revoked_at) for one in chain.from_iterable(bell.store.tokens.export())]
    workers = [(one.id, one.drained_at) for one in bell.store.workers.list()]
    return repr([pages, endpoints, tokens, workers])


def entries(bell: Workbell) -> list[AuditEntry]:
    return [*bell.audit.list(tenant="*", limit=1000)]


@pytest.fixture
async def sql_api(tmp_path: Path, sql_store_url: str) -> AsyncIterator[Api]:
    async with opened(sql_store_url, tmp_path) as api:
        yield api


async def act(api: Api, operation: Operation[Any], things: Things) -> int:
    method, asked = operation.method, PREFIX + operation.path
    path = things.path(asked, method)
    if operation.name == "runs.retry":
        path = f"/runs/{things.ended.id}/retry"
    path += f"{'&' if '?' in path else '?'}tenant={things.client.tenant}"
    answer = await api.root.send(method, path, json=things.body(method, asked))
    return answer.status_code


# Which statements are one batch is said above the stores, and that a batch is all or nothing by their contract.
@pytest.mark.parametrize("sql_store_url", ["sqlite", *(["postgres"] if SOAK else [])], indirect=True)
@pytest.mark.parametrize("part", range(3))  # of the routes: together they take long
async def test_whenever_the_server_dies_both_are_there_or_neither(
    sql_api: Api, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    bell, tenants = sql_api.bell, map("t{}".format, count())
    for audited in AUDITED[part::3]:
        operation = audited.name
        deaths = 0
        for batches in range(1, MOST):
            things = Things(bell, next(tenants))
            BEFORE.get(operation, id)(things)
            before, known = content(bell), len(entries(bell))
            with monkeypatch.context() as patch:
                dying = Dying(bell, batches, patch)
                status = await act(sql_api, audited, things)
            new = entries(bell)[: len(entries(bell)) - known]
            is_changed = content(bell) != before
            assert [entry.action for entry in new] == [operation] * len(new)
            if not dying.is_gone:
                assert status < 300, f"{operation}: {status}"
                assert len(new) == 1, f"{operation}: its entry is missing"
                assert is_changed, f"{operation}: nothing was to be done"
                break
            deaths += is_changed
            assert len(new) == is_changed, f"{operation}, gone after {batches} batches"
        assert deaths, f"{operation}: it never died in between"


async def test_a_session_begins_and_ends_with_its_entry(sql_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    bell, http = sql_api.bell, sql_api.http
    text = bell.tokens.create("ann", scopes=["admin"]).text
    page = {"Origin": "http://localhost"}
    with monkeypatch.context() as patch:
        Dying(bell, 1, patch)
        assert (await http.post("/", data={"token": text}, headers=page)).status_code == 503
    [session] = [one for one in chain.from_iterable(bell.store.tokens.export()) if one.kind is TokenKind.SESSION]
    [begun] = entries(bell)
    assert (begun.action, begun.subject, begun.actor) == ("session.begin", session.id, "session:ann")
    assert (await http.post("/", data={"token": text}, headers=page)).status_code == 303
    with monkeypatch.context() as patch:
        Dying(bell, 1, patch)
        assert (await http.delete("/api/v1/session", headers=page)).status_code == 503
    [ended] = [
        one
        for one in chain.from_iterable(bell.store.tokens.export())
        if one.kind is TokenKind.SESSION and one.revoked_at
    ]
    assert (entries(bell)[0].action, entries(bell)[0].subject) == ("session.end", ended.id)


async def test_an_agent_is_made_with_its_entry(sql_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pairing token is used up before; without an agent that is no pairing."""
    bell = sql_api.bell
    verbs = Agents(sql_api.a.runtime, sql_api.a.verified)
    for batches, name in enumerate(("one", "two", "three"), 1):
        text = verbs.pairing().text
        with monkeypatch.context() as patch:
            Dying(bell, batches, patch)
            await sql_api.nobody.ask(
                "POST", "/agents/pair", 503, {"token": text, "name": name, "host": "h", "version": "1"}
            )
    made = {agent.id: agent.name for agent in bell.store.agents.list()}
    assert {entry.subject: entry.actor for entry in entries(bell)} == {key: f"agent:{made[key]}" for key in made}
    assert sorted(made.values()) == ["three", "two"]


async def test_a_refused_action_has_no_entry(sql_api: Api) -> None:
    """A condition that holds no more, and what is not there. Refusals of the store: tests/unit/stores."""
    things = Things(sql_api.bell, "a")
    stale = things.client.triggers.get("counts")
    things.client.triggers.update("counts", description="new")
    for method, path in (("PATCH", "/triggers/counts"), ("DELETE", "/triggers/counts"), ("DELETE", "/tenants/nobody")):
        answer = await sql_api.root.send(
            method, f"{path}?tenant=a", json={"description": "x"}, headers={"If-Match": trigger_etag(stale)}
        )
        assert answer.status_code in (404, 412)
    assert entries(sql_api.bell) == []
