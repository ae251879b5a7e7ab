"""Keys of runs over HTTP: those of a job, those of the tenant, and idempotency keys, which are of the tenant."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.conftest import Api

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


async def test_another_job_under_an_idempotency_key_is_refused(api: Api) -> None:
    first = await api.admin.ask("POST", "/runs", 201, asked("send"), key="once")
    assert await api.admin.ask("POST", "/runs", 201, asked("send"), key="once") == first
    told = await api.admin.ask("POST", "/runs", 409, asked("rest"), key="once")
    assert "Idempotency-Key 'once' was used for another request" in told["detail"]
    many = {"runs": [asked("rest"), asked("send")]}
    await api.admin.ask("POST", "/runs/batch", 201, many, key="twice")
    await api.admin.ask("POST", "/runs/batch", 409, {"runs": many["runs"][::-1]}, key="twice")
    assert len(api.a.runs()) == 3
