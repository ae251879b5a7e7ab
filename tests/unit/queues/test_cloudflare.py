"""Cloudflare Queues by URL, and the forms in which their messages come. What is sent and received: tests/cloudflare."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
ID = "0" * 32  # of a queue: it needs no look-up


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


Answer = Callable[[str, Any], tuple[int, object]]
"""Status and result of a call, by its path and query, and its body."""


@contextmanager
def account(answer: Answer, name: str = ID) -> Iterator[CloudflareQueue]:
    """A queue at a stand-in for Cloudflare's API."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"] or 0))
            status, result = answer(self.path, json.loads(content or "null"))
            told = json.dumps({"success": status < 300, "result": result, "errors": []}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        queue = open_url(f"{URL.removesuffix('my-queue')}{name}?api=http://127.0.0.1:{server.server_port}")
        try:
            yield queue
        finally:
            queue.close()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("number", "sizes"), [(0, []), (1, [1]), (100, [100]), (101, [1, 100]), (250, [50, 100, 100])])
def test_each_message_is_in_one_call_of_at_most_a_hundred(number: int, sizes: list[int]) -> None:
    calls: list[tuple[str, list[str]]] = []

    def answer(path: str, body: Any) -> tuple[int, object]:
        verb = path.rpartition("/")[2]
        told = [json.dumps(one["body"]) for one in body["messages"]] if verb == "batch" else []
        told += [one["lease_id"] for kind in ("acks", "retries") for one in body.get(kind, ())]
        calls.append((verb, told))
        return 200, None

    names = [f"run{index}" for index in range(number)]
    with account(answer) as queue:
        queue.send([Sent(name, "mail") for name in names])
        assert sorted(len(told) for _, told in calls) == sizes
        assert sorted(decode(text) for _, told in calls for text in told) == sorted(names)
        for give in (queue.ack, lambda receipts: queue.give_back(receipts, 0)):
            calls.clear()
            give(names)
            assert sorted(len(told) for _, told in calls) == sizes
            assert [name for _, told in calls for name in told] == names


def test_four_calls_send_at_once() -> None:
    """More would be above what Cloudflare takes for a queue in a second."""
    in_flight = threading.Barrier(4)
    threads: list[threading.Thread] = []

    def answer(path: str, body: Any) -> tuple[int, object]:
        first = decode(json.dumps(body["messages"][0]["body"]))
        if first in ("run0", "run100", "run200", "run300"):
            in_flight.wait(30)
        if first == "run1100":  # all are handed out
            threads.extend(one for one in threading.enumerate() if one.name.startswith("workbell-send"))
        return 200, None

    with account(answer) as queue:
        queue.send([Sent(f"run{index}", "mail") for index in range(1200)])
    assert len(threads) == 4


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (300, "cannot answer now"),
        (399, "cannot answer now"),
        (400, "refuses a call to queue"),
        (401, "refuses the token"),
        (403, "refuses the token"),
        (404, "refuses a call to queue"),
        (429, "cannot answer now"),
        (499, "refuses a call to queue"),
        (500, "cannot answer now"),
        (503, "cannot answer now"),
    ],
)
def test_an_error_says_whether_it_helps_to_wait(status: int, said: str) -> None:
    with account(lambda *_: (status, None)) as queue, pytest.raises(QueueUnavailable, match=said) as caught:
        queue.ack(["lease"])
    assert f"HTTP {status}" in str(caught.value)
    assert ("it is tried again" in str(caught.value)) is (said == "cannot answer now")


@pytest.mark.parametrize(("index", "pages"), [(0, 1), (99, 1), (100, 2), (9_999, 100), (10_000, 100)])
def test_a_name_is_looked_up_among_all_queues_of_an_account(index: int, pages: int) -> None:
    """Of which there may be 10,000. The id is asked for once."""
    listed = [{"queue_name": f"q{number}", "queue_id": f"{number:032x}"} for number in range(10_000)]
    asked: list[str] = []

    def answer(path: str, _body: Any) -> tuple[int, object]:
        asked.append(path)
        if not path.endswith("/ack"):
            query = parse_qs(urlsplit(path).query)
            end = int(query["page"][0]) * int(query["per_page"][0])
            return 200, listed[max(0, end - int(query["per_page"][0])) : max(0, end)]
        return 200, None

    with account(answer, f"q{index}") as queue:
        if index < len(listed):
            queue.ack(["lease"])
            queue.ack(["lease"])
            assert [path.rpartition("/queues/")[2] for path in asked[pages:]] == [f"{index:032x}/messages/ack"] * 2
        else:
            with pytest.raises(QueueUnavailable, match="has no queue 'q10000'; make it"):
                queue.ack(["lease"])
    assert [parse_qs(urlsplit(path).query)["page"] for path in asked[:pages]] == [[str(1 + n)] for n in range(pages)]
    assert not [path for path in asked[pages:] if "page=" in path]


def test_a_name_that_no_queue_has() -> None:
    with account(lambda *_: (200, []), "mail") as queue, pytest.raises(QueueUnavailable, match="has no queue 'mail'"):
        queue.ack(["lease"])
