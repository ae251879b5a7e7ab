"""Ids of runs that the client chooses: a request that comes again gets its run, without a key in the store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.http.conftest import Api, opened
from tests.support.inside.stores import Filter, SqlStore, read_rows
from tests.support.inside.values import ID_WINDOW, Added, NewRun, Retention, first_id_at, new_id
from workbell import StoreUnavailable

pytestmark = pytest.mark.anyio


def asked(run_id: str | None = None, job: str = "send", **options: Any) -> dict[str, Any]:
    return {"id": run_id or new_id(), "job": job, "input": {"to": "x"} if job == "send" else {}} | options


@pytest.fixture
async def each(store_url: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with opened(store_url, tmp_path) as api:
        yield api


def keys_in(api: Api) -> list[str]:
    assert isinstance(api.bell.store, SqlStore)
    return [row[1] for row in read_rows(api.bell.store.database, "export_keys", after="", after_key="", limit=100)]


def runs_of(api: Api) -> list[str]:
    return sorted(run.id for run in api.bell.store.runs.list(Filter(None)))


async def test_a_request_again_is_answered_with_its_run(each: Api) -> None:
    body = asked(delay=60, tag="t")
    first = await each.admin.ask("POST", "/runs", 201, body)
    assert first == {"id": body["id"], "status": "scheduled"}
    assert await each.admin.ask("POST", "/runs", 201, dict(reversed(body.items()))) == first
    each.a.cancel(body["id"])
    again = await each.admin.ask("POST", "/runs?full=true", 201, body)
    assert (again["id"], again["status"]) == (body["id"], "canceled")
    assert runs_of(each) == [body["id"]]
    assert keys_in(each) == []


async def test_another_request_under_the_id_is_refused(each: Api) -> None:
    body = asked()
    await each.admin.ask("POST", "/runs", 201, body)
    for caller, other in (
        (each.admin, body | {"delay": 60}),
        (each.admin, body | {"job": "rest", "input": {}}),
        (each.stranger, body),
    ):
        problem = await caller.ask("POST", "/runs", 409, other)
        assert problem["type"] == "urn:workbell:error:KeyReused"
        assert problem["detail"].startswith(f"id {body['id']}: another request has made a run of this id; ")
    await each.admin.ask("POST", "/runs/batch", 409, {"runs": [asked(), body]})
    assert runs_of(each) == [body["id"]]


async def test_a_batch_is_made_once(each: Api) -> None:
    batch = {"runs": [asked(), asked(job="rest"), {"job": "rest"}]}
    first = await each.admin.ask("POST", "/runs/batch", 201, {"runs": batch["runs"][:2]})
    assert await each.admin.ask("POST", "/runs/batch", 201, {"runs": batch["runs"][:2]}) == first
    await each.admin.ask("POST", "/runs/batch", 409, batch)
    assert [run["id"] for run in first["items"]] == [one["id"] for one in batch["runs"][:2]]
    assert len(runs_of(each)) == 2


async def test_requests_at_the_same_time(each: Api) -> None:
    """Those that share a transaction too; one that is refused touches no other."""
    same, taken = asked(), asked()
    await each.stranger.ask("POST", "/runs", 201, taken)
    made, *repeated, refused, other = await asyncio.gather(
        *(each.admin.send("POST", "/runs", json=body) for body in (same, same, same, taken, asked()))
    )
    assert [answer.status_code for answer in (made, *repeated, refused, other)] == [201, 201, 201, 409, 201]
    assert {answer.json()["id"] for answer in (made, *repeated)} == {same["id"]}
    assert len(runs_of(each)) == 3


async def test_an_answer_that_is_lost_after_the_commit(each: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is sent again, whoever it goes to: one run, and no key."""
    body, add = asked(), each.bell.store.runs.add

    def written_and_lost(new: Sequence[NewRun], *, hint: bool = True) -> list[Added]:
        add(new, hint=hint)
        raise StoreUnavailable("The connection was lost.")

    monkeypatch.setattr(each.bell.store.runs, "add", written_and_lost)
    await each.admin.ask("POST", "/runs", 503, body)
    monkeypatch.undo()
    assert (await each.admin.ask("POST", "/runs", 201, body))["id"] == body["id"]
    assert runs_of(each) == [body["id"]]
    assert keys_in(each) == []


@pytest.mark.parametrize("factor", [-1.1, -0.9, 0.9, 1.1])
async def test_the_time_of_an_id_is_about_now(api: Api, factor: float) -> None:
    await api.admin.ask("POST", "/runs", 422, asked("ffffffff-ffff-7fff-bfff-ffffffffffff"))
    body = asked(first_id_at(api.bell.store.clock.now() + factor * ID_WINDOW))
    if abs(factor) < 1:
        await api.admin.ask("POST", "/runs", 201, body)
        return
    problem = await api.admin.ask("POST", "/runs", 422, body)
    assert problem["type"] == "urn:workbell:error:ClockSkew"
    assert "set the clock" in problem["detail"]
    assert runs_of(api) == []


@pytest.mark.parametrize("run_id", ["", "7", "x" * 36, "0198c2f3-5a6b-4c8d-9e0f-1a2b3c4d5e6f", "0198C2F3", 7])
async def test_an_id_is_a_uuid_of_version_7(api: Api, run_id: Any) -> None:
    await api.admin.ask("POST", "/runs", 422, {"job": "rest", "id": run_id})


async def test_one_id_for_two_runs_is_refused(api: Api) -> None:
    run_id = new_id()
    problem = await api.admin.ask("POST", "/runs/batch", 422, {"runs": [asked(run_id), asked(run_id)]})
    assert f"{run_id} is given to two runs" in problem["detail"]
    assert runs_of(api) == []


async def test_a_run_that_is_removed_soon_leaves_a_key(each: Api) -> None:
    """Its id would not be known any more when the request comes again."""
    body = asked(remove_delay=0)
    first = await each.admin.ask("POST", "/runs", 201, body)
    assert keys_in(each) == [f"http:{body['id']}"]
    each.a.cancel(body["id"])
    each.bell.store.prune(each.bell.store.clock.now() + timedelta(minutes=30), 100)
    again = await each.admin.ask("POST", "/runs", 201, body)
    assert again == first | {"status": "canceled"}
    await each.admin.ask("POST", "/runs", 409, body | {"tag": "other"})
    assert runs_of(each) == [body["id"]]


@pytest.mark.parametrize("short", ["succeeded", "other"])
async def test_a_store_that_removes_runs_soon_keeps_keys(api: Api, short: str) -> None:
    api.bell.runtime.keep = Retention()._replace(**{short: timedelta(minutes=59)})
    body = asked()
    await api.admin.ask("POST", "/runs", 201, body)
    assert keys_in(api) == [f"http:{body['id']}"]


@pytest.mark.parametrize("on_duplicate", ["return", "reject", "replace"])
@pytest.mark.parametrize("remove_delay", [None, 0])
async def test_a_run_with_a_key_of_its_own(each: Api, on_duplicate: str, remove_delay: int | None) -> None:
    body = asked(key="order-7", on_duplicate=on_duplicate, remove_delay=remove_delay)
    first = await each.admin.ask("POST", "/runs", 201, body)
    assert await each.admin.ask("POST", "/runs", 201, body) == first
    each.a.cancel(body["id"])
    each.bell.store.prune(each.bell.store.clock.now() + timedelta(minutes=30), 100)
    assert (await each.admin.ask("POST", "/runs", 201, body))["id"] == first["id"]
    assert set(runs_of(each)) <= {body["id"]}


async def test_an_id_beside_an_idempotency_key(each: Api) -> None:
    body = asked()
    first = await each.admin.ask("POST", "/runs", 201, body, key="once")
    assert await each.admin.ask("POST", "/runs", 201, body, key="once") == first
    assert keys_in(each) == ["http:once:0"]
    await each.admin.ask("POST", "/runs", 409, body | {"id": new_id()}, key="once")
    assert runs_of(each) == [body["id"]]
