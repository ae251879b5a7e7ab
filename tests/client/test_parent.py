"""The run whose handler made a run is kept with that run: by enqueue, many at once, a retry, and a bulk action."""

from __future__ import annotations

from typing import Any

import pytest

from workbell import Context, Run, Workbell
from workbell.testing import drain


@pytest.fixture
def store_url(sqlite_url: str) -> str:
    return sqlite_url


def made(bell: Workbell, **wanted: Any) -> list[Run]:
    return sorted(bell.runs(job="send", **wanted), key=lambda run: run.id)


def test_a_handler_is_the_parent_of_what_it_enqueues(bell: Workbell, send: Any) -> None:
    outside = send.enqueue("outside")

    @bell.job
    def fan(ctx: Context) -> None:
        send.enqueue("one")
        bell.enqueue("send", {"to": "two"}, priority=3, retry=2)
        bell.enqueue_many([("send", {"to": "three"})])
        bell.retry(outside.id)

    @bell.job
    async def afan(ctx: Context) -> None:
        await bell.aenqueue("send", {"to": "four"})

    bell.cancel(outside.id)
    bell.pause(queue="mail")
    parent, other = fan.enqueue(), afan.enqueue()
    drain(bell)
    assert bell.get(outside.id).parent is None
    found = made(bell, status="queued")
    assert {run.input["to"]: run.parent for run in found} == {
        "one": parent.id,
        "two": parent.id,
        "three": parent.id,
        "outside": parent.id,
        "four": other.id,
    }
    two = next(run for run in found if run.input["to"] == "two")
    assert (two.priority, two.retry.attempts, two.as_dict()["parent"]) == (3, 2, parent.id)
    bell.cancel(two.id)
    again = bell.retry(two.id)  # by somebody, not by the handler
    assert (again.parent, again.retry_of, again.retry.attempts) == (None, two.id, 2)


def test_a_bulk_action_is_the_parent_of_its_retries(bell: Workbell, send: Any) -> None:
    old = bell.cancel(send.enqueue("x").id)
    bell.pause(queue="mail")
    bulk = bell.bulk("retry", status="canceled")
    drain(bell)
    (new,) = bell.runs(retry_of=old.id)
    assert new.parent == bulk.id
