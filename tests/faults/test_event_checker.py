"""The checker of fan-outs is itself tested: faults are planted in the code, and each must be caught."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.event_scheduling import emit, found, look, scheduler
from tests.support.event_triggers import add_fifty, type_of
from workbell.engine.match_events import MatchEvents
from workbell.errors import StoreError
from workbell.events.fan_out import Destination, fan_out
from workbell.events.subscriptions import Subscriptions
from workbell.model.event import Event, FannedOut
from workbell.model.run import Lane
from workbell.model.run_defaults import NO_DEFAULTS, Maker
from workbell.stores.database import Row, Statement
from workbell.stores.port import Store
from workbell.stores.postgres.dialect import QUERIES as POSTGRES_QUERIES
from workbell.stores.sql_store import SqlStore
from workbell.stores.sqlite.dialect import QUERIES as SQLITE_QUERIES

QUERIES = {"sqlite": SQLITE_QUERIES, "postgres": POSTGRES_QUERIES}
LEDGER = {"sqlite": "add_matches", "postgres": "add_taken_matches"}
FANNING = {"take_events", "add_runs", "add_taken_runs"}
LANE = Lane("default", "default", "hear")
DESTINATION, MAKER = Destination(LANE, NO_DEFAULTS), Maker("host/1/0")


class Killed(BaseException):
    """The process ends here."""


class TestGuard:
    """Two schedulers have read the same events, and one of them is late."""

    def both_decide(self, store: Store) -> tuple[MatchEvents, dict[str, set[str]]]:
        """The late one; what the other has decided is written."""
        hearers = add_fifty(store)
        emit(store, 1, 2, 3)
        late = scheduler(store)
        read = store.events.waiting(9)
        look(store)
        store.events.waiting = lambda limit: read  # type: ignore[method-assign]
        return late, hearers

    def test_sound(self, store: Store) -> None:
        late, hearers = self.both_decide(store)
        late.fan_out_waiting(store.clock.now())
        assert found(store, hearers) == set()

    @pytest.mark.parametrize("engine", ["sqlite", "postgres"])
    def test_sql_without_its_guard(self, engine: str, request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """The ledger's own key is a second wall; without that one too, there are two runs."""
        queries = QUERIES[engine]
        store: Store = request.getfixturevalue(f"{engine}_store")
        late, hearers = self.both_decide(store)
        take, cut = re.subn(r"AND (e\.)?fanned_out_at IS NULL", "", queries["take_events"])
        assert cut
        assert "fanned_out_at IS NULL" not in take
        monkeypatch.setitem(queries, "take_events", take)
        now = store.clock.now()
        decided = [_decided(store, event) for event in store.events.waiting(9)]
        with pytest.raises(StoreError):
            store.events.fan_out(decided, now)
        assert found(store, hearers) == set()
        ledger = LEDGER[engine]
        ways = " ON CONFLICT DO NOTHING" if engine == "postgres" else " WHERE true ON CONFLICT DO NOTHING"
        monkeypatch.setitem(queries, ledger, queries[ledger].rstrip() + ways)
        late.fan_out_waiting(now)
        assert "run twice" in found(store, hearers)


class TestLedger:
    @pytest.mark.parametrize("first", ["taken", "runs"])
    def test_not_in_one_transaction(self, sql_store: SqlStore, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
        """A death between two transactions: what was taken is lost, and what was only begun is done twice."""
        hearers = add_fifty(sql_store)
        emit(sql_store, 1, 2, 3)
        sound = sql_store.database.write

        def write(batch: Sequence[Statement], **options: Any) -> list[list[Row]]:
            """Each statement is committed by itself."""
            answers = []
            for statement in batch:
                if first == "taken" or statement.query not in FANNING:
                    answers += sound([statement], **options)
                if first == "taken" and statement.query == "take_events":
                    raise Killed
                if first == "runs" and statement.query in ("add_runs", "add_taken_runs"):
                    sound([statement._replace(query="add_runs")], **options)
                    raise Killed
            return answers

        with monkeypatch.context() as patched:
            patched.setattr(sql_store.database, "write", write)
            with pytest.raises(Killed):
                look(sql_store)
        look(sql_store)
        wanted = {"no row", "no run"} if first == "taken" else {"run twice"}
        assert found(sql_store, hearers) == wanted

    def test_an_event_that_was_not_looked_at(self, store: Store) -> None:
        hearers = add_fifty(store)
        emit(store, 1)
        assert found(store, hearers) == {"waiting", "no row", "no run"}

    def test_a_trigger_that_hears_nothing_of_it(self, store: Store) -> None:
        hearers = add_fifty(store)
        emit(store, 1)
        look(store)
        hearers[type_of(1)].pop()
        assert found(store, hearers) == {"row too many", "run too many"}


def _decided(store: Store, event: Event) -> FannedOut:
    return fan_out(
        event, Subscriptions(lambda: store).current().match(event), store.clock.now(), lambda _: DESTINATION, MAKER
    )
