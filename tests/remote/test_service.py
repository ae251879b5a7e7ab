"""Tokens, tenants, the audit log, agents and notifications over HTTP; and who is not let in."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.remote.conftest import Scene
from workbell import (
    AgentNotFound,
    Client,
    Forbidden,
    InvalidOption,
    NotFound,
    RunNotFound,
    TenantNotFound,
    TokenNotFound,
    Unauthorized,
    WorkbellError,
)

NOBODY = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"


def client_of(scene: Scene, *scopes: str, tenant: str | None = None, user_id: int | None = None) -> Client:
    text = scene.bell.tokens.create("one", scopes=scopes, tenant=tenant, user_id=user_id).text
    return Client(scene.url, text)


def test_without_a_valid_token_nobody_gets_in(scene: Scene) -> None:
    for client in (Client(scene.url), Client(scene.url, "wb_nonsense")):
        with client, pytest.raises(Unauthorized) as caught:
            client.runs()
        assert "nonsense" not in str(caught.value)
    with client_of(scene, "read") as client, pytest.raises(Forbidden, match="enqueue"):
        client.enqueue("send", {"to": "x"})
    with client_of(scene, "admin", tenant="acme") as client:
        run = scene.bell.enqueue("send", {"to": "x"}, delay=3600)
        with pytest.raises(RunNotFound):
            client.get(run.id)
        with pytest.raises(NotFound, match="no tenant 'other'"):
            client.for_tenant("other").runs()


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_tokens(scene: Scene, ask: str) -> None:
    token, text = getattr(scene, ask)(
        "tokens.create", f"t-{ask}", scopes=["read", "enqueue"], expires=timedelta(hours=1)
    )
    assert scene.shown(token) == scene.shown(scene.bell.tokens.get(token.id))
    assert text not in repr(getattr(scene, ask)("tokens.create", "x"))
    with Client(scene.url, text) as client:
        assert client.enqueue("send", {"to": "x"}).tenant == "default"
        assert scene.shown(getattr(scene, ask)("tokens.revoke", token.id)) == scene.shown(
            scene.bell.tokens.get(token.id)
        )
        with pytest.raises(Unauthorized):
            client.runs()
    scene.same("tokens.get", token.id)
    scene.same("tokens.list")
    scene.same("tokens.list", tenant="*")
    for_all = getattr(scene, ask)("tokens.create", "for all", scopes=["read"], tenant="*")
    assert scene.bell.tokens.get(for_all.token.id, tenant="*").tenant == "*"
    theirs = getattr(scene, ask)("tokens.create", "theirs", scopes=["read"], tenant="acme")
    scene.same("tokens.list", tenant="acme")
    assert theirs.token.tenant == "acme"
    second, third = [scene.bell.tokens.create(name).token.id for name in ("b", "c")]
    every = [one.id for one in scene.same("tokens.list")]
    assert [one.id for one in scene.same("tokens.list", limit=len(every) - 1)] == every[:-1]
    assert [one.id for one in scene.same("tokens.list", after=second)] == [third]
    assert [one.id for one in scene.same("tokens.list", after=every[0], limit=1)] == every[1:2]
    assert [one.id for one in scene.same("tokens.list", tenant="*", after=third)] == []
    scene.raises(InvalidOption, "tokens.list", limit=0)
    scene.raises(InvalidOption, "tokens.list", after="x")
    with pytest.raises(TokenNotFound):
        getattr(scene, ask)("tokens.get", NOBODY)
    with pytest.raises(InvalidOption):
        getattr(scene, ask)("tokens.create", "x", scopes="read")


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_tenants(scene: Scene, ask: str) -> None:
    name = f"tenant-{ask}"
    made = getattr(scene, ask)("tenants.put", name, weight=3, rate="100/m")
    assert scene.shown(made) == scene.shown(scene.bell.tenants.get(name))
    assert getattr(scene, ask)("tenants.put", name, rate=None, description="Ours.").weight == 3
    assert scene.same("tenants.get", name).rate is None
    scene.bell.tenants.put("tenant-z", weight=2)
    every = [one.name for one in scene.same("tenants.list")]
    assert [one.name for one in scene.same("tenants.list", limit=1)] == every[:1]
    assert [one.name for one in scene.same("tenants.list", after=name)] == every[every.index(name) + 1 :]
    assert scene.same("tenants.list", after="zz") == []
    getattr(scene, ask)("tenants.delete", name)
    scene.raises(TenantNotFound, "tenants.delete", name)
    scene.raises(TenantNotFound, "tenants.get", name)


def test_what_is_done_is_in_the_audit_log(scene: Scene) -> None:
    run = scene.bell.enqueue("send", {"to": "x"}, delay=3600)
    scene.client.cancel(run.id)
    newest = scene.same("audit.list", limit=1)[0]
    assert (newest.action, newest.subject, newest.actor) == ("runs.cancel", run.id, "token:root")
    scene.same("audit.list", before=newest.id)
    scene.same("audit.list", tenant="*")


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_agents(scene: Scene, ask: str) -> None:
    name = f"agent-{ask}"
    pairing = getattr(scene, ask)("agents.pairing", name, labels=["gpu"], expires=timedelta(minutes=5))
    assert pairing.text not in repr(pairing)
    scene.bell.agents.pair(pairing.text, host="far", version="1")
    assert scene.same("agents.get", name).labels == ("gpu",)
    scene.same("agents.list")
    for verb, args in (("label", [["cpu", "big"]]), ("disable", []), ("enable", [])):
        assert scene.shown(getattr(scene, ask)(f"agents.{verb}", name, *args)) == scene.shown(
            scene.bell.agents.get(name)
        )
    getattr(scene, ask)("agents.delete", name)
    scene.raises(AgentNotFound, "agents.get", name)


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_people_are_told_and_read(scene: Scene, ask: str) -> None:
    told = getattr(scene, ask)("notify", 7, {"text": "Your report is ready."})
    everybody = getattr(scene, ask)("broadcast", ["to", "all"])
    local = scene.bell.notifications.list(7, limit=2)
    assert [scene.shown(one) for one in (everybody, told)] == scene.shown(local)
    assert scene.shown(getattr(scene, ask)("notifications.list", limit=2)) == scene.shown(local)
    assert getattr(scene, ask)("notifications.mark_read", [told.id]) == 1
    unread = getattr(scene, ask)("notifications.list", unread=True)
    assert everybody.id in [one.id for one in unread]
    assert told.id not in [one.id for one in unread]
    assert getattr(scene, ask)("notifications.mark_read") >= 1
    assert getattr(scene, ask)("notifications.list", unread=True) == []
    with pytest.raises(InvalidOption):
        getattr(scene, ask)("notifications.mark_read", told.id)


def test_a_token_of_nobody_has_no_notifications(scene: Scene) -> None:
    with client_of(scene, "read") as client, pytest.raises(Forbidden, match="user_id"):
        client.notifications.list()


@pytest.mark.anyio
async def test_the_end_of_a_tenants_client_leaves_the_connections_to_the_client_that_made_them(scene: Scene) -> None:
    async with Client(scene.url, scene.token) as client:
        with client.for_tenant("quiet") as theirs:
            assert theirs.runs() == []
        async with client.for_tenant("quiet") as theirs:
            assert await theirs.aruns() == []
        client.for_tenant("quiet").close()
        assert client.pauses() == await client.apauses()
        assert theirs.runs() == []
    with pytest.raises(WorkbellError, match="This Client is closed"):
        theirs.runs()
