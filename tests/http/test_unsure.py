"""Idempotency keys where nobody knows whether the work was done, and errors of the store that are not the caller's."""

from __future__ import annotations

from asyncio import gather
from typing import Any

import pytest

from tests.http.conftest import Api
from tests.support.inside.features import Enqueuing, LocalClient, Notifier
from tests.support.inside.http import Order, status_of
from tests.support.inside.values import Notification
from workbell import Request, Run, StoreError, StoreUnavailable

pytestmark = pytest.mark.anyio

TELL: dict[str, Any] = {"user_id": 7, "data": {"x": 1}}


async def test_a_key_is_not_free_while_it_is_unknown_what_was_written(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Notifier.notify

    def torn(client: Notifier, user_id: int, data: Any) -> Notification:
        told(client, user_id, data)
        raise StoreUnavailable("The connection broke at the commit.")

    monkeypatch.setattr(Notifier, "notify", torn)
    await api.operator.ask("POST", "/notifications", 503, TELL, key="k")
    monkeypatch.undo()
    await api.operator.ask("POST", "/notifications", 409, TELL, key="k")
    assert len(api.a.notifications.list(7)) == 1


async def test_a_key_is_for_one_query(api: Api) -> None:
    await api.operator.ask("POST", "/files?filename=a.txt", 201, {}, key="k")
    await api.operator.ask("POST", "/files?filename=b.txt", 409, {}, key="k")


async def test_an_order_that_cannot_be_stored_does_not_touch_those_that_came_with_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The orders of all tenants share a transaction."""
    good, bad = api.a.request("send", {"to": "a"}), api.a.request("send", {"to": "bad"})
    written = Enqueuing.write

    def refuse(client: Enqueuing, requests: list[Request]) -> list[Run]:
        if bad in requests:
            raise StoreError("It cannot be stored.")
        return written(client, requests)

    monkeypatch.setattr(Enqueuing, "write", refuse)
    monkeypatch.setattr(LocalClient, "request", lambda _client, _job, input, **_: bad if input["to"] == "bad" else good)
    groups = api.app.state.service.enqueue_groups
    first, second = await gather(
        groups.put(api.a, [Order("send", {"to": "a"}, {})]),
        groups.put(api.a, [Order("send", {"to": "bad"}, {})]),
        return_exceptions=True,
    )
    assert first[0].id == good.new.run.id
    assert isinstance(second, StoreError)


async def test_a_filter_that_is_nested_too_deeply_is_refused(api: Api) -> None:
    await api.reader.ask("GET", f"/runs?input.to={'[' * 3000}", 422)


def test_an_error_of_the_store_is_not_the_callers() -> None:
    assert status_of(StoreError("deadlock")) == 503
