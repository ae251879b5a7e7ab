"""The checker is itself tested: faults are planted in the code, and each must be caught.

Every scenario runs twice: as the code is, where the checker must find nothing, and with the fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.support.checker import Violation, check
from tests.support.recorder import Recorder, read
from workbell import Context, Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.engine.consume import Consume
from workbell.engine.recover import Recover
from workbell.engine.work import Work
from workbell.model import state
from workbell.model.ids import new_id, new_lease_token
from workbell.model.run import Added, Lane, NewRun, Run, Status
from workbell.model.schedule import Schedule, ScheduleKind, Tick, TickOutcome
from workbell.model.state import Retention
from workbell.runs.booking import Booking
from workbell.runs.publisher import RunPublisher
from workbell.stores.database import Row, Statement
from workbell.stores.port import Store
from workbell.stores.postgres.dialect import QUERIES as POSTGRES_QUERIES
from workbell.stores.sqlite.dialect import QUERIES as SQLITE_QUERIES
from workbell.stores.sqlite.dialect import QUIETLY
from workbell.stores.sqlite.store import SqliteStore
from workbell.stores.store_page import StorePage

LEASE = timedelta(seconds=30)
KEEP = Retention()
QUERIES = {"sqlite": SQLITE_QUERIES, "postgres": POSTGRES_QUERIES}
# The statements that end a run, with the guards on its token, and what is left of them without.
GUARDS = {
    "sqlite": {"finish_well": {"AND run.token = (value ->> 1)": ""}},
    "postgres": {
        "finish_well": {
            "run.token, run.status) IN (SELECT run_id, expected_token,": "run.status) IN (SELECT run_id,",
            "AND new.expected_token = run.token": "",
        }
    },
}


def rewrite(monkeypatch: pytest.MonkeyPatch, engine: str, name: str, guard: str, instead: str = "") -> None:
    """Change the text of a statement, also where it is executed without its answer."""
    for texts in (QUERIES[engine], QUIETLY if engine == "sqlite" else {}):
        if name in texts:
            assert guard in texts[name]
            monkeypatch.setitem(texts, name, texts[name].replace(guard, instead))


def names(violations: Sequence[Violation]) -> set[str]:
    return {violation.rule for violation in violations}


def found(store: Store, recorder: Recorder, *, settled: bool = True) -> set[str]:
    return names(check(store, read(recorder.path), settled=settled))


class Hands:
    """A worker without an engine: claims, notes its start, and finishes when it is told to."""

    def __init__(self, store: Store, recorder: Recorder, name: str, draw: Callable[[], int] = new_lease_token) -> None:
        self._store = store
        self._recorder = recorder
        self._claimant = Claimant(name, LEASE, lambda lane: True, draw_token=draw)

    def claim(self) -> Run:
        run = FairClaims(self._store).claim(self._claimant, 1, self._store.clock.now())[0]
        self._recorder.started(run)
        return run

    def finish(self, run: Run) -> bool:
        result = f'{{"token":{run.token}}}'
        change = state.succeed(run, self._store.clock.now(), result=result, keep=KEEP.succeeded)
        return bool(self._store.runs.apply([change]))


def enqueue(store: Store, recorder: Recorder) -> Run:
    bell = Workbell(store=store)

    @bell.job
    def work() -> None: ...

    run = work.enqueue()
    recorder.acknowledged([run])
    return run


def drop(
    monkeypatch: pytest.MonkeyPatch,
    store: SqliteStore,
    query: str,
    answer: Callable[[Mapping[str, Any]], list[Row]] = lambda _: [],
) -> None:
    """Leave a statement out of every batch that is written; the answer to it is made up."""
    sound = store.database.write

    def write(batch: Sequence[Statement], **options: Any) -> list[list[Row]]:
        left = [statement for statement in batch if statement.query != query]
        answers = iter(sound(left, **options))
        return [answer(one.values) if one.query == query else next(answers) for one in batch]

    monkeypatch.setattr(store.database, "write", write)


def lease_lost_and_both_finish(store: Store, recorder: Recorder) -> tuple[bool, bool]:
    """The first worker's lease runs out, the second takes over, and then the first comes back."""
    enqueue(store, recorder)
    first, second = Hands(store, recorder, "first"), Hands(store, recorder, "second")
    held = first.claim()
    Recover(store, Booking(lambda: store, RunPublisher(lambda: store), KEEP), lambda _: None, 1).step(
        store.clock.now() + 2 * LEASE
    )
    taken = second.claim()
    return first.finish(held), second.finish(taken)


class TestTokenGuard:
    """F1, D6: what a worker writes whose lease is lost changes nothing."""

    def test_sound(self, store: Store, recorder: Recorder) -> None:
        assert lease_lost_and_both_finish(store, recorder) == (False, True)
        assert found(store, recorder) == set()

    @pytest.mark.parametrize("engine", ["sqlite", "postgres"])
    def test_guard_removed_from_sql(self, engine: str, request, recorder: Recorder, monkeypatch) -> None:
        store: Store = request.getfixturevalue(f"{engine}_store")
        for name, guards in GUARDS[engine].items():
            for guard, instead in guards.items():
                rewrite(monkeypatch, engine, name, guard, instead)
        assert lease_lost_and_both_finish(store, recorder) == (True, False)
        assert "stale write" in found(store, recorder)


class TestLostRuns:
    def test_acknowledged_before_the_commit(self, sqlite_store: SqliteStore, recorder: Recorder, monkeypatch) -> None:
        """P1: the answer comes first, and the process dies before it has written."""
        later: list[NewRun] = []

        def add(new: Sequence[NewRun]) -> list[Added]:
            later.extend(new)
            return [Added(request.run.id, True) for request in new]

        enqueue(sqlite_store, recorder)
        monkeypatch.setattr(sqlite_store.runs, "add", add)
        assert found(sqlite_store, recorder, settled=False) == set()
        enqueue(sqlite_store, recorder)
        assert found(sqlite_store, recorder, settled=False) == {"lost"}

    def test_finished_into_nothing(self, sqlite_store: SqliteStore, recorder: Recorder, monkeypatch) -> None:
        """The row leaves the live table, and does not arrive in history."""
        drop(
            monkeypatch,
            sqlite_store,
            "finish_well",
            answer=lambda values: [[one[0]] for one in msgspec.json.decode(values["well"])],
        )
        enqueue(sqlite_store, recorder)
        hands = Hands(sqlite_store, recorder, "one")
        assert hands.finish(hands.claim())
        assert found(sqlite_store, recorder) == {"lost"}

    def test_left_lying(self, sqlite_store: SqliteStore, recorder: Recorder) -> None:
        enqueue(sqlite_store, recorder)
        assert found(sqlite_store, recorder) == {"not ended"}
        assert found(sqlite_store, recorder, settled=False) == set()


class TestDoubled:
    def test_live_and_in_history(self, sqlite_store: SqliteStore, recorder: Recorder, monkeypatch) -> None:
        drop(monkeypatch, sqlite_store, "remove_live")
        enqueue(sqlite_store, recorder)
        hands = Hands(sqlite_store, recorder, "one")
        assert hands.finish(hands.claim())
        assert "twice" in found(sqlite_store, recorder)

    @pytest.mark.anyio
    @pytest.mark.parametrize("twice", [False, True])
    async def test_handler_started_twice(self, sqlite_url: str, recorder: Recorder, monkeypatch, twice: bool) -> None:
        """One claim, delivered to two slots."""
        deliver = Consume._deliver

        def deliver_twice(consume: Consume, works: Sequence[Work]) -> None:
            deliver(consume, works)
            deliver(consume, works)

        if twice:
            monkeypatch.setattr(Consume, "_deliver", deliver_twice)
        bell = Workbell(sqlite_url)
        bell.host.bus.subscribe(recorder.moved)
        starts: list[dict[str, int]] = []
        both = asyncio.Event()

        @bell.job
        async def work(ctx: Context) -> dict[str, int]:
            token = recorder.started(ctx.run)
            starts.append(token)
            if len(starts) > 1:
                both.set()
            if twice:
                await both.wait()
            return token

        async with bell.running():
            run = await work.aenqueue()
            await bell.await_(run.id, timeout=30)
        assert found(bell.store, recorder) == ({"double start"} if twice else set())
        bell.close()

    def test_accepted_twice(self, sqlite_store: SqliteStore, recorder: Recorder) -> None:
        """Two workers are told that their end of the same claim was taken."""
        enqueue(sqlite_store, recorder)
        hands = Hands(sqlite_store, recorder, "one")
        run = hands.claim()
        assert hands.finish(run)
        for _ in range(2):
            recorder.note("moved", move="succeed", run=run.id, token=run.token, status="succeeded")
        assert found(sqlite_store, recorder) == {"accepted twice"}


class TestAttempts:
    def retried(self, store: Store, recorder: Recorder, draw: Callable[[], int] = new_lease_token) -> None:
        enqueue(store, recorder)
        hands = Hands(store, recorder, "one", draw)
        run = hands.claim()
        now = store.clock.now()
        store.runs.apply([state.retry(run, now, error="E", reason="error", wait=timedelta(0))])
        store.runs.dispatch(now, 10)
        assert hands.finish(hands.claim())

    def test_sound(self, store: Store, recorder: Recorder) -> None:
        self.retried(store, recorder)
        assert found(store, recorder) == set()

    def test_row_missing(self, sqlite_store: SqliteStore, recorder: Recorder, monkeypatch) -> None:
        drop(monkeypatch, sqlite_store, "add_attempts")
        self.retried(sqlite_store, recorder)
        assert found(sqlite_store, recorder) == {"attempts"}

    def test_token_issued_twice(self, store: Store, recorder: Recorder) -> None:
        self.retried(store, recorder, draw=lambda: 7)
        assert found(store, recorder) == {"double start", "token"}

    def test_row_without_its_token(self, sqlite_store: SqliteStore, recorder: Recorder, monkeypatch) -> None:
        rewrite(monkeypatch, "sqlite", "add_attempts", "value ->> 8", "0")
        self.retried(sqlite_store, recorder)
        assert found(sqlite_store, recorder) == {"token"}


class TestTicks:
    """F2: every tick that fired has its run, and every run of a schedule its tick."""

    def planted(self, store: Store, *, tick: bool = True, run: bool = True, names_run: bool = True) -> None:
        now = store.clock.now()
        schedule = Schedule(
            id=new_id(),
            name="nightly",
            job="work",
            kind=ScheduleKind.CRON,
            expression="0 3 * * *",
            timezone="UTC",
            created_at=now,
            updated_at=now,
        )
        lane = Lane("default", "default", "work")
        made = Run(new_id(), lane, Status.QUEUED, 0, now, now, now, schedule=schedule.id)
        row = Tick(
            schedule=schedule.id,
            due=now,
            outcome=TickOutcome.FIRED,
            created_at=now,
            run=made.id if names_run else None,
        )
        store.check()
        store.load(
            StorePage(
                lanes=[lane],
                schedules=[schedule],
                runs=[made] if run else [],
                ticks=[row] if tick else [],
            )
        )

    def test_sound(self, store: Store, recorder: Recorder) -> None:
        self.planted(store)
        assert found(store, recorder, settled=False) == set()

    @pytest.mark.parametrize("fault", [{"tick": False}, {"run": False}, {"names_run": False}], ids=str)
    def test_fault(self, store: Store, recorder: Recorder, fault: dict[str, bool]) -> None:
        self.planted(store, **fault)
        assert found(store, recorder, settled=False) == {"tick"}


class TestLedger:
    """P10: from the declaration to where the scheduler stands, every tick has one row."""

    def planted(self, store: Store, rows: Sequence[tuple[int, int, int]], **fields: object) -> None:
        """Minutes of rows (from, until, count) of a schedule that ticks every minute and stands at the tenth."""
        start = datetime(2030, 1, 1, tzinfo=UTC)
        common = {"id": new_id(), "name": "often", "job": "work", "kind": ScheduleKind.CRON, "timezone": "UTC"}
        times = {"created_at": start, "updated_at": start, "last_scheduled_at": start + timedelta(minutes=10)}
        schedule = Schedule(**(common | times | {"expression": "* * * * *"} | fields))
        ticks = [
            Tick(
                schedule=schedule.id,
                due=start + timedelta(minutes=first),
                until=None if last == first else start + timedelta(minutes=last),
                count=count,
                outcome=TickOutcome.SKIPPED,
                created_at=start,
            )
            for first, last, count in rows
        ]
        store.load(StorePage(schedules=[schedule], ticks=ticks))

    @pytest.mark.parametrize("rows", [[(1, 10, 10)], [(1, 1, 1), (2, 9, 8), (10, 10, 1)]], ids=str)
    def test_sound(self, store: Store, recorder: Recorder, rows: list[tuple[int, int, int]]) -> None:
        self.planted(store, rows)
        assert found(store, recorder) == set()

    def test_held_tick(self, store: Store, recorder: Recorder) -> None:
        self.planted(store, [(1, 9, 9)], held_tick=datetime(2030, 1, 1, 0, 10, tzinfo=UTC))
        assert found(store, recorder) == set()

    @pytest.mark.parametrize(
        "rows",
        [
            [],
            [(1, 9, 9)],
            [(2, 10, 9)],
            [(1, 4, 4), (6, 10, 5)],
            [(1, 10, 9)],
            [(1, 10, 11)],
            [(1, 5, 5), (5, 10, 5)],
            [(1, 10, 10), (4, 4, 1)],
            [(1, 11, 11)],
            [(0, 10, 11)],
        ],
        ids=str,
    )
    def test_fault(self, store: Store, recorder: Recorder, rows: list[tuple[int, int, int]]) -> None:
        self.planted(store, rows)
        assert found(store, recorder) == {"ledger"}

    def test_one_run_of_two_ticks(self, store: Store, recorder: Recorder) -> None:
        self.planted(store, [(1, 10, 10)])
        (schedule,) = store.schedules.list("default", source=None, after="", limit=1)
        (row,) = store.schedules.ticks(schedule.id, before=datetime(2040, 1, 1, tzinfo=UTC), limit=9)
        lane = Lane("default", "default", "work")
        made = Run(new_id(), lane, Status.QUEUED, 0, row.due, row.due, row.due, schedule=schedule.id)
        one = msgspec.structs.replace(row, due=row.due - timedelta(days=1), until=None, count=1, run=made.id)
        fired = [
            msgspec.structs.replace(one, due=one.due + timedelta(minutes=n), outcome=TickOutcome.FIRED) for n in (0, 1)
        ]
        store.load(StorePage(lanes=[lane], runs=[made], ticks=fired))
        assert "tick" in found(store, recorder, settled=False)


def test_tenants_mixed(sqlite_store: SqliteStore, recorder: Recorder) -> None:
    """S13: a run that was enqueued for one tenant is seen by another's handler."""
    bell = Workbell(store=sqlite_store)

    @bell.job
    def work() -> None: ...

    run = bell.for_tenant("first").enqueue("work")
    recorder.acknowledged([run], tenant="first")
    assert found(sqlite_store, recorder, settled=False) == set()
    recorder.acknowledged([run], tenant="second")
    assert found(sqlite_store, recorder, settled=False) == {"tenant"}


def test_move_outside_the_graph(sqlite_store: SqliteStore, recorder: Recorder) -> None:
    run = enqueue(sqlite_store, recorder)
    recorder.note("moved", move="snooze", run=run.id, token=0, status="failed")
    assert "no such move" in found(sqlite_store, recorder, settled=False)


def test_recording_of_a_torn_line(recorder: Recorder) -> None:
    recorder.note("one")
    with recorder.path.open("a") as file:
        file.write('{"kind": "tw')
    assert [event["kind"] for event in read(recorder.path)] == ["one"]
