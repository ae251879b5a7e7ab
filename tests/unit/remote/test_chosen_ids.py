"""Enqueues of `workbell.Client`: ids are chosen here, the same at every try, and no idempotency key is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
import pytest

from workbell.errors import ClockSkew, ServiceUnavailable
from workbell.model.ids import is_id
from workbell.remote import tries
from workbell.remote.address import address_of
from workbell.remote.call import Plan
from workbell.remote.options import request
from workbell.remote.plans import runs as plans
from workbell.remote.pool import Pool
from workbell.remote.transport import ServiceTransport

Answer = httpx2.Response | Exception
ADDRESS = address_of("https://bells.example.com")
LOST = httpx2.ReadError("the line went dead")
SKEW = httpx2.Response(
    422,
    json={"type": "urn:workbell:error:ClockSkew", "title": "T", "status": 422, "detail": "Set the clock."},
    headers={"content-type": "application/problem+json"},
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "FIRST_PAUSE", 0.0)


class Service:
    """Gives these answers, one after the other, and then makes what it is asked for."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.bodies: list[Any] = []
        self.keys: list[str | None] = []

    def answer(self, asked: httpx2.Request) -> httpx2.Response:
        body = msgspec.json.decode(asked.content)
        self.bodies.append(body)
        self.keys.append(asked.headers.get("idempotency-key"))
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)
        made = [{"id": one.get("id", "theirs"), "status": "queued"} for one in body.get("runs", [body])]
        return httpx2.Response(201, json={"items": made} if "runs" in body else made[0])


def one() -> Plan[Any]:
    return plans.enqueue("send", {"to": "a@b.c"}, delay=60)


def many() -> Plan[Any]:
    return plans.enqueue_many([request("send", {"to": str(number)}, {}) for number in range(3)])


def ids_of(body: Any) -> list[str | None]:
    return [run.get("id") for run in body.get("runs", [body])]


@pytest.fixture(params=["sync", "async"])
def follow(request: pytest.FixtureRequest) -> Callable[[Service, Plan[Any]], Any]:
    """Carries out a plan with a service."""

    def carry_out(service: Service, plan: Plan[Any]) -> Any:
        pool = Pool(ADDRESS, None, connect=5, read=30, transport=httpx2.MockTransport(service.answer))
        transport = ServiceTransport(ADDRESS, pool)
        return transport.follow(plan) if request.param == "sync" else asyncio.run(transport.afollow(plan))

    return carry_out


Follow = Callable[[Service, Plan[Any]], Any]


@pytest.mark.parametrize("plan", [one, many])
def test_the_same_ids_at_every_try_and_others_at_every_call(follow: Follow, plan: Callable[[], Plan[Any]]) -> None:
    service = Service(LOST, httpx2.Response(504))
    made = follow(service, plan())
    first, second, third = service.bodies
    assert first == second == third
    assert service.keys == [None] * 3
    assert all(map(is_id, ids_of(first)))
    assert [run.id for run in (made if plan is many else [made])] == ids_of(first)
    follow(service, plan())
    assert len({*ids_of(first), *ids_of(service.bodies[3])}) == 2 * len(ids_of(first))


@pytest.mark.parametrize("plan", [one, many])
def test_where_the_clock_is_wrong_a_key_stands_for_the_request(follow: Follow, plan: Callable[[], Plan[Any]]) -> None:
    service = Service(SKEW, LOST)
    follow(service, plan())
    assert [ids_of(body)[0] for body in service.bodies[1:]] == [None, None]
    refused, first, second = service.keys
    assert refused is None
    assert first is not None
    assert first == second


def test_what_may_have_been_made_is_not_made_under_a_key(follow: Follow) -> None:
    """The first try may have been in time, and its answer lost."""
    service = Service(LOST, SKEW)
    with pytest.raises(ServiceUnavailable, match=r"an answer was lost.*Set the clock\.") as caught:
        follow(service, one())
    assert isinstance(caught.value.__cause__, ClockSkew)
    assert len(service.bodies) == 2


def test_a_request_that_is_sent_twice_makes_two_runs(follow: Follow) -> None:
    again = request("send", {"to": "a@b.c"}, {})
    service = Service()
    follow(service, plans.enqueue_many([again, again]))
    assert len(set(ids_of(service.bodies[0]))) == 2
