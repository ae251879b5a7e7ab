"""`connection=`: a run is made inside the caller's own transaction, and exists if and when that commits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from tests.integration.connection_ways import Way, aenqueue, each_async_way, each_way, enqueue
from tests.support.inside.features import Claimant, FairClaims
from workbell import DuplicateRun, InvalidOption, Status, Workbell


class Oops(Exception):
    """The caller's own failure."""


def claimed(bell: Workbell) -> list[str]:
    claimant = Claimant("w1", timedelta(seconds=30), lambda lane: True)
    return [run.id for run in FairClaims(bell.store).claim(claimant, 100, bell.store.clock.now())]


@each_way
def test_a_commit_keeps_the_run(bell: Workbell, sql_store_url: str, way: Way) -> None:
    with way(sql_store_url) as connection:
        run = enqueue(bell, connection, "a")
        later = enqueue(bell, connection, "b", delay=60, queue="new lane", tag="t")
        # Nobody else sees it, and no worker gets it, before the commit.
        assert bell.runs() == []
        if "sqlite" not in sql_store_url:  # one writer at a time: there, a claim would wait
            assert claimed(bell) == []
    assert bell.get(run.id) == run
    assert bell.get(later.id) == later
    assert claimed(bell) == [run.id]


@each_way
def test_a_rollback_leaves_nothing(bell: Workbell, sql_store_url: str, way: Way) -> None:
    old = bell.enqueue("send", {"to": "old"}, key="k", tag="t")
    with pytest.raises(Oops), way(sql_store_url) as connection:  # noqa: PT012  the block is the transaction
        enqueue(bell, connection)
        enqueue(bell, connection, key="new")
        enqueue(bell, connection, key="k", on_duplicate="replace")
        enqueue(bell, connection, tag="t", replace_tag=True)
        raise Oops
    assert [run.id for run in bell.runs()] == [old.id]
    assert bell.get(old.id).status is Status.QUEUED
    assert bell.enqueue("send", {"to": "x"}, key="k").id == old.id
    assert bell.enqueue("send", {"to": "x"}, key="new").id != old.id


@each_way
def test_keys_work_inside(bell: Workbell, sql_store_url: str, way: Way) -> None:
    held = bell.enqueue("send", {"to": "held"}, key="held")
    with way(sql_store_url) as connection:
        first = enqueue(bell, connection, key="k")
        assert enqueue(bell, connection, key="k").id == first.id  # the holder is not committed yet
        assert enqueue(bell, connection, key="held") == held
        with pytest.raises(DuplicateRun) as told:
            enqueue(bell, connection, key="held", on_duplicate="reject")
        assert told.value.run_id == held.id
        after = enqueue(bell, connection, "after")  # the refusal did not spoil the transaction
        new = enqueue(bell, connection, key="held", on_duplicate="replace")
    assert {run.id for run in bell.runs(status="queued")} == {first.id, after.id, new.id}
    assert bell.get(held.id).reason == f"replaced by run {new.id} with the same key"


@each_way
def test_a_refused_duplicate_takes_back_what_it_replaced(bell: Workbell, sql_store_url: str, way: Way) -> None:
    tagged = bell.enqueue("send", {"to": "x"}, tag="t")
    bell.enqueue("send", {"to": "x"}, key="k")
    with way(sql_store_url) as connection:
        kept = enqueue(bell, connection)
        with pytest.raises(DuplicateRun):
            enqueue(bell, connection, tag="t", replace_tag=True, key="k", on_duplicate="reject")
    assert bell.get(tagged.id).status is Status.QUEUED
    assert bell.get(kept.id).status is Status.QUEUED


@each_way
def test_what_it_replaces_is_told_in_the_same_transaction(bell: Workbell, sql_store_url: str, way: Way) -> None:
    listen_to_cancels(bell)
    first = bell.enqueue("send", {"to": "a"}, tag="t", remove_delay=5)
    with pytest.raises(Oops), way(sql_store_url) as connection:  # noqa: PT012  the block is the transaction
        enqueue(bell, connection, tag="t", replace_tag=True)
        raise Oops
    assert cancels(bell) == []
    with way(sql_store_url) as connection:
        second = enqueue(bell, connection, tag="t", replace_tag=True, queue="new lane")
        third = enqueue(bell, connection, tag="t", replace_tag=True, key="k")
        enqueue(bell, connection, key="k", on_duplicate="replace")
    assert sorted(cancels(bell)) == sorted([first.id, second.id, third.id])
    ended = bell.get(first.id)
    assert (ended.status, ended.reason) == (Status.CANCELED, f"replaced by run {second.id} of the same tag")
    assert ended.finished_at is not None
    assert ended.remove_at == ended.finished_at + timedelta(seconds=5)


def listen_to_cancels(bell: Workbell) -> None:
    @bell.on("run.canceled")
    def hear() -> None: ...

    bell.engine.put_triggers()


def cancels(bell: Workbell) -> list[str | None]:
    return [event.subject for event in bell.store.events.list("default", type="run.canceled", before=None, limit=10)]


@each_way
def test_many_with_a_refused_one_leave_nothing(bell: Workbell, sql_store_url: str, way: Way) -> None:
    """All or none, also where the caller goes on and commits."""
    held = bell.enqueue("send", {"to": "x"}, key="held")
    with way(sql_store_url) as connection:
        requests = [
            bell.request("send", {"to": "a"}, connection=connection, key="new"),
            bell.request("send", {"to": "b"}, connection=connection),
            bell.request("send", {"to": "c"}, connection=connection, key="held", on_duplicate="reject"),
        ]
        with pytest.raises(DuplicateRun):
            bell.enqueue_many(requests)
        kept = enqueue(bell, connection, "kept")
        assert [run.input["to"] for run in bell.enqueue_many(requests[:2])] == ["a", "b"]
    assert {run.input["to"] for run in bell.runs()} == {"x", "kept", "a", "b"}
    assert {held.id, kept.id} < {run.id for run in bell.runs()}


@each_way
def test_requests_of_one_call_have_one_connection(bell: Workbell, sql_store_url: str, way: Way) -> None:
    message = r"enqueue_many: .*one transaction; give all of them the same connection=, or make a call for each"
    with way(sql_store_url) as connection:
        ours, theirs = bell.request("send", {"to": "a"}), bell.request("send", {"to": "b"}, connection=connection)
        for mixed in ([ours, theirs], [theirs, bell.request("send", {"to": "c"}, connection=object())]):
            with pytest.raises(InvalidOption, match=message):
                bell.enqueue_many(mixed)
    assert bell.runs() == []


@each_way
def test_the_callers_own_rows_and_the_run_are_one(bell: Workbell, sql_store_url: str, way: Way) -> None:
    def execute(connection: Any, statement: str) -> Any:
        if "django" in way.__name__ or ("psycopg2" in way.__name__ and "alchemy" not in way.__name__):
            cursor = connection.cursor()
            cursor.execute(statement)
            return cursor
        return connection.execute(text(statement) if "alchemy" in way.__name__ else statement)

    with way(sql_store_url) as connection:
        execute(connection, "CREATE TABLE orders (id integer)")
    with way(sql_store_url) as connection:
        execute(connection, "INSERT INTO orders VALUES (1)")
        run = enqueue(bell, connection)
    with pytest.raises(Oops), way(sql_store_url) as connection:  # noqa: PT012
        execute(connection, "INSERT INTO orders VALUES (2)")
        enqueue(bell, connection)
        execute(connection, "INSERT INTO orders VALUES (3)")
        raise Oops
    with way(sql_store_url) as connection:
        found = execute(connection, "SELECT count(*) AS number FROM orders").fetchall()
        assert str(next(iter(found[0].values())) if isinstance(found[0], dict) else found[0][0]) in ("1", "(1,)")
    assert [each.id for each in bell.runs()] == [run.id]


@pytest.mark.anyio
@each_async_way
async def test_an_async_commit_keeps_the_run(bell: Workbell, sql_store_url: str, async_way: Way) -> None:
    held = await bell.aenqueue("send", {"to": "held"}, key="held")
    async with async_way(sql_store_url) as connection:
        run = await aenqueue(bell, connection, "a", queue="new lane")
        first = await aenqueue(bell, connection, key="k")
        assert (await aenqueue(bell, connection, key="k")).id == first.id
        assert (await aenqueue(bell, connection, key="held")) == held
        with pytest.raises(DuplicateRun):
            await aenqueue(bell, connection, key="held", on_duplicate="reject", tag="t", replace_tag=True)
        new = await aenqueue(bell, connection, key="held", on_duplicate="replace")
        many = await bell.aenqueue_many(
            [bell.request("send", {"to": str(number)}, connection=connection) for number in range(3)]
        )
        assert [each.id for each in bell.runs()] == [held.id]
    made = {run.id, first.id, new.id, *(each.id for each in many)}
    assert {each.id for each in bell.runs(status="queued")} == made
    assert bell.get(held.id).status is Status.CANCELED


@pytest.mark.anyio
@each_async_way
async def test_many_are_all_or_none_async(bell: Workbell, sql_store_url: str, async_way: Way) -> None:
    await bell.aenqueue("send", {"to": "x"}, key="held")
    async with async_way(sql_store_url) as connection:
        first = bell.request("send", {"to": "a"}, connection=connection)
        taken = bell.request("send", {"to": "b"}, connection=connection, key="held", on_duplicate="reject")
        with pytest.raises(DuplicateRun):
            await bell.aenqueue_many([first, taken])
        with pytest.raises(InvalidOption, match="one transaction"):
            await bell.aenqueue_many([first, bell.request("send", {"to": "c"})])
    assert [run.input["to"] for run in bell.runs()] == ["x"]


@pytest.mark.anyio
@each_async_way
async def test_an_async_rollback_leaves_nothing(bell: Workbell, sql_store_url: str, async_way: Way) -> None:
    with pytest.raises(Oops):  # noqa: PT012
        async with async_way(sql_store_url) as connection:
            await aenqueue(bell, connection)
            await aenqueue(bell, connection, key="k")
            raise Oops
    assert bell.runs() == []


@pytest.mark.anyio
@each_async_way
async def test_what_an_async_one_replaces_is_told(bell: Workbell, sql_store_url: str, async_way: Way) -> None:
    listen_to_cancels(bell)
    old = bell.enqueue("send", {"to": "a"}, tag="t")
    async with async_way(sql_store_url) as connection:
        await aenqueue(bell, connection, tag="t", replace_tag=True)
    assert cancels(bell) == [old.id]
