"""Requests are freed as soon as they are answered: the garbage collector has not to look for them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.http.conftest import Api
from tests.support.inside.http import ApiCall
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture
def collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def held() -> int:
    return sum(type(one) is ApiCall for one in gc.get_objects())


@pytest.mark.usefixtures("collector_off")
async def test_no_request_is_held_by_a_cycle(api: Api) -> None:
    before = held()
    for _ in range(5):
        made = await api.operator.ask("POST", "/runs", 201, {"job": "send", "input": {"to": "a@b.c"}})
        await api.operator.ask("GET", f"/runs/{made['id']}")
        await api.operator.ask("POST", f"/runs/{made['id']}/cancel", body={})
    until(lambda: held() == before, "the last request to be freed, which a thread may yet hold")
