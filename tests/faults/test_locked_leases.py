"""PostgreSQL: rows that somebody has locked hold up no recovery but their own (P7).

A process that is frozen in its booking keeps its locks until it wakes, and a caller's transaction until it ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from workbell.engine.recover import Recover
from workbell.model.run import Run, Status
from workbell.runs.booking import Booking
from workbell.runs.publisher import RunPublisher
from workbell.stores.port import Renewed, Store
from workbell.testing.contracts.making import KEEP, add, after, claim, find, held, request

SOON = 5.0  # seconds; a call that waits for a lock has 15


@pytest.fixture
def other(postgres_url: str) -> Iterator[psycopg.Connection]:
    """A transaction that stays open."""
    with psycopg.connect(postgres_url) as connection:
        yield connection
        connection.rollback()


@pytest.fixture
def recover(postgres_store: Store) -> Recover:
    return Recover(
        postgres_store, Booking(lambda: postgres_store, RunPublisher(lambda: postgres_store), KEEP), lambda _: None, 1
    )


def two(store: Store) -> tuple[Run, Run]:
    add(store, request(), request())
    first, second = claim(store)
    return first, second


def quickly(recover: Recover) -> None:
    began = time.monotonic()
    recover.step(after(31))
    assert time.monotonic() - began < SOON, "it has waited for a lock"


def test_a_booking_that_stands_still(postgres_store: Store, recover: Recover, other: psycopg.Connection) -> None:
    locked, free = two(postgres_store)
    other.execute("SELECT 1 FROM workbell_runs WHERE id = %s FOR UPDATE", [locked.id])
    quickly(recover)
    assert find(postgres_store, free).status is Status.QUEUED
    assert find(postgres_store, locked) == locked
    other.rollback()
    quickly(recover)
    assert find(postgres_store, locked).status is Status.QUEUED


def test_a_booking_that_ends_after_all(postgres_store: Store, recover: Recover, other: psycopg.Connection) -> None:
    """It had the row first: it counts."""
    locked, _ = two(postgres_store)
    until = after(300)
    other.execute("UPDATE workbell_runs SET lease_until = %s WHERE id = %s", [until, locked.id])
    quickly(recover)
    other.commit()
    quickly(recover)
    kept = find(postgres_store, locked)
    assert (kept.status, kept.lease_until) == (Status.RUNNING, until)


def test_a_callers_transaction_over_expired_runs(
    postgres_store: Store, recover: Recover, other: psycopg.Connection
) -> None:
    """As `replace_tag` with `connection=` locks what it replaces."""
    _, lost = two(postgres_store)
    locked, free = add(postgres_store, request(expires_at=after(5)), request(expires_at=after(5)))
    other.execute("DELETE FROM workbell_runs WHERE id = %s", [locked.id])
    quickly(recover)
    quickly(recover)
    assert find(postgres_store, lost).status is Status.QUEUED
    assert (find(postgres_store, free).status, find(postgres_store, free).reason) == (Status.CANCELED, "expired")
    assert find(postgres_store, locked).status is Status.QUEUED
    other.rollback()
    quickly(recover)
    assert find(postgres_store, locked).status is Status.CANCELED


def test_many_locked_rows_do_not_fill_the_batch(
    postgres_store: Store, recover: Recover, other: psycopg.Connection
) -> None:
    add(postgres_store, *[request() for _ in range(600)])
    runs = claim(postgres_store, 600)
    free = runs[-1]
    locked = [run.id for run in runs[:-1]]
    other.execute("SELECT 1 FROM workbell_runs WHERE id = ANY(%s::uuid[]) FOR UPDATE", [locked])
    quickly(recover)
    assert find(postgres_store, free).status is Status.QUEUED
    assert timedelta(0) < after(31) - free.lease_until


def test_a_callers_transaction_over_a_key(postgres_store: Store, recover: Recover, other: psycopg.Connection) -> None:
    """What waits for the key is the run that has it, and nobody else's."""
    _, lost = two(postgres_store)
    expires = {"expires_at": after(5)}
    taken, free, plain = add(
        postgres_store, request(**expires, key="taken"), request(**expires, key="free"), request(**expires)
    )
    other.execute("SELECT 1 FROM workbell_keys WHERE key = 'taken' FOR UPDATE")
    for _ in range(3):
        quickly(recover)
    assert find(postgres_store, lost).status is Status.QUEUED
    assert [find(postgres_store, run).status for run in (free, plain)] == [Status.CANCELED] * 2
    assert find(postgres_store, taken).status is Status.QUEUED
    other.rollback()
    quickly(recover)
    assert find(postgres_store, taken).status is Status.CANCELED


def test_a_renewal_does_not_wait_for_a_locked_row(postgres_store: Store, other: psycopg.Connection) -> None:
    """Else all other leases of the worker would end meanwhile. The locked one is neither renewed nor lost."""
    locked, free = two(postgres_store)
    postgres_store.runs.request_cancel(locked.id, "enough")
    other.execute("SELECT 1 FROM workbell_runs WHERE id = %s FOR UPDATE", [locked.id])
    began = time.monotonic()
    answer = postgres_store.runs.renew([held(locked), held(free)], now=after(5), lease_until=after(35))
    assert time.monotonic() - began < SOON, "it has waited for a lock"
    assert sorted(answer) == sorted(
        [Renewed(locked.id, locked.token, "enough", locked=True), Renewed(free.id, free.token)]
    )
    assert [find(postgres_store, run).lease_until for run in (locked, free)] == [locked.lease_until, after(35)]
    other.rollback()
    (again,) = postgres_store.runs.renew([held(locked)], now=after(6), lease_until=after(36))
    assert (again.locked, find(postgres_store, locked).lease_until) == (False, after(36))
