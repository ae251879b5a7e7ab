"""Orders of requests that come at the same time: what is wrong with one touches no other, and tenants come in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.support.fresh_store import fresh_store
from workbell import DuplicateRun, KeyReused, UnknownJob, Workbell
from workbell.client.local import LocalClient
from workbell.http.features.enqueue_groups import MOST, ChosenId, EnqueueGroups, Order, WaitingEnqueue
from workbell.model.ids import new_id

pytestmark = pytest.mark.anyio


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(store=fresh_store()) as bell:

        @bell.job
        def work(number: int = 0) -> None: ...

        yield bell


def orders(count: int, **options: object) -> list[Order]:
    return [Order("work", {"number": number}, options) for number in range(count)]


async def test_each_gets_its_own_answer(bell: Workbell) -> None:
    groups = EnqueueGroups(bell)
    held = await bell.aenqueue("work", key="taken")
    rejecting = [Order("work", None, {"key": "taken", "on_duplicate": "reject"})]
    answers = await asyncio.gather(
        groups.put(bell, orders(3)),
        groups.put(bell, [Order("nothing", None, {})]),
        groups.put(bell, rejecting),
        groups.put(bell.for_tenant("other"), orders(1)),
        return_exceptions=True,
    )
    made, unknown, refused, other = answers
    assert isinstance(made, list)
    assert [run.input["number"] for run in made] == [0, 1, 2]
    assert isinstance(unknown, UnknownJob)
    assert isinstance(refused, DuplicateRun)
    assert refused.run_id == held.id
    assert isinstance(other, list)
    assert other[0].tenant == "other"
    assert len(bell.runs()) == 4
    groups.close()


async def test_one_conflict_of_ids_touches_no_other(bell: Workbell) -> None:
    """In one transaction: a request and its repetition, one that is refused, and others with keys and without."""
    groups, loop = EnqueueGroups(bell), asyncio.get_running_loop()
    taken, other = new_id(), new_id()
    await groups.put(bell, [Order("work", None, {}, chosen=ChosenId(taken, "first"))])

    def waiting(*chosen: ChosenId | None, **options: object) -> WaitingEnqueue:
        return WaitingEnqueue(bell, [Order("work", None, options, chosen=one) for one in chosen], loop.create_future())

    refused, made, again, known, *rest = groups._write(
        [
            waiting(None, ChosenId(new_id(), "second"), ChosenId(taken, "second")),
            waiting(ChosenId(other, "third")),
            waiting(ChosenId(other, "third")),
            waiting(ChosenId(taken, "first")),
            waiting(None, None),
            waiting(None, key="k"),
        ]
    )
    assert isinstance(refused, KeyReused)
    ids = [[run.id for run in answer] for answer in (made, again, known) if isinstance(answer, list)]
    assert ids == [[other], [other], [taken]]
    assert [len(answer) for answer in rest if isinstance(answer, list)] == [2, 1]
    assert len(bell.runs()) == 5
    groups.close()


async def test_a_flood_of_one_tenant_delays_no_other(bell: Workbell) -> None:
    groups, loop = EnqueueGroups(bell), asyncio.get_running_loop()

    def waiting(client: LocalClient, count: int) -> WaitingEnqueue:
        return WaitingEnqueue(client, orders(count), loop.create_future())

    small = bell.for_tenant("small")
    groups._waiting = [waiting(bell, MOST // 2) for _ in range(5)] + [waiting(small, 1), waiting(small, 1)]
    first = groups._next()
    assert [one.client.tenant for one in first] == ["default", "small", "small"]
    assert sum(len(one.orders) for one in first) <= MOST
    assert len(groups._waiting) == 4
    groups.close()
