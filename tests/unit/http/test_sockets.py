"""The parts of `/ws` without a network: what is told of a view, what waits, and who reads too slowly."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from workbell import InvalidOption
from workbell.http.sockets import connection, frames, topics, wire
from workbell.http.sockets.connection import Feed, Outbox, PassedOn
from workbell.http.sockets.frames import Ping, Read, Subscribe, Topic, Unsubscribe
from workbell.http.sockets.notifier import lowest_id
from workbell.http.sockets.topics import NOTHING, ViewSnapshot, filter_of, way
from workbell.http.sockets.wire import Gone, Wire
from workbell.model.clock import SystemClock
from workbell.model.ids import new_id
from workbell.model.notification import Notification

ids = st.sampled_from("abcdef")
items = st.dictionaries(ids, st.integers(0, 3))
logs = st.integers(0, 6)


def made(values: dict[str, int], lines: int) -> ViewSnapshot:
    encoded = {name: json.dumps({"id": name, "value": value}) for name, value in values.items()}
    return ViewSnapshot(encoded, {(1, line): json.dumps(line) for line in range(lines)})


@given(st.lists(st.tuples(items, logs), min_size=1, max_size=6), st.sampled_from([1, 40, 10_000]))
def test_who_follows_the_way_has_what_there_is(moments: list[tuple[dict[str, int], int]], chunk: int) -> None:
    """Whichever moments a client misses, and in however many pieces it is told."""
    was, topics.CHUNK = topics.CHUNK, chunk
    try:
        here: dict[str, Any] = {}
        lines: list[int] = []
        told, most = NOTHING, 0
        for values, count in moments:
            most = max(most, count)  # a log only grows
            now = made(values, most)
            bodies = way(told, now)
            assert bodies or told is not NOTHING, "a new subscriber is always told something"
            for body in bodies:
                changes = json.loads("{" + body)
                for gone in changes["removed"]:
                    del here[gone]
                for item in changes["items"]:
                    assert here.get(item["id"]) != item, "it has not changed"
                    here[item["id"]] = item
                lines += changes.get("logs", [])
            assert {name: item["value"] for name, item in here.items()} == values
            assert lines == list(range(most))
            told = now
    finally:
        topics.CHUNK = was


def test_no_change_is_no_message() -> None:
    assert way(made({"a": 1}, 2), made({"a": 1}, 2)) == []


def test_an_outbox_takes_so_many_and_no_more() -> None:
    box = Outbox()
    assert all(box.put("x") for _ in range(connection.MOST))
    assert not box.put("x")
    assert box.take() == "x"
    assert box.put("x")


def test_an_outbox_takes_so_much_and_no_more() -> None:
    box = Outbox()
    assert box.put("x" * (connection.MOST_LETTERS * 2)), "one always fits"
    assert not box.put("y")
    box.take()
    assert box.put("y")
    assert (box.take(), box.take(), len(box)) == ("y", None, 0)


def notification(number: int) -> Notification:
    return Notification(new_id(), "default", 7, str(number), SystemClock().now())


def told_by(feed: Feed) -> list[Any]:
    found = []
    while (text := feed.next()) is not None:
        found += [item["data"] for item in json.loads(text)["items"]]
    return found


def test_new_ones_wait_for_those_from_before_and_none_comes_twice() -> None:
    slow: list[bool] = []
    feed = Feed("a", PassedOn(), lambda: None, lambda: slow.append(True))
    old, both, new = (notification(number) for number in range(3))
    feed.offer(both.id, frames.body(["1"]))
    assert feed.next() is None
    feed.offer(new.id, frames.body(['{"data":2}']))
    feed.open([old, both])
    assert told_by(feed) == [0, 1, 2]
    feed.offer(new.id, frames.body(['{"data":2}']))
    assert told_by(feed) == []
    assert not slow


def test_who_takes_nothing_is_found_out_but_a_long_backlog_is_no_fault() -> None:
    slow: list[bool] = []
    feed = Feed("a", PassedOn(), lambda: None, lambda: slow.append(True))
    big = json.dumps("x" * 200_000)
    feed.open([Notification(new_id(), "default", 7, big, SystemClock().now()) for _ in range(100)])
    assert not slow
    for _ in range(connection.MOST_LETTERS // 200_000):
        feed.offer(new_id(), big)
    assert not slow
    feed.offer(new_id(), big)
    assert slow


def test_what_a_client_can_say() -> None:
    assert frames.decode('{"type":"ping"}') == Ping()
    assert frames.decode(b'{"type":"read","ids":["x"]}') == Read(["x"])
    assert frames.decode('{"type":"unsubscribe","id":"a"}') == Unsubscribe("a")
    said = frames.decode('{"type":"subscribe","id":"a","topic":"runs","status":["queued"],"user_id":7}')
    assert said == Subscribe(id="a", topic=Topic.RUNS, status=["queued"], user_id=7)


def test_statuses_and_times_are_left_to_the_verb() -> None:
    """Its refusal names the subscription; that of a message that cannot be decoded does not."""
    said = frames.decode('{"type":"subscribe","id":"a","topic":"runs","status":"gone","since":"2026-11-16T09:00:00"}')
    assert said == Subscribe(id="a", topic=Topic.RUNS, status="gone", since=datetime(2026, 11, 16, 9))  # noqa: DTZ001


@pytest.mark.parametrize(
    "said",
    [
        '{"type":"subscribe","id":"","topic":"runs"}',
        '{"type":"subscribe","id":"a","topic":"runs","stats":"queued"}',
        '{"type":"subscribe","id":"a","topic":"runs","limit":1001}',
        '{"type":"subscribe","id":"a","topic":"runs","user_id":-1}',
        '{"type":"subscribe","id":"a","topic":"gossip"}',
        '{"type":"read","ids":"x"}',
        "null",
    ],
)
def test_what_it_cannot(said: str) -> None:
    with pytest.raises(InvalidOption, match="not a message of the protocol"):
        frames.decode(said)


def test_the_order_of_a_filter_is_no_difference() -> None:
    one = filter_of(Subscribe(id="a", topic=Topic.RUNS, status=["queued", "running"]))
    assert one == filter_of(Subscribe(id="b", topic=Topic.RUNS, status=["running", "queued", "queued"]))
    assert one != filter_of(Subscribe(id="a", topic=Topic.RUNS, status="queued"))
    assert len({filter_of(Subscribe(id="a", topic=Topic.RUNS, input={"n": n})) for n in (1, True, 1.5, "1", None)}) == 5
    assert filter_of(Subscribe(id="a", topic=Topic.RUNS, limit=5)) != filter_of(Subscribe(id="a", topic=Topic.RUNS))


def test_the_lowest_id_of_a_moment() -> None:
    before = new_id()
    assert lowest_id(60) < lowest_id(1) < before
    assert lowest_id(-1) > new_id()


class Jammed:
    """A server beneath that lets nothing through, and cannot cut."""

    def __init__(self, **extensions: Any) -> None:
        self.sent: list[Any] = []
        self.jammed = asyncio.Event()
        self.wire = Wire({"type": "websocket", "path": "/ws", "extensions": extensions}, self._receive, self._send)

    async def _receive(self) -> Any:
        return {"type": "websocket.disconnect", "code": 1001}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)
        if message["type"] in ("websocket.send", "websocket.close") and message.get("code") != wire.REFUSED:
            await self.jammed.wait()


@pytest.mark.anyio
async def test_where_the_server_cannot_cut_the_last_word_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "GOODBYE", 0.01)
    under = Jammed()
    await under.wire.end(1013, "too slow")
    assert under.sent == [{"type": "websocket.close", "code": 1013, "reason": "too slow"}]
    cut: list[Any] = []
    await Jammed(**{wire.CUT: lambda *how: cut.append(how)}).wire.end(1013, "too slow")
    assert cut == [(1013, "too slow")]


@pytest.mark.anyio
async def test_a_handshake_is_refused_with_words_where_the_server_can() -> None:
    plain, able = Jammed(), Jammed(**{"websocket.http.response": {}})
    for under in (plain, able):
        await under.wire.refuse(Response(b"no", 403))
    assert plain.sent == [{"type": "websocket.close", "code": 1008}]
    assert [message.get("status") for message in able.sent] == [403, None]
    assert able.sent[1]["body"] == b"no"


@pytest.mark.anyio
async def test_who_has_gone_is_noticed() -> None:
    under = Jammed()
    for word in (under.wire.accept, under.wire.receive):
        with pytest.raises(Gone):
            await word()
