"""Guards of a claim under limits: what happens between its reading and its writing, and beside other programs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import msgspec
import psycopg
import pytest

from workbell.app import open_store
from workbell.model import state
from workbell.model.limit import Limit, Limits, limits_on
from workbell.model.rate import Rate
from workbell.model.run import Lane, Run, Status
from workbell.stores.database import Batch, Row
from workbell.stores.limits.statements import adding
from workbell.stores.port import Filter, LeaseTerms, Pick, Store
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import add, after, request

LANE = Lane("default", "default", "work", None, None)
THREADS = 8


@contextmanager
def opened(url: str) -> Iterator[SqlStore]:
    store = open_store(url)
    assert isinstance(store, SqlStore)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def store(sql_store_url: str) -> Iterator[SqlStore]:
    with opened(sql_store_url) as store:
        store.check()
        yield store


def take(store: Store, limits: Limits, most: int = 100, *, at: datetime | None = None, worker: str = "w") -> list[Run]:
    now = after(0) if at is None else at
    found = {LANE.id: limits_on(limits, LANE)}
    until = now + timedelta(seconds=30)
    return store.runs.claim([Pick(LANE.id, 0, most)], most, LeaseTerms.drawn(worker, now, until), limits=found)


def running(store: Store) -> list[Run]:
    return store.runs.list(Filter(None, [Status.RUNNING], limit=1000))


def meanwhile(store: SqlStore, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[int]:
    """Do something once, after the next claim has read and before it writes; how many writes were tried."""
    database = store.limits._database
    sound, tries = database.write, []

    def write(batch: Batch, **how: Any) -> list[list[Row]]:
        if any(statement.query == "hold_limits" for statement in batch):
            tries.append(len(batch))
            if len(tries) == 1:
                act()
        return sound(batch, **how)

    monkeypatch.setattr(database, "write", write)
    return tries


class TestBetweenReadingAndWriting:
    def test_a_place_that_another_claim_takes_meanwhile(
        self, store: SqlStore, sql_store_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(store, *[request() for _ in range(9)])
        with opened(sql_store_url) as other:
            tries = meanwhile(store, monkeypatch, lambda: take(other, Limits(concurrency=3), 2, worker="other"))
            assert len(take(store, Limits(concurrency=3))) == 1
        assert len(tries) == 2, "the first was refused"
        assert len(running(store)) == 3

    def test_starts_that_another_claim_notes_meanwhile(
        self, store: SqlStore, sql_store_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(store, *[request() for _ in range(9)])
        with opened(sql_store_url) as other:
            tries = meanwhile(store, monkeypatch, lambda: take(other, Limits(rate="3/m"), 2, worker="other"))
            assert len(take(store, Limits(rate="3/m"))) == 1
        assert len(tries) == 2, "the first was refused"
        assert len(running(store)) == 3

    def test_a_refused_claim_writes_nothing(
        self, store: SqlStore, sql_store_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(store, *[request() for _ in range(9)])
        with opened(sql_store_url) as other:
            tries = meanwhile(store, monkeypatch, lambda: take(other, Limits(concurrency=3), worker="other"))
            assert take(store, Limits(concurrency=3)) == []
        assert len(tries) == 1, "then it is seen that nothing is left"
        assert {run.worker for run in running(store)} == {"other"}


class TestSameMoment:
    """A clock that stands still: what a claim has started is told from what the worker started in another one."""

    def test_two_claims_of_one_worker(self, store: SqlStore) -> None:
        add(store, *[request() for _ in range(9)])
        rate = Limits(rate="5/m")
        assert [len(take(store, rate, most)) for most in (2, 2, 2, 2)] == [2, 2, 1, 0]
        (limit,) = limits_on(rate, LANE)
        assert sum(count for _, count in store.limits.uses([limit])[limit.id].starts) == 5

    def test_one_of_them_ends_meanwhile(self, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """Then fewer are left than were seen, and too few starts would be noted."""
        add(store, *[request() for _ in range(9)])
        rate = Limits(rate="5/m")
        (first,) = take(store, rate, 1)
        ending = state.succeed(first, after(0), result=None, keep=timedelta(days=1))
        tries = meanwhile(store, monkeypatch, lambda: store.runs.apply([ending]))
        assert len(take(store, rate, 2)) == 2
        assert len(tries) == 2
        (limit,) = limits_on(rate, LANE)
        assert sum(count for _, count in store.limits.uses([limit])[limit.id].starts) == 3

    def test_limits_that_two_lanes_share(self, store: SqlStore) -> None:
        add(store, *[request(queue=queue, lane_key=key) for queue in "xy" for key in "ab" for _ in range(3)])
        both = Limits(concurrency=7, rate="4/m", rate_key="customer")
        heads = store.runs.survey(-1, 100)
        limits = {head.lane_id: limits_on(both, head.lane) for head in heads}
        picks = [Pick(head.lane_id, head.rank, 3) for head in heads]
        terms = LeaseTerms.drawn("w", after(0), after(30))
        assert [len(store.runs.claim(picks, 100, terms, limits)) for _ in range(2)] == [7, 0]
        every = {limit for listed in limits.values() for limit in listed if limit.rate is not None}
        noted = [sum(count for _, count in use.starts) for use in store.limits.uses(list(every)).values()]
        assert sorted(noted) == [3, 4]


@pytest.mark.parametrize("limits", [Limits(concurrency=5), Limits(rate="5/m")], ids=["concurrency", "rate"])
def test_many_claims_at_once(store: SqlStore, sql_store_url: str, limits: Limits) -> None:
    """Each with a store of its own, all at the same moment: the limit is reached, and not exceeded."""
    add(store, *[request() for _ in range(60)])
    together(sql_store_url, lambda other, name: take(other, limits, 2, worker=name))
    while take(store, limits, 1, worker="last"):  # those who met too often have left places
        pass
    assert len(running(store)) == 5


def together(url: str, claim: Callable[[SqlStore, str], object], others: Sequence[Callable[[], object]] = ()) -> None:
    gate, errors = threading.Barrier(THREADS + len(others)), []

    def work(name: str) -> None:
        try:
            with opened(url) as store:
                store.check()
                gate.wait(30)
                for _ in range(4):
                    claim(store, name)
        except BaseException as error:
            errors.append(error)

    def beside(act: Callable[[], object]) -> None:
        try:
            gate.wait(30)
            act()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[f"w{number}"]) for number in range(THREADS)]
    threads += [threading.Thread(target=beside, args=[act]) for act in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


# A consumer in another language may do it so, on PostgreSQL: one transaction that locks, counts, claims and notes.
LOCK = "SELECT starts FROM workbell_limits WHERE id = %s FOR UPDATE SKIP LOCKED"
COUNT = "SELECT count(*) FROM workbell_runs WHERE status = 'running' AND lane = %s"
CLAIM = """
    UPDATE workbell_runs SET status = 'running', token = 7, attempt = attempt + 1, worker = 'other',
        lease_until = %(until)s, started_at = %(now)s, updated_at = %(now)s
    WHERE id = ANY(ARRAY(SELECT id FROM workbell_runs WHERE status = 'queued' AND lane = %(lane)s
        ORDER BY scheduled_for, id LIMIT %(quota)s FOR UPDATE SKIP LOCKED)) RETURNING id
"""
NOTE = "UPDATE workbell_limits SET starts = %s, updated_at = %s WHERE id = %s"


def claim_under_locks(url: str, limit: Limit, rounds: int) -> None:
    now = after(0)
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        for _ in range(rounds):
            with connection.transaction():
                locked = connection.execute(LOCK, [limit.id]).fetchone()
                if locked is None:
                    continue
                starts = msgspec.json.decode(locked[0], type=list[tuple[int, int]])
                room = 2 if limit.rate is None else limit.rate.allowed(starts, now)
                counted = connection.execute(COUNT, [LANE.id]).fetchone()
                assert counted is not None
                if limit.concurrency is not None:
                    room = min(room, limit.concurrency - counted[0])
                values = {"lane": LANE.id, "quota": max(min(room, 2), 0), "now": now, "until": after(30)}
                taken = connection.execute(CLAIM, values).fetchall()
                if limit.rate is not None and taken:
                    noted = msgspec.json.encode(limit.rate.with_starts(starts, now, len(taken))).decode()
                    connection.execute(NOTE, [noted, now, limit.id])


@pytest.mark.parametrize("limits", [Limits(concurrency=20), Limits(rate="20/m")], ids=["concurrency", "rate"])
def test_beside_consumers_that_lock(postgres_url: str, limits: Limits) -> None:
    (limit,) = limits_on(limits, LANE)
    with opened(postgres_url) as store:
        store.check()
        add(store, *[request() for _ in range(90)])
        assert len(take(store, limits, 1)) == 1  # the row of the limit is made
        others = [lambda: claim_under_locks(postgres_url, limit, 6)] * 3
        together(postgres_url, lambda other, name: take(other, limits, 2, worker=name), others)
        while take(store, limits, 1, worker="last"):
            pass
        claim_under_locks(postgres_url, limit, 3)
        assert len(running(store)) == 20
        if limit.rate is not None:
            assert sum(count for _, count in store.limits.uses([limit])[limit.id].starts) == 20


@pytest.mark.parametrize("limits", [Limits(concurrency=3), Limits(rate="3/m")], ids=["concurrency", "rate"])
def test_a_consumer_that_locks_claims_meanwhile(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    (limit,) = limits_on(limits, LANE)
    with opened(postgres_url) as store:
        store.check()
        add(store, *[request() for _ in range(9)])
        store.limits._database.write([adding([limit], after(0))])  # it locks the row, so there must be one
        tries = meanwhile(store, monkeypatch, lambda: claim_under_locks(postgres_url, limit, 1))
        assert len(take(store, limits)) == 1
        assert len(tries) == 2, "the first was refused"
        assert sorted(str(run.worker) for run in running(store)) == ["other", "other", "w"]


def test_what_has_no_limit_is_claimed_beside_one_that_is_never_free(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are always quicker: then what the limit is not about is not held up by it."""
    add(store, *[request() for _ in range(3)], request("free"))
    heads = store.runs.survey(-1, 10)
    limits = {LANE.id: [Limit("default", "work", False, None, None, Rate.parse("3/m"))]}
    database = store.limits._database
    sound = database.read

    def read(batch: Batch) -> list[list[Row]]:
        answers = sound(batch)
        for statement, found in zip(batch, answers, strict=True):
            if statement.query in ("limit_starts", "free_limits"):
                found[:] = [(limits[LANE.id][0].id, "[[1,1]]")]
        return answers

    monkeypatch.setattr(database, "read", read)
    picks = [Pick(head.lane_id, head.rank, 9) for head in heads]
    found = store.runs.claim(picks, 9, LeaseTerms.drawn("w", after(0), after(30)), limits=limits)
    assert [run.job for run in found] == ["free"]
