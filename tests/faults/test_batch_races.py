"""Two writers of the same rows on PostgreSQL: of two batches that exclude each other one is written whole, the other
not at all.

The first stands still in the middle of its transaction until the second waits for it, or is done without it. Nothing
depends on time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
import psycopg
import pytest

from tests.support.statements import watch_statements
from tests.support.waiting import until
from workbell.errors import DuplicateRun, KeyReused, StoreUnavailable
from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.request import asked_once
from workbell.model.run import LIVE, Added, IdempotencyKey, NewRun, Run, Status
from workbell.model.schedule import Schedule, ScheduleChange
from workbell.stores.database import Row
from workbell.stores.port import Filter
from workbell.stores.postgres.store import PostgresStore
from workbell.testing.contracts.core.choosing import chosen
from workbell.testing.contracts.core.scheduling import (
    begin,
    fire,
    ledger,
    lost_for_good,
    run_of,
    runs_of,
    schedule,
    stored,
)
from workbell.testing.contracts.making import KEEP, add, after, claim, find, request
from workbell.testing.contracts.parts.events import fact

T = TypeVar("T")
replace = msgspec.structs.replace
WAITING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
OPEN = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'workbell' AND state = 'idle in transaction'"""
STANDS_STILL = 30.0  # seconds, should a test fail
LOCK = 20.0  # seconds: as long as a writer of keys and tags waits at most; longer than any of these


class Race:
    """Two stores on one database, each with its own thread. What is written in the first can be stopped."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.first, self.second = PostgresStore(url), PostgresStore(url)
        self.first.check()
        self.looking = psycopg.connect(url, autocommit=True)
        self._threads = [ThreadPoolExecutor(1, thread_name_prefix=name) for name in ("first", "second")]
        self._stops_at = ""
        self._reached, self._go = threading.Event(), threading.Event()
        watch_statements(self._seen, monkeypatch.setattr)

    def _seen(self, query: str, _found: Sequence[Row]) -> None:
        if query == self._stops_at and threading.current_thread().name.startswith("first"):
            self._stops_at = ""
            self._reached.set()
            self._go.wait(STANDS_STILL)

    def stop_after(self, query: str, work: Callable[[], T]) -> Future[T]:
        """Begin the first writer's work; it stands still behind a statement, with its transaction open."""
        self._stops_at = query
        begun = self._threads[0].submit(work)
        until(lambda: self._reached.is_set() or begun.done(), f"the first to come to {query}")
        assert self._reached.is_set(), f"{query} was not executed: {begun.result()}"
        return begun

    def follow(self, work: Callable[[], T]) -> Future[T]:
        """Begin the second writer's work, until it waits for the first, or is over."""
        begun = self._threads[1].submit(work)
        until(lambda: begun.done() or self._is_waiting(), "the second to meet the first")
        return begun

    def _is_waiting(self) -> bool:
        return bool(self.looking.execute(WAITING).fetchall())

    def go_on(self) -> None:
        self._go.set()

    def end_first(self) -> None:
        """The server ends what the first has begun."""
        assert self.looking.execute(OPEN).fetchall() == [(True,)]
        self._go.set()

    def close(self) -> None:
        self._go.set()
        for thread in self._threads:
            thread.shutdown()
        self.looking.close()
        self.first.close()
        self.second.close()


@pytest.fixture
def race(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Race]:
    race = Race(postgres_url, monkeypatch)
    yield race
    race.close()


def held_keys(store: PostgresStore) -> dict[str, str]:
    """Who holds which key."""
    return {key[1]: key[2] for batch in store.export() for key in batch.keys}


def told_in(store: PostgresStore) -> list[str | None]:
    return [event.key for event in store.events.list("default", type=None, before=None, limit=100)]


def waiting_runs(store: PostgresStore) -> list[Run]:
    return store.runs.list(Filter(None, status=LIVE, limit=100))


class TestCancelAgainstChain:
    def test_no_run_follows_one_whose_cancel_was_accepted(self, race: Race) -> None:
        """B8: the end of a run that is made again is written while its cancel is asked for."""
        add(race.first, request())
        (run,) = claim(race.first)
        again = request(rescheduled_from=run.id)
        failed = state.fail(run, after(1), error="E", reason="error", keep=KEEP.other, then=(again,))
        one = race.stop_after("asked_to_end", lambda: race.first.runs.apply([failed]))
        other = race.follow(lambda: race.second.runs.request_cancel(run.id, "enough"))
        race.go_on()
        assert one.result() == {run.id}
        assert (other.result(), [each.id for each in waiting_runs(race.first)]) == (False, [again.run.id])


class TestFinishAgainstLose:
    """D6: a worker books its run while a sweep takes it for lost for the third time."""

    @pytest.mark.parametrize("winner", ["worker", "sweep"])
    def test_one_of_them_happens_with_all_that_rides_on_it(self, race: Race, winner: str) -> None:
        (of,) = begin(race.first, schedule())
        add(race.first, run_of(of, key="k"))
        (run,) = claim(race.first)
        (lost,) = lost_for_good(race.first, run)
        now = find(race.first, run)
        well = state.succeed(now, after(300), result="1", keep=KEEP.succeeded)
        ends = {
            "worker": replace(well, emits=(fact(key="worker"),), then=(request("next", at=300, tag="worker"),)),
            "sweep": replace(lost, emits=(fact(key="sweep"),), then=(request("next", at=300, tag="sweep"),)),
        }
        loser = "sweep" if winner == "worker" else "worker"
        query = "finish_well" if winner == "worker" else "finish"
        one = race.stop_after(query, lambda: race.first.runs.apply([ends[winner]]))
        other = race.follow(lambda: race.second.runs.apply([ends[loser]]))
        assert not other.done(), "it waits for the row"
        race.go_on()
        assert one.result() == {run.id}
        assert other.result() == set()
        assert find(race.first, run).status is ends[winner].status
        assert told_in(race.first) == [winner]
        assert [each.tag for each in waiting_runs(race.first)] == [winner]
        known = stored(race.first, of)
        assert (known.last_run_status, known.failed_runs) == (("success", 0) if winner == "worker" else ("failed", 1))
        assert held_keys(race.first) == {}

    def test_the_key_is_not_freed_again(self, race: Race) -> None:
        """Between the end of a run and a second, belated end of it, another run has taken the key."""
        add(race.first, request(key="k"))
        (run,) = claim(race.first)
        ends = [state.succeed(run, after(at), result="1", keep=KEEP.succeeded) for at in (1, 2)]
        one = race.stop_after("finish_well", lambda: race.first.runs.apply(ends[:1]))
        other = race.follow(lambda: race.second.runs.apply(ends[1:]))
        race.go_on()
        assert (one.result(), other.result()) == ({run.id}, set())
        (later,) = add(race.first, request(key="k", at=3))
        assert race.second.runs.apply(ends[1:]) == set()
        assert held_keys(race.first) == {"k": later.id}


class TestAdvanceAgainstDefine:
    """A scheduler fires a schedule while somebody changes its definition."""

    def define(self, of: Schedule) -> ScheduleChange:
        new = replace(of, expression="0 3 * * *", updated_at=after(30))
        return ScheduleChange(schedule=new, expected=of.version, defines=True, emits=(fact(key="defined"),))

    def advance(self, of: Schedule, *, alone: bool) -> ScheduleChange:
        """`alone`: something is told of it, so that it has a write of its own."""
        return fire(of, 60, emits=(fact(key="fired"),) if alone else ())

    @pytest.mark.parametrize("alone", [False, True])
    def test_the_scheduler_is_first(self, race: Race, alone: bool) -> None:
        (of,) = begin(race.first, schedule())
        change = self.advance(of, alone=alone)
        one = race.stop_after("advance", lambda: race.first.schedules.write([change]))
        other = race.follow(lambda: race.second.schedules.write([self.define(of)]))
        assert not other.done(), "it waits for the row"
        race.go_on()
        assert (one.result(), other.result()) == ({of.id}, set())
        assert stored(race.first, of).expression == of.expression
        assert [tick.due for tick in ledger(race.first, of)] == [after(60)]
        assert len(runs_of(race.first, of)) == 1
        assert told_in(race.first) == (["fired"] if alone else [])

    @pytest.mark.parametrize("alone", [False, True])
    def test_the_definition_is_first(self, race: Race, alone: bool) -> None:
        (of,) = begin(race.first, schedule())
        change = self.advance(of, alone=alone)
        one = race.stop_after("define_schedule", lambda: race.first.schedules.write([self.define(of)]))
        other = race.follow(lambda: race.second.schedules.write([change]))
        assert other.result() == set(), "a locked schedule is passed over"
        race.go_on()
        assert one.result() == {of.id}
        assert race.second.schedules.write([change]) == set(), "what it was decided on is over"
        assert stored(race.first, of).expression == "0 3 * * *"
        assert ledger(race.first, of) == []
        assert runs_of(race.first, of) == []
        assert told_in(race.first) == ["defined"]


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_frozen_scheduler_holds_up_only_what_it_has_locked(race: Race, goes_on: bool) -> None:
    """P7, P10: another fires the rest at once; nothing is fired twice, nor lost, when the first goes on or is ended."""
    known = begin(race.first, *[schedule(f"s{number}") for number in range(12)])
    half, rest = known[:6], known[6:]
    one = race.stop_after("advance", lambda: race.first.schedules.write([fire(of, 60) for of in half]))
    other = race.follow(lambda: race.second.schedules.write([fire(of, 60) for of in known]))
    assert other.result() == {of.id for of in rest}
    assert {len(ledger(race.second, of)) for of in rest} == {1}
    assert {len(runs_of(race.second, of)) for of in rest} == {1}
    assert [len(ledger(race.second, of)) + len(runs_of(race.second, of)) for of in half] == [0] * len(half)
    if goes_on:
        race.go_on()
        assert one.result() == {of.id for of in half}
    else:
        race.end_first()
        with pytest.raises(StoreUnavailable):
            one.result()
    again = race.second.schedules.write([fire(of, 60) for of in known])
    assert again == (set() if goes_on else {of.id for of in half})
    assert {len(ledger(race.second, of)) for of in known} == {1}
    assert {len(runs_of(race.second, of)) for of in known} == {1}


class TestReplacers:
    """B5: two callers replace what waits at the same moment: one waiting run is left, the later one's."""

    def replaced(self, race: Race, stop: str, new: list[NewRun]) -> tuple[Run, Run]:
        """The runs of the first and of the second, whose looks are both over before either writes."""
        one = race.stop_after(stop, lambda: race.first.runs.making._write(new[:1], LOCK))
        other = race.follow(lambda: race.second.runs.making._write(new[1:], LOCK))
        assert not other.done(), "it waits for the first"
        race.go_on()
        for done, wanted in zip((one, other), new, strict=True):
            assert done.result() == [Added(wanted.run.id, True)]
        return find(race.first, new[0].run.id), find(race.first, new[1].run.id)

    @pytest.mark.parametrize("waits_before", [False, True])
    def test_of_one_tag(self, race: Race, waits_before: bool) -> None:
        before = add(race.first, request(tag="t")) if waits_before else []
        new = [request(tag="t", at=at, replace_tag=True) for at in (1, 2)]
        early, late = self.replaced(race, "others_of_tag", new)
        assert (early.status, late.status) == (Status.CANCELED, Status.QUEUED)
        assert [run.id for run in waiting_runs(race.first)] == [late.id]
        for run in before:
            assert early.id in str(find(race.first, run).reason), "ended by the first, and only once"

    @pytest.mark.parametrize("waits_before", [False, True])
    def test_of_one_key(self, race: Race, waits_before: bool) -> None:
        before = add(race.first, request(key="k")) if waits_before else []
        new = [request(key="k", at=at, on_duplicate="replace") for at in (1, 2)]
        early, late = self.replaced(race, "pass_key" if waits_before else "take_key", new)
        assert (early.status, late.status) == (Status.CANCELED, Status.QUEUED)
        assert [run.id for run in waiting_runs(race.first)] == [late.id]
        assert held_keys(race.first) == {"k": late.id}
        for run in before:
            assert early.id in str(find(race.first, run).reason), "ended by the first, and only once"


class TestDuplicates:
    """Two callers ask for one key at the same moment."""

    def asked(self, race: Race, new: list[NewRun]) -> tuple[Future[list[Added]], Future[list[Added]]]:
        one = race.stop_after("take_key", lambda: race.first.runs.making._write(new[:1], LOCK))
        other = race.follow(lambda: race.second.runs.making._write(new[1:], LOCK))
        assert not other.done(), "it waits for the first"
        return one, other

    def test_the_second_is_rejected(self, race: Race) -> None:
        new = [request(key="k", on_duplicate="reject") for _ in range(2)]
        one, other = self.asked(race, new)
        race.go_on()
        assert one.result() == [Added(new[0].run.id, True)]
        with pytest.raises(DuplicateRun) as caught:
            other.result()
        assert caught.value.run_id == new[0].run.id
        assert [run.id for run in waiting_runs(race.first)] == [new[0].run.id]

    def test_the_second_has_it_if_the_first_is_ended(self, race: Race) -> None:
        new = [request(key="k", on_duplicate="reject") for _ in range(2)]
        one, other = self.asked(race, new)
        race.end_first()
        with pytest.raises(StoreUnavailable):
            one.result()
        assert other.result() == [Added(new[1].run.id, True)]
        assert held_keys(race.first) == {"k": new[1].run.id}

    @pytest.mark.parametrize("same", [True, False])
    def test_http_requests_under_one_key(self, race: Race, same: bool) -> None:
        """S6: the same request has the first one's run for an answer, another one is refused."""
        new = [of_request("one"), of_request("one" if same else "two")]
        one, other = self.asked(race, new)
        race.go_on()
        assert one.result() == [Added(new[0].run.id, True)]
        if same:
            assert other.result() == [Added(new[0].run.id, False)]
        else:
            with pytest.raises(KeyReused):
                other.result()
        assert [run.id for run in waiting_runs(race.first)] == [new[0].run.id]


class TestChosenIds:
    """S6: a request under an id that its client has chosen comes again at the same moment."""

    def twice(self, race: Race) -> tuple[str, Future[list[Added]], Future[list[Added]]]:
        run_id = new_id()
        one = race.stop_after("finished_of", lambda: race.first.runs.add([chosen(run_id)]))
        other = race.follow(lambda: race.second.runs.add([chosen(run_id)]))
        assert not other.done(), "it waits for the first"
        return run_id, one, other

    def test_the_second_has_the_run_of_the_first(self, race: Race) -> None:
        run_id, one, other = self.twice(race)
        race.go_on()
        assert one.result() == [Added(run_id, True)]
        assert other.result() == [Added(run_id, False)]
        assert [run.id for run in waiting_runs(race.first)] == [run_id]
        assert held_keys(race.first) == {}

    def test_the_second_makes_it_if_the_first_is_ended(self, race: Race) -> None:
        run_id, one, other = self.twice(race)
        race.end_first()
        with pytest.raises(StoreUnavailable):
            one.result()
        assert other.result() == [Added(run_id, True)]
        assert [run.id for run in waiting_runs(race.first)] == [run_id]

    def test_the_run_ends_meanwhile(self, race: Race) -> None:
        """It is gone from the live runs when the insert goes on, and the guard finds it in history."""
        run_id = new_id()
        add(race.first, chosen(run_id))
        (run,) = claim(race.first)
        well = state.succeed(run, after(1), result="1", keep=KEEP.succeeded)
        followed = replace(well, then=(request("next", at=1),))
        one = race.stop_after("finish_well", lambda: race.first.runs.apply([followed]))
        other = race.follow(lambda: race.second.runs.add([chosen(run_id, at=2)]))
        assert not other.done(), "it waits for the row"
        race.go_on()
        assert one.result() == {run_id}
        assert other.result() == [Added(run_id, False)]
        assert [each.job for each in waiting_runs(race.first)] == ["next"]
        assert find(race.first, run_id).status is Status.SUCCEEDED


def of_request(fingerprint: str) -> NewRun:
    return asked_once(request(key="k", key_for=60), IdempotencyKey("k", fingerprint))


class TestCallersTransaction:
    """A guard says no inside a transaction of the caller's: what the caller wrote stays, and nothing of ours does."""

    @pytest.fixture
    def own(self, postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(postgres_url) as connection:
            connection.execute("CREATE TABLE orders (number integer)")
            connection.commit()
            connection.execute("INSERT INTO orders VALUES (1)")
            yield connection

    def orders(self, race: Race) -> list[int]:
        return [row[0] for row in race.looking.execute("SELECT number FROM orders ORDER BY number")]

    def test_a_duplicate_is_refused(self, race: Race, own: psycopg.Connection[Any]) -> None:
        """The first of the two runs is in the batch before the guard: it must not be made without the other."""
        (holder,) = add(race.first, request(key="k"))
        new = [request(), request(key="k", on_duplicate="reject")]
        with pytest.raises(DuplicateRun):
            race.second.runs.add_on(own, new)
        own.execute("INSERT INTO orders VALUES (2)")
        own.commit()
        assert self.orders(race) == [1, 2]
        assert [run.id for run in waiting_runs(race.first)] == [holder.id]
        assert held_keys(race.first) == {"k": holder.id}

    @pytest.mark.parametrize("commits", [True, False])
    def test_another_replaces_the_tag_meanwhile(self, race: Race, own: psycopg.Connection[Any], commits: bool) -> None:
        """Its first try is taken back, and the second one is all there is."""
        early, late = (request(tag="t", at=at, replace_tag=True) for at in (1, 2))
        one = race.stop_after("others_of_tag", lambda: race.first.runs.making._write([early], LOCK))
        other = race.follow(lambda: race.second.runs.add_on(own, [late]))
        assert not other.done(), "it waits for the first"
        race.go_on()
        assert one.result() == [Added(early.run.id, True)]
        assert other.result() == [Added(late.run.id, True)]
        (own.commit if commits else own.rollback)()
        left = late if commits else early
        assert [run.id for run in waiting_runs(race.first)] == [left.run.id]
        assert self.orders(race) == ([1] if commits else [])
        every = race.looking.execute(
            "SELECT id FROM workbell_runs UNION ALL SELECT id FROM workbell_history"
        ).fetchall()
        wanted = [early.run.id, late.run.id] if commits else [early.run.id]
        assert sorted(str(row[0]) for row in every) == wanted, "each is there once, live or ended"
