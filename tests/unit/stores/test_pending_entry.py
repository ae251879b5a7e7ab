"""Pending audit entries: written with an action or not at all, once, and with no action of another caller."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.makers import worker_of
from workbell.errors import StoreUnavailable
from workbell.model import state
from workbell.model.audit import AuditEntry
from workbell.model.event import Match, MatchOutcome, Rematch
from workbell.model.ids import new_id
from workbell.model.schedule import ScheduleChange
from workbell.stores.database import Batch, Row
from workbell.stores.pending_entry import PENDING, PendingEntry, pending_entry
from workbell.stores.port import Store
from workbell.testing.contracts.core.scheduling import begin, schedule
from workbell.testing.contracts.making import KEEP, add, after, claimed, request
from workbell.testing.contracts.parts.access import entry, tenant, token
from workbell.testing.contracts.parts.agents import agent
from workbell.testing.contracts.parts.defining import definition
from workbell.testing.contracts.parts.subscribing import endpoint, trigger

Refused = Callable[[Store], Callable[[], object]]


def made_by(name: str) -> Callable[[str], AuditEntry]:
    return lambda made: entry(actor=name, subject=made)


def logged(store: Store) -> list[tuple[str, str]]:
    """Actor and subject of all entries, oldest first."""
    return [(one.actor, one.subject) for one in reversed(store.audit.list(None, before=None, limit=100))]


# Verbs that refuse, each after what is there was made.


def _definition(store: Store) -> Callable[[], object]:
    store.definitions.write(definition(), None)
    return lambda: store.definitions.write(definition(), None)


def _stale_definition(store: Store) -> Callable[[], object]:
    store.definitions.write(known := definition(), None)
    return lambda: store.definitions.write(known, 7)


def _stale_definition_to_delete(store: Store) -> Callable[[], object]:
    store.definitions.write(known := definition(), None)
    return lambda: store.definitions.delete(replace(known, version=7))


def _trigger(store: Store) -> Callable[[], object]:
    store.subscribers.write_trigger(trigger(), None)
    return lambda: store.subscribers.write_trigger(trigger(), None)


def _stale_trigger(store: Store) -> Callable[[], object]:
    store.subscribers.write_trigger(known := trigger(), None)
    return lambda: store.subscribers.write_trigger(known, 7)


def _stale_trigger_to_delete(store: Store) -> Callable[[], object]:
    store.subscribers.write_trigger(known := trigger(), None)
    return lambda: store.subscribers.delete_trigger(known.id, 7)


def _stale_endpoint(store: Store) -> Callable[[], object]:
    store.subscribers.write_endpoint(known := endpoint(), None)
    return lambda: store.subscribers.write_endpoint(known, 7)


def _agent(store: Store) -> Callable[[], object]:
    store.agents.put(agent())
    return lambda: store.agents.put(agent())


def _stale_schedule(store: Store) -> Callable[[], object]:
    [known] = begin(store, schedule())
    return lambda: store.schedules.write([ScheduleChange(schedule=known, expected=7, defines=True)])


def _stale_schedule_to_delete(store: Store) -> Callable[[], object]:
    [known] = begin(store, schedule())
    return lambda: store.schedules.delete(known.id, 7)


def _ended_run(store: Store) -> Callable[[], object]:
    [run] = add(store, request())
    cancel = state.cancel(run, after(1), reason="x", keep=KEEP.other)
    store.runs.apply([cancel])
    return lambda: store.runs.apply([cancel])


def _waiting_run(store: Store) -> Callable[[], object]:
    [run] = add(store, request())
    return lambda: store.runs.request_cancel(run.id, "x")


def _matched_event(store: Store) -> Callable[[], object]:
    new, match = request(), Match(new_id(), new_id(), MatchOutcome.STARTED, after(0), new_id())
    store.events.rematch([Rematch(None, match)])
    return lambda: store.events.rematch([Rematch(new, replace(match, run=new.run.id))])


REFUSED: list[Refused] = [
    _definition,
    _stale_definition,
    _stale_definition_to_delete,
    _trigger,
    _stale_trigger,
    _stale_trigger_to_delete,
    _stale_endpoint,
    _agent,
    _stale_schedule,
    _stale_schedule_to_delete,
    _ended_run,
    _waiting_run,
    _matched_event,
    lambda store: lambda: store.subscribers.delete_endpoint(new_id()),
    lambda store: lambda: store.tenants.delete("unknown"),
    lambda store: lambda: store.agents.delete(new_id()),
    lambda store: lambda: store.workers.drain("unknown", after(0)),
    lambda store: lambda: store.workers.resume("unknown"),
]


def test_what_is_refused_leaves_no_entry_and_the_next_action_takes_it(sql_store: Store) -> None:
    for number, prepare in enumerate(REFUSED):
        act, known = prepare(sql_store), logged(sql_store)
        with pending_entry(made_by("ann")) as pending:
            assert not act(), f"refusal {number}"
            assert not pending.is_over, f"refusal {number}"
            assert logged(sql_store) == known, f"refusal {number}"
            sql_store.tokens.add(one := token())
            assert pending.is_over
        assert logged(sql_store) == [*known, ("ann", one.id)]


def test_it_is_written_with_the_first_of_several_actions(sql_store: Store) -> None:
    with pending_entry(made_by("ann")):
        sql_store.tokens.add(first := token())
        sql_store.tokens.add(token())
        sql_store.tenants.put(tenant())
    assert logged(sql_store) == [("ann", first.id)]


def test_writes_that_are_no_action_leave_it(sql_store: Store) -> None:
    sql_store.tokens.add(known := token())
    with pending_entry(made_by("ann")) as pending:
        sql_store.tokens.see([known.id], after(1))
        sql_store.tokens.redeem(known.hash, after(1))
        sql_store.workers.put(worker_of("send", now=after(0), id="w"))
        assert not pending.is_over
    assert logged(sql_store) == []


def test_a_write_that_seemed_to_fail_is_repeated_under_one_id(
    sql_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    database: Any = sql_store.database  # type: ignore[attr-defined]
    real = database.write

    def lost(batch: Batch, **options: Any) -> list[list[Row]]:
        monkeypatch.undo()
        real(batch, **options)
        raise StoreUnavailable("the answer was lost")

    with pending_entry(made_by("ann")):
        monkeypatch.setattr(database, "write", lost)
        with pytest.raises(StoreUnavailable):
            sql_store.tenants.put(tenant())
        sql_store.tenants.put(tenant())
    assert logged(sql_store) == [("ann", "")]


def test_runs_under_a_key_and_moves_of_many_take_it(sql_store: Store) -> None:
    running = claimed(sql_store)
    with pending_entry(made_by("ann")):
        [keyed] = add(sql_store, request(key="k"))
    runs = add(sql_store, request(), request())
    with pending_entry(made_by("bob")):
        changes = [state.cancel(run, after(1), reason="x", keep=KEEP.other) for run in runs]
        assert sql_store.runs.apply(changes) == {run.id for run in runs}
    with pending_entry(made_by("eve")):
        assert sql_store.runs.request_cancel(running.id, "x")
    assert logged(sql_store) == [("ann", keyed.id), ("bob", ""), ("eve", "")]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_callers_that_share_commits_do_not_share_entries(sql_store: Store, threads: ThreadPoolExecutor) -> None:
    """Half of the callers have an entry; each entry is with its own run, and no other run has one."""
    start = threading.Barrier(8)

    def enqueue(number: int) -> str:
        new = request()
        start.wait(30)
        for _ in range(5):
            sql_store.runs.add([request()])
        if number % 2:
            sql_store.runs.add([new])
            return ""
        with pending_entry(made_by(str(number))):
            sql_store.runs.add([new])
        return new.run.id

    made = list(threads.map(enqueue, range(8)))
    assert sorted(logged(sql_store)) == sorted((str(number), made[number]) for number in range(0, 8, 2))


@pytest.mark.anyio
async def test_tasks_and_threads_have_their_own(sql_store: Store) -> None:
    seen: list[PendingEntry] = []

    async def act(name: str) -> None:
        with pending_entry(made_by(name)) as pending:
            seen.append(pending)
            await asyncio.sleep(0)
            await asyncio.to_thread(sql_store.tenants.put, tenant(name))
        assert PENDING.get() is None

    await asyncio.gather(*(act(f"t{number}") for number in range(5)))
    assert sorted(logged(sql_store)) == [(f"t{number}", "") for number in range(5)]
    assert all(one.is_over for one in seen)


def test_a_copied_context_has_none_after_a_refusal(sql_store: Store) -> None:
    """A task that began during the request, and outlives it, writes for itself."""
    with suppress(LookupError), pending_entry(made_by("ann")):
        copied = copy_context()
        raise LookupError
    copied.run(sql_store.tenants.put, tenant())
    assert logged(sql_store) == []


@pytest.mark.anyio
async def test_a_write_that_outlives_its_canceled_caller_takes_it(sql_store: Store) -> None:
    entered, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def put() -> None:
        loop.call_soon_threadsafe(entered.set)
        assert go_on.wait(30)
        sql_store.tenants.put(tenant())

    writing: list[asyncio.Task[None]] = []

    async def act() -> None:
        with pending_entry(made_by("ann")):
            writing.append(asyncio.create_task(asyncio.to_thread(put)))
            await asyncio.shield(writing[0])

    caller = asyncio.create_task(act())
    await entered.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    go_on.set()
    await writing[0]
    assert logged(sql_store) == [("ann", "")]
