"""Answers that are lost on the way back: what was asked for is asked for again, and made once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.remote.conftest import Scene
from tests.support.inside.remote import options, tries
from workbell import Client


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "FIRST_PAUSE", 0.0)


class Losing(httpx2.BaseTransport):
    """Every request arrives and is answered; of each, the first answers never come back."""

    def __init__(self, lost: int) -> None:
        self.lost = lost
        self.asked: dict[str, int] = {}
        self._below = httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._below.handle_request(request)
        which = f"{request.method} {request.url} {request.headers.get('idempotency-key')} {request.content!r}"
        self.asked[which] = self.asked.get(which, 0) + 1
        if self.asked[which] <= self.lost:
            response.read()
            raise httpx2.ReadError("the line went dead")
        return response

    def close(self) -> None:
        self._below.close()


class LosingFirst(Losing):
    """Only the very first answer does not come back."""

    def __init__(self) -> None:
        super().__init__(1)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return super().handle_request(request)
        finally:
            self.lost = 0


@pytest.fixture(params=[1, 2])
def client(scene: Scene, request: pytest.FixtureRequest) -> Iterator[Client]:
    """Of a tenant of its own, in which nothing is but what the test makes."""
    transport = Losing(request.param)
    tenant = f"{request.node.originalname}-{request.param}"
    with Client(scene.url, scene.token, tenant=tenant, transport=transport) as client:
        yield client
    assert transport.asked
    assert set(transport.asked.values()) == {request.param + 1}


def made(scene: Scene, client: Client) -> Any:
    """The Workbell's own view of the client's tenant."""
    assert client.transport.tenant is not None
    return scene.bell.for_tenant(client.transport.tenant)


def test_one_run_is_made(scene: Scene, client: Client) -> None:
    """And no key is stored: the client has chosen its id."""
    run = client.enqueue("send", {"to": "x"})
    assert [one.id for one in made(scene, client).runs()] == [run.id]
    other = client.enqueue("send", {"to": "x"})
    assert [one.id for one in made(scene, client).runs()] == [other.id, run.id]
    assert [one.key for one in made(scene, client).runs()] == [None, None]


@pytest.mark.parametrize("on_duplicate", ["return", "reject", "replace"])
def test_one_run_is_made_also_if_it_has_a_key_of_its_own(scene: Scene, client: Client, on_duplicate: str) -> None:
    run = client.enqueue("send", {"to": "x"}, key=on_duplicate, on_duplicate=on_duplicate)
    found = [one for one in made(scene, client).runs() if one.key == on_duplicate]
    assert [(one.id, one.status) for one in found] == [(run.id, "queued")]


def test_many_runs_are_made_once(scene: Scene, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "PAGE_RUNS", 3)
    runs = client.enqueue_many(("send", {"to": str(number)}) for number in range(7))
    assert [one.id for one in made(scene, client).runs()] == [run.id for run in reversed(runs)]
    mixed = [("send", {"to": "a"}), client.request("send", {"to": "b"}, key="b", on_duplicate="reject")]
    runs += client.enqueue_many(mixed)
    assert [one.id for one in made(scene, client).runs()] == [run.id for run in reversed(runs)]


def test_one_retry_is_made(scene: Scene, client: Client) -> None:
    run = made(scene, client).enqueue("send", {"to": "x"}, delay=3600)
    assert client.cancel(run.id, "first").reason == "first"
    again = client.retry(run.id)
    assert [one.id for one in made(scene, client).runs()] == [again.id, run.id]


def test_one_event_is_told(scene: Scene, client: Client) -> None:
    plain = client.emit("posts.created", {"id": 7})
    keyed = client.emit("posts.created", {"id": 8}, key="8", source="/blog")
    assert [one.id for one in made(scene, client).events.list()] == [keyed.id, plain.id]


def test_one_trigger_is_made(scene: Scene, client: Client) -> None:
    trigger = client.triggers.add("once", pattern="a.*", processor="count")
    assert [one.id for one in made(scene, client).triggers.list()] == [trigger.id]


def test_one_notification_is_made(scene: Scene, client: Client) -> None:
    told = client.notify(7, {"text": "once"})
    everybody = client.broadcast("to all")
    found = made(scene, client).notifications.list(7)
    assert [one.id for one in found] == [everybody.id, told.id]


def test_a_token_whose_text_was_lost_is_revoked_and_the_next_one_works(scene: Scene) -> None:
    """The text is told once, and not stored: the client has another one made."""
    with Client(scene.url, scene.token, tenant="tokens", transport=LosingFirst()) as client:
        token, text = client.tokens.create("lost", scopes=["read"])
    tokens = scene.bell.for_tenant("tokens").tokens.list()
    assert [(one.id == token.id, one.revoked_at is None) for one in tokens] == [(False, False), (True, True)]
    assert Client(scene.url, text).runs() == []


def test_a_pairing_whose_text_was_lost_is_revoked_and_the_next_one_works(scene: Scene) -> None:
    with Client(scene.url, scene.token, tenant="pairings", transport=LosingFirst()) as client:
        token, text = client.agents.pairing("web-1", labels=["gpu"])
    bell = scene.bell.for_tenant("pairings")
    pairings = bell.tokens.list()
    assert [(one.id == token.id, one.revoked_at is None) for one in pairings] == [(False, False), (True, True)]
    assert scene.bell.agents.pair(text, host="far", version="1").agent.name == "web-1"


@pytest.mark.parametrize("given", [None, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
def test_an_endpoint_whose_secret_was_lost_is_made_anew(scene: Scene, given: str | None) -> None:
    tenant = f"hooks-{given is None}"
    url = "https://hooks.example.com/in"
    with Client(scene.url, scene.token, tenant=tenant, transport=LosingFirst()) as client:
        endpoint, secret = client.webhooks.add(url, patterns="a", secret=given)
    assert [one.id for one in scene.bell.for_tenant(tenant).webhooks.list()] == [endpoint.id]
    assert secret.startswith("whsec_") if given is None else secret == given
    with Client(scene.url, scene.token, tenant=tenant, transport=LosingFirst()) as client:
        rotated = client.webhooks.rotate(endpoint.id)
    assert rotated.secret not in (secret, None)
