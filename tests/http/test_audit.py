"""The audit log of requests: who did it, by ids and kinds that no caller chooses; and no entry is lost in silence."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

import httpx2
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.features import Agents
from tests.support.inside.http import audit_trail, login_url, make_app
from tests.support.inside.values import ActorKind, AuditEntry, Settings, TokenKind
from workbell import Access, Scope, StoreUnavailable, Workbell
from workbell.testing import ManualClock

pytestmark = pytest.mark.anyio

PAGE = {"Origin": "http://localhost"}


@pytest.fixture
def bell(clock: ManualClock) -> Workbell:
    return Workbell(store=fresh_store(clock), settings=Settings())


@asynccontextmanager
async def client(app: Any, **headers: str) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as http:
        yield http


async def pause(http: httpx2.AsyncClient, **headers: str) -> None:
    answer = await http.post("/api/v1/queues/mail/pause", headers=headers)
    assert answer.status_code == 200, answer.text


async def change_nothing(bell: Workbell, http: httpx2.AsyncClient) -> None:
    """An action that writes no batch, which could take its entry along."""
    bell.triggers.add("t", pattern="a.*", processor="webhook-delivery")
    answer = await http.post("/api/v1/triggers/t/enable")
    assert answer.status_code == 200, answer.text


def entries(bell: Workbell, action: str) -> list[AuditEntry]:
    """Oldest first."""
    return [entry for entry in reversed(bell.audit.list(tenant="*")) if entry.action == action]


def by(entry: AuditEntry) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(entry.detail_text or "{}").get("by", {})
    return found


async def test_who_acts_in_a_browser(bell: Workbell) -> None:
    """Two people sign in, act and sign out; each entry says which of them, and with which token they signed in."""
    app = bell.asgi()
    people = [bell.tokens.create(name, scopes=["admin"], user_id=user) for name, user in (("ann", 1), ("bob", "b-2"))]
    for made in people:
        async with client(app, **PAGE) as http:
            assert (await http.post("/", data={"token": made.text})).status_code == 303
            await pause(http)
            assert (await http.delete("/api/v1/session")).status_code == 204
    sessions = [one for one in bell.tokens.list() if one.kind is TokenKind.SESSION]
    for action in ("session.begin", "queues.pause", "session.end"):
        found = entries(bell, action)
        assert [entry.actor for entry in found] == ["session:ann", "session:bob"]
        assert [by(entry) for entry in found] == [
            {"kind": "session", "token": session.id, "made_with": made.token.id, "user_id": made.token.user_id}
            for session, made in zip(sessions, people, strict=True)
        ]
    assert [entry.subject for entry in entries(bell, "session.begin")] == [one.id for one in sessions]
    bell.runtime.close()


async def test_a_printed_url(bell: Workbell) -> None:
    async with client(bell.asgi(), **PAGE) as http:
        text = login_url(bell, "").partition("token=")[2]
        assert (await http.post("/", data={"url_token": text})).status_code == 303
    [url] = [one for one in chain.from_iterable(bell.store.tokens.export()) if one.kind is TokenKind.LOGIN]
    [entry] = entries(bell, "session.begin")
    assert (entry.actor, by(entry)["made_with"], entry.tenant) == ("session:sign-in URL", url.id, bell.tenant)
    bell.runtime.close()


@pytest.mark.parametrize("name", ["cli:root@vm", "session:ann", "", "anybody"])
async def test_no_name_is_of_another_kind(bell: Workbell, name: str) -> None:
    token, text = bell.tokens.create(name, scopes=["admin"], user_id=7)
    async with client(bell.asgi(), Authorization=f"Bearer {text}") as http:
        await pause(http)
        made = (await http.post("/api/v1/tokens", json={"name": "more"})).json()
    [entry] = entries(bell, "queues.pause")
    assert entry.actor == made["created_by"] == f"token:{name or token.id}"
    assert by(entry) == {"kind": "token", "token": token.id, "user_id": 7}
    assert bell.audit.add("orders.refund", actor=name or "x").actor == f"app:{name or 'x'}"
    bell.runtime.close()


async def test_whom_the_hook_names(bell: Workbell) -> None:
    """Its answer has a name, and neither a kind nor a token."""
    forged = Access(
        scopes=frozenset({Scope.ADMIN}),
        actor="cli:root@vm",
        user_id=3,
        kind=ActorKind.CLI,
        token="0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
    )
    async with client(bell.asgi(auth=lambda _connection: forged)) as http:
        await pause(http)
    [entry] = entries(bell, "queues.pause")
    assert (entry.actor, by(entry)) == ("app:cli:root@vm", {"kind": "app", "user_id": 3})
    bell.runtime.close()


async def test_where_no_token_is_needed(clock: ManualClock) -> None:
    bell = Workbell(store=fresh_store(clock), settings=Settings(http_auth="none"))
    async with client(make_app(bell._service(listen="127.0.0.1"))) as http:
        await pause(http)
    assert [entry.actor for entry in entries(bell, "queues.pause")] == ["anybody"]
    bell.runtime.close()


async def test_an_agent_pairs(bell: Workbell) -> None:
    acme = bell.for_tenant("acme")
    pairing, text = Agents(acme.runtime, acme.verified).pairing("box")
    async with client(bell.asgi()) as http:
        body = {"token": text, "host": "h", "version": "1"}
        paired = (await http.post("/api/v1/agents/pair", json=body)).json()
        assert (await http.post("/api/v1/agents/pair", json=body)).status_code == 401
    [entry] = entries(bell, "agents.pair")
    assert (entry.tenant, entry.actor, entry.subject) == ("acme", "agent:box", paired["agent"]["id"])
    assert by(entry) == {"kind": "agent", "token": pairing.id}
    assert text not in str(entry)
    bell.runtime.close()


class Failing:
    """A store that writes no audit entry for some time."""

    def __init__(self, bell: Workbell, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = times
        self._add = bell.store.audit.add
        monkeypatch.setattr(bell.store.audit, "add", self.add)
        monkeypatch.setattr(audit_trail, "PAUSES", (0.0, 0.0))

    def add(self, new: list[AuditEntry]) -> None:
        self.left -= 1
        if self.left <= 0:
            self._add(new)
        if self.left >= 0:  # the last of these is written, and seems to fail
            raise StoreUnavailable("away")


async def test_an_entry_is_tried_again(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    """And written once, also if a write succeeded that seemed to fail."""
    Failing(bell, 2, monkeypatch)
    async with client(bell.asgi(), Authorization=f"Bearer {bell.tokens.create(scopes=['admin']).text}") as http:
        await change_nothing(bell, http)
    assert len(entries(bell, "triggers.enable")) == 1
    bell.runtime.close()


async def test_an_entry_that_cannot_be_written_is_in_the_log(
    bell: Workbell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The action was done, so its answer says so."""
    token, text = bell.tokens.create("ann", scopes=["admin"])
    monkeypatch.setattr(audit_trail, "PAUSES", (0.0,))

    def away(_entries: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(bell.store.audit, "add", away)
    async with client(bell.asgi(), Authorization=f"Bearer {text}") as http:
        await change_nothing(bell, http)
    [record] = [one for one in caplog.records if one.name == "workbell.audit"]
    assert record.levelno == logging.ERROR
    for word in ("away", "triggers.enable", "token:ann", token.id):
        assert word in record.getMessage()
    bell.runtime.close()
