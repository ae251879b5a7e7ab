"""Cloudflare Queues by URL, and the forms in which their messages come. What is sent and received: tests/cloudflare."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.receiver import receiving
from workbell import InvalidUrl, QueueUnavailable
from workbell.queues.cloudflare import TOKEN, CloudflareQueue, _text, open_url
from workbell.queues.message import decode, encode
from workbell.queues.opening import open_queue
from workbell.queues.port import Sent
from workbell.stores.memory.store import MemoryStore

URL = "cloudflare-queue://0123456789abcdef0123456789abcdef/my-queue"
SECRET = "a-token-that-nobody-sees"


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, SECRET)


def test_it_is_opened_by_its_scheme() -> None:
    queue = open_queue(URL, MemoryStore())
    assert isinstance(queue, CloudflareQueue)
    assert SECRET not in repr(queue)
    queue.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("cloudflare-queue://", "must be cloudflare-queue://ACCOUNT_ID/QUEUE"),
        ("cloudflare-queue://account", "must be cloudflare-queue://ACCOUNT_ID/QUEUE"),
        ("cloudflare-queue://account/a/b", "must be cloudflare-queue://ACCOUNT_ID/QUEUE"),
        ("cloudflare-queue://account/..", "must be cloudflare-queue://ACCOUNT_ID/QUEUE"),
        ("cloudflare-queue://me:secret@account/queue", "a name or a password in it; leave it out, and set WORKBELL_"),
        (f"{URL}?token=secret", "takes nothing more"),
        (f"{URL}#x", "takes nothing more"),
        (f"{URL}?api=http://example.com", "everybody on the way could read the token; use https://"),
        (f"{URL}?api=ftp://127.0.0.1", "names no API"),
    ],
)
def test_a_url_that_cannot_be_used(url: str, said: str) -> None:
    with pytest.raises(InvalidUrl, match=said) as caught:
        open_url(url)
    assert "secret" not in str(caught.value)


def test_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN)
    with pytest.raises(InvalidUrl, match="no token; set WORKBELL_CLOUDFLARE_TOKEN to an API token"):
        open_url(URL)
    monkeypatch.setenv(TOKEN, "a b")
    with pytest.raises(InvalidUrl, match="cannot be used"):
        open_url(URL)


def test_nobody_answers() -> None:
    queue = open_url(f"{URL}?api=http://127.0.0.1:9")
    with pytest.raises(QueueUnavailable, match=r"127\.0\.0\.1:9: no answer .*; it is tried again") as caught:
        queue.send([Sent("x", "default")])
    assert SECRET not in str(caught.value)
    queue.close()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.sampled_from(["plain", "base64", "value"]))
def test_messages_come_in_three_forms(run: str, form: str) -> None:
    text = encode(run)
    bodies = {"plain": text, "base64": base64.b64encode(text.encode()).decode(), "value": json.loads(text)}
    assert decode(_text(bodies[form])) == run


@pytest.mark.anyio
@pytest.mark.parametrize(("delay", "seconds"), [(0, 0), (0.5, 1), (43_200, 43_200), (90_000, 43_200)])
async def test_a_delay_is_of_whole_seconds_and_at_most_half_a_day(delay: float, seconds: int) -> None:
    """Longer ones Cloudflare refuses, with all that is given back beside them."""
    async with receiving(b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"success":true}') as receiver:
        queue = open_url(f"{URL[:-8]}{'0' * 32}?api=http://127.0.0.1:{receiver.port}")
        await asyncio.to_thread(queue.give_back, ["lease"], delay)
        queue.close()
    (sent,) = receiver.requests
    assert json.loads(sent.body) == {"retries": [{"lease_id": "lease", "delay_seconds": seconds}]}
