"""Keys of runs over HTTP: those of a job, those of the tenant, and idempotency keys, which are of the tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.conftest import Api, opened

pytestmark = pytest.mark.anyio


def asked(job: str, **options: Any) -> dict[str, Any]:
    return {"job": job, "input": {"to": "x"} if job == "send" else {}} | options


async def test_two_jobs_under_one_key_are_two_runs(api: Api) -> None:
    first = await api.admin.ask("POST", "/runs?full=true", 201, asked("send", key="order-7"))
    second = await api.admin.ask("POST", "/runs?full=true", 201, asked("rest", key="order-7"))
    assert (first["job"], second["job"], first["key"], second["key"]) == ("send", "rest", "order-7", "order-7")
    again = await api.admin.ask("POST", "/runs", 201, asked("rest", key="order-7"))
    assert again["id"] == second["id"]
    listed = await api.admin.ask("GET", "/runs")
    assert {run["key"] for run in listed["items"]} == {"order-7"}
    assert (await api.admin.ask("GET", f"/runs/{first['id']}"))["key"] == "order-7"


async def test_a_key_of_the_tenant(api: Api) -> None:
    first = await api.admin.ask("POST", "/runs", 201, asked("send", key="order-7", key_scope="tenant"))
    second = await api.admin.ask("POST", "/runs", 201, asked("rest", key="order-7", key_scope="tenant"))
    assert second["id"] == first["id"]
    assert api.a.get(first["id"]).key == "order-7"
    told = await api.admin.ask(
        "POST", "/runs", 409, asked("rest", key="order-7", key_scope="tenant", on_duplicate="reject")
    )
    assert "The key 'order-7' is held by run" in told["detail"]
    await api.admin.ask("POST", "/runs", 422, asked("rest", key="order-7", key_scope="queue"))


@pytest.mark.parametrize("own", [{}, {"key": "order-7"}])
async def test_the_order_of_fields_makes_no_other_request(api: Api, own: dict[str, str]) -> None:
    """Neither in the body nor in the query; also where the run has a key of its own."""
    body = asked("send", **own)
    first = await api.admin.ask("POST", "/runs?full=true&tenant=a", 201, body, key="once")
    again = dict(reversed(body.items()))
    assert [*again] != [*body]
    assert (await api.admin.ask("POST", "/runs?tenant=a&full=true", 201, again, key="once"))["id"] == first["id"]
    await api.admin.ask("POST", "/runs?full=true&tenant=a", 409, body | {"tag": "x"}, key="once")
    assert len(api.a.runs()) == 1


async def test_another_job_under_an_idempotency_key_is_refused(api: Api) -> None:
    first = await api.admin.ask("POST", "/runs", 201, asked("send"), key="once")
    assert await api.admin.ask("POST", "/runs", 201, asked("send"), key="once") == first
    told = await api.admin.ask("POST", "/runs", 409, asked("rest"), key="once")
    assert "Idempotency-Key 'once' was used for another request" in told["detail"]
    many = {"runs": [asked("rest"), asked("send")]}
    await api.admin.ask("POST", "/runs/batch", 201, many, key="twice")
    await api.admin.ask("POST", "/runs/batch", 409, {"runs": many["runs"][::-1]}, key="twice")
    assert len(api.a.runs()) == 3


REUSED = "was used for another request"


@pytest.fixture
async def each(store_url: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with opened(store_url, tmp_path) as api:
        yield api


def runs_of(api: Api) -> list[str]:
    return sorted(run.id for run in api.a.runs())


async def test_a_batch_under_a_used_key_makes_nothing(each: Api) -> None:
    first = {"runs": [asked("send"), asked("rest")]}
    made = await each.admin.ask("POST", "/runs/batch", 201, first, key="once")
    before = runs_of(each)
    for other in (
        [asked("rest"), asked("send"), asked("rest")],
        [*first["runs"], asked("rest")],
        first["runs"][:1],
        [asked("send", queue="other"), asked("rest")],
        [asked("send"), asked("rest", delay=60)],
        [asked("send"), asked("rest", priority=7)],
        [asked("send", tag="t"), asked("rest", user_id=3)],
    ):
        told = await each.admin.ask("POST", "/runs/batch", 409, {"runs": other}, key="once")
        assert REUSED in told["detail"]
        assert runs_of(each) == before
    assert await each.admin.ask("POST", "/runs/batch", 201, first, key="once") == made
    assert runs_of(each) == before


async def test_the_same_key_with_another_option_is_another_request(each: Api) -> None:
    body = asked("send", delay=60, tag="t", retry={"attempts": 2})
    first = await each.admin.ask("POST", "/runs", 201, body, key="once")
    assert await each.admin.ask("POST", "/runs?full=true", 201, dict(reversed(body.items())), key="once")
    for other in ({"delay": 61}, {"queue": "q"}, {"priority": 1}, {"tag": "u"}, {"retry": {"attempts": 3}}):
        await each.admin.ask("POST", "/runs", 409, body | other, key="once")
    await each.admin.ask("POST", "/runs/batch", 409, {"runs": [body]}, key="once")
    assert runs_of(each) == [first["id"]]


async def test_what_needs_a_key_of_its_own_is_refused_under_an_idempotency_key_too(api: Api) -> None:
    for options in ({"on_duplicate": "replace"}, {"key_for": 60}, {"key_scope": "tenant"}):
        told = await api.admin.ask("POST", "/runs", 422, asked("send", **options), key="once")
        assert "there is no key" in told["detail"]
    assert api.a.runs() == []


async def test_a_chain_does_not_inherit_the_request(api: Api) -> None:
    first = await api.admin.ask("POST", "/runs", 201, asked("rest", timeout=5), key="once")
    assert api.a.get(first["id"]).options.request is not None
    api.a.cancel(first["id"])
    again = api.a.retry(first["id"])
    assert (again.options.request, again.options.timeout) == (None, 5.0)


async def test_events_under_a_used_key_are_not_told(each: Api) -> None:
    first = {"events": [{"type": "a.one", "data": {"n": 1, "m": 2}}, {"type": "a.two", "subject": "7"}]}
    made = await each.admin.ask("POST", "/events/batch", 201, first, key="once")
    one, two = first["events"]
    told = len(each.a.events.list())
    for other in (
        [one, two, {"type": "a.five"}],
        [{"type": "a.five"}, two],
        [one | {"data": {"n": 1}}, two],
        [one, {"type": "a.two"}],
        [one, two | {"source": "/other"}],
        [one],
    ):
        problem = await each.admin.ask("POST", "/events/batch", 409, {"events": other}, key="once")
        assert REUSED in problem["detail"]
    await each.admin.ask("POST", "/events", 409, one, key="once")
    again = await each.admin.ask("POST", "/events/batch", 201, first, key="once")
    assert [event["id"] for event in again["items"]] == [event["id"] for event in made["items"]]
    single = await each.admin.ask("POST", "/events", 201, one, key="single")
    assert (await each.admin.ask("POST", "/events", 201, one, key="single"))["id"] == single["id"]
    await each.admin.ask("POST", "/events/batch", 409, first, key="single")
    assert len(each.a.events.list()) == told + 1
