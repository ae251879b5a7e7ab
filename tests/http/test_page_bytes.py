"""Pages of lists are bounded in bytes: one that was cut has `next`, and whoever follows it has every row once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Api
from tests.http.things import Things
from tests.support.inside.http import bounded_pages
from tests.support.inside.stores import StorePage
from tests.support.inside.values import AttemptStatus
from workbell import Attempt, Event, Retry
from workbell.testing import drain

pytestmark = pytest.mark.anyio

LONG = "x" * 200_000


async def all_of(api: Api, path: str, word: str = "before") -> list[Any]:
    found: list[Any] = []
    cursor: dict[str, Any] = {}
    while True:
        answer = await api.admin.send("GET", path, params={"limit": 1000} | cursor)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page["items"]) == 1 or len(answer.content) < bounded_pages.MOST_BYTES * 1.1
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = {word: page["next"]}


async def test_long_rows_come_in_several_pages(api: Api) -> None:
    for number in range(30):
        api.a.emit("posts.created", {"number": number, "text": LONG})
        api.a.notify(7, {"number": number, "text": "x" * 60_000})
        api.a.schedules.put(f"nightly-{number:02}", job="send", cron="0 3 * * *", input={"to": LONG})
    events = await all_of(api, "/events")
    assert [event["data"]["number"] for event in events] == [*range(29, -1, -1)]
    first = await api.reader.ask("GET", "/events?limit=100")
    assert (len(first["items"]), first["next"]) == (20, events[19]["id"])
    assert [one["data"]["number"] for one in await all_of(api, "/notifications")] == [*range(29, -1, -1)]
    assert [one["name"] for one in await all_of(api, "/schedules", "after")] == [f"nightly-{n:02}" for n in range(30)]


async def test_lists_that_are_read_as_a_whole_come_in_pages_too(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default one page has them all, as long as they are short."""

    @api.bell.processor("bad", retry=Retry(attempts=3, delay=0, jitter=0))
    def bad(event: Event) -> None:
        raise ValueError("x" * 100)

    for name in ("c", "a", "b"):
        api.a.triggers.add(name, pattern=f"posts.{name}", processor="bad")
        api.a.webhooks.add(f"https://hooks.example.com/{name}?key=private", patterns=["users.*"])
    api.a.emit("posts.a")
    drain(api.a)
    [execution] = api.a.executions()
    lists = {
        "/triggers": [one.name for one in api.a.triggers.list()],
        "/webhooks": [one.id for one in api.a.webhooks.list()],
        f"/executions/{execution.id}/invocations": [1, 2, 3],
    }
    for path, wanted in lists.items():
        page = await api.reader.ask("GET", path)
        assert ([_of(one) for one in page["items"]], page["next"]) == (wanted, None), path
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 1)
    for path, wanted in lists.items():
        assert [_of(one) for one in await all_of(api, path, "after")] == wanted
        for limit in (1, 2):
            page = await api.reader.ask("GET", f"{path}?limit={limit}")
            assert ([_of(one) for one in page["items"]], page["next"]) == (wanted[:1], str(wanted[0])), path


async def test_pauses_come_in_pages(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also two that are told in the same words."""
    for what in ({"job": "a"}, {"queue": "b"}, {"job": "a", "queue": "b"}, {"job": "a in queue b"}, {"queue": "é/ &"}):
        api.a.pause(**what)
    wanted = [(one.queue, one.job) for one in api.a.pauses()]
    whole = await api.reader.ask("GET", "/pauses")
    assert ([(one["queue"], one["job"]) for one in whole["items"]], whole["next"]) == (wanted, None)
    assert len((await api.reader.ask("GET", "/pauses?limit=2"))["items"]) == 2
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 1)
    assert [(one["queue"], one["job"]) for one in await all_of(api, "/pauses", "after")] == wanted


async def test_the_tries_of_a_delivery_come_in_pages(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = api.a.webhooks.add("https://hooks.example.com/x", patterns=["posts.*"]).endpoint
    ping = api.a.webhooks.test(endpoint.id)
    at = api.bell.store.clock.now()
    tries = [Attempt(ping.id, number, AttemptStatus.FAILED, at, at) for number in (1, 2, 3)]
    api.bell.store.load(StorePage(attempts=tries))
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 1)
    found = await all_of(api, f"/webhooks/deliveries/{ping.id}/attempts", "after")
    assert [one["number"] for one in found] == [1, 2, 3]


def _of(item: Any) -> Any:
    """What the list is sorted by."""
    return item.get("attempt_number") or item.get("name") or item["id"]


async def test_each_list_can_be_cut_after_any_row(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    things = Things(api.bell, "a")
    for number in range(3):
        api.a.emit("posts.created", {"number": number})
        await api.operator.ask("POST", "/files?filename=x", 201, "x")
        await api.operator.ask("POST", f"/jobs/{things.examples['jobs', 'name']}/pause")
    endpoint = things.examples["webhooks", "endpoint_id"]
    api.a.webhooks.test(endpoint)
    lists = {
        "/events": "before",
        "/audit": "before",
        "/executions": "before",
        "/files": "after",
        f"/webhooks/{endpoint}/deliveries": "before",
    }
    whole = {path: await all_of(api, path, word) for path, word in lists.items()}
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 1)
    for path, word in lists.items():
        assert len(whole[path]) > 1, path
        first = await api.admin.ask("GET", path)
        assert (first["items"], first["next"] is not None) == (whole[path][:1], True), path
        found, cursor = first["items"], first["next"]
        while cursor is not None:
            page = await api.admin.ask("GET", f"{path}?{word}={cursor}")
            found, cursor = found + page["items"], page["next"]
        assert found == whole[path]
