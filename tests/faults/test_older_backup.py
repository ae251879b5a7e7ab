"""An older backup is put into place under two workers: no result is booked under another's lease (P4, P5).

The first worker claimed a run after the backup was made. The restored store knows nothing of that, and the second
worker claims the same run, as the same attempt. Only the token tells the two leases apart.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from tests.support.postgres import PostgresServer, database_name
from workbell import Workbell
from workbell.app import open_store
from workbell.claims.claiming import Claimant, FairClaims
from workbell.model import state
from workbell.model.ids import new_lease_token
from workbell.model.log_line import LogLine
from workbell.model.run import Attempt, AttemptStatus, Run, Status
from workbell.model.state import Retention
from workbell.stores.port import Held, Store

LEASE = timedelta(seconds=30)
KEEP = Retention()


class Place(Protocol):
    """Where the store is. While it is copied or replaced nobody has it open."""

    url: str

    def back_up(self) -> None: ...

    def restore(self) -> None: ...


class SqlitePlace:
    def __init__(self, url: str) -> None:
        self.url = url
        self._path = Path(url.removeprefix("sqlite:///"))
        self._copy = self._path.with_suffix(".backup")

    def back_up(self) -> None:
        source, copy = sqlite3.connect(self._path), sqlite3.connect(self._copy)
        source.backup(copy)
        source.close()
        copy.close()

    def restore(self) -> None:
        for left in ("-wal", "-shm"):
            Path(f"{self._path}{left}").unlink(missing_ok=True)
        restored = Path(f"{self._path}.restored")
        shutil.copy(self._copy, restored)
        restored.replace(self._path)


class PostgresPlace:
    def __init__(self, server: PostgresServer, url: str) -> None:
        self.url = url
        self._server = server
        self._copy = ""

    def back_up(self) -> None:
        self._copy = self._server.create_database(template=self.url)

    def restore(self) -> None:
        self._server.drop_database(self.url)
        self._server.create_database(template=self._copy, name=database_name(self.url))

    def remove(self) -> None:
        for url in (self.url, self._copy):
            if url:
                self._server.drop_database(url)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    if request.param == "sqlite":
        yield SqlitePlace(request.getfixturevalue("sqlite_url"))
        return
    server = request.getfixturevalue("postgres_server")
    place = PostgresPlace(server, server.create_database())
    yield place
    place.remove()


class Found(NamedTuple):
    """The two leases, the writes of the first worker that the restored store took, and how the run ended."""

    first: Run
    second: Run
    taken: set[str]
    ended: Run
    attempts: list[Attempt]


def restored_under_two_workers(place: Place, source: Callable[[], Callable[[], int]]) -> Found:
    """`source` makes the source of tokens of one process."""
    made = enqueued(place)
    place.back_up()
    first = claimed(place, "first", source())
    place.restore()
    second = claimed(place, "second", source())
    store = open_store(place.url)
    try:
        taken = set(writes_of(store, first))
        store.runs.apply([end(store, second)])
        ended = store.runs.find([made.id])[made.id]
        return Found(first, second, taken, ended, store.runs.attempts(made.id))
    finally:
        store.close()


def enqueued(place: Place) -> Run:
    with Workbell(place.url) as bell:
        bell.job(name="work")(lambda: None)
        return bell.enqueue("work")


def claimed(place: Place, worker: str, draw: Callable[[], int]) -> Run:
    """Claim the run in a store that is opened for this and closed again."""
    store = open_store(place.url)
    try:
        claimant = Claimant(worker, LEASE, lambda _lane: True, draw_token=draw)
        (run,) = FairClaims(store).claim(claimant, 1, store.clock.now())
        return run
    finally:
        store.close()


def writes_of(store: Store, run: Run) -> Iterator[str]:
    """All writes about a run that its worker makes; those that were taken."""
    held, now = Held(run.id, run.token), store.clock.now()
    if store.runs.renew([held], now=now, lease_until=now + LEASE):
        yield "renew"
    if store.runs.set_progress(held, '{"done":1}'):
        yield "progress"
    if store.logs.add([(run.token, LogLine(run.id, run.attempt, 0, now, "INFO", "hello"))]):
        yield "log"
    if store.runs.apply([end(store, run)]):
        yield "finish"


def end(store: Store, run: Run) -> state.Transition:
    return state.succeed(run, store.clock.now(), result=f'"{run.worker}"', keep=KEEP.succeeded)


def test_the_first_workers_writes_are_refused_and_the_seconds_are_booked(place: Place) -> None:
    found = restored_under_two_workers(place, lambda: new_lease_token)
    assert found.first.id == found.second.id
    assert found.first.attempt == found.second.attempt == 1
    assert found.first.token != found.second.token
    assert found.taken == set()
    assert (found.ended.status, found.ended.worker, found.ended.result) == (Status.SUCCEEDED, "second", "second")
    assert (found.ended.token, found.attempts) == (found.second.token, [])


def test_a_counter_is_found_out(place: Place) -> None:
    """The planted fault: it begins again with the store, and the first worker's result is booked as the second's."""
    found = restored_under_two_workers(place, lambda: count(1).__next__)
    assert found.first.token == found.second.token
    assert found.taken == {"renew", "progress", "log", "finish"}
    assert (found.ended.worker, found.ended.result) == ("second", "first")


def test_an_attempt_that_ended_before_the_restore_is_not_known_afterwards(place: Place) -> None:
    """The tokens of both attempts are on record: of the ended one in its own row, of the last one with the run."""
    made = enqueued(place)
    lost = claimed(place, "lost", new_lease_token)
    store = open_store(place.url)
    assert store.runs.apply([state.lose(lost, store.clock.now(), keep=KEEP.other)])
    store.close()
    place.back_up()
    first = claimed(place, "first", new_lease_token)
    place.restore()
    second = claimed(place, "second", new_lease_token)
    store = open_store(place.url)
    assert set(writes_of(store, first)) == set()
    assert set(writes_of(store, lost)) == set()
    assert set(writes_of(store, second)) == {"renew", "progress", "log", "finish"}
    assert [(one.status, one.token) for one in store.runs.attempts(made.id)] == [(AttemptStatus.LOST, lost.token)]
    assert store.runs.find([made.id])[made.id].token == second.token
    assert len({lost.token, first.token, second.token}) == 3
    store.close()
