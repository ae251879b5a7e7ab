"""A store of the first schema, or of any since, with work in it, is brought up to date by one command (F7)."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path

import pytest

from workbell import Workbell
from workbell.app import open_store
from workbell.engine.materialise import Materialise
from workbell.errors import SchemaMismatch
from workbell.model import state
from workbell.model.run import Run, Status
from workbell.settings import Settings
from workbell.stores import migrate
from workbell.stores.queries import migrations
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import KEEP, add, after, claim, request
from workbell.testing.contracts.parts.copying import everything, fill, fill_service
from workbell.testing.contracts.parts.events import emitted, fact
from workbell.testing.contracts.parts.fanning import fanned
from workbell.testing.contracts.parts.subscribing import trigger


@pytest.fixture(params=range(1, migrate.NEWEST))
def version(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def old_url(request: pytest.FixtureRequest, version: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store as an earlier version made it."""
    url: str = request.getfixturevalue(f"empty_{request.param}_url")
    with monkeypatch.context() as past:
        past.setattr(migrate, "migrations", lambda engine: migrations(engine)[:version])
        for name in ("OLDEST", "NEWEST", "OLDEST_READER"):
            past.setattr(migrate, name, version)
        store = opened(url)
        store.check()
        store.close()
    return url


@pytest.fixture
def new_url(old_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A store of the same kind as this version makes it."""
    if old_url.startswith("sqlite"):
        return f"sqlite:///{tmp_path / 'new.db'}"
    url: str = request.getfixturevalue("postgres_url")
    return url


def opened(url: str) -> SqlStore:
    store = open_store(url)
    assert isinstance(store, SqlStore)
    return store


# In an order in which they can be filled.
TABLES = "lanes jobs schedules ticks reports runs history attempts keys pauses limits workers logs".split()
TABLES += "events matches triggers endpoints health".split()
EVENTS = "events matches triggers endpoints health"
SERVICE = "tokens tenants audit notifications reads agents tallies"
# What a store of each schema had room for, all of it.
KINDS = {1: "lanes runs keys jobs", 2: "lanes runs keys jobs schedules ticks"}
KINDS[3] = KINDS[2] + " pauses logs"
KINDS[4] = f"{KINDS[3]} attempts {EVENTS}"
KINDS |= dict.fromkeys(range(5, migrate.NEWEST), KINDS[4])


def work_in(store: SqlStore) -> tuple[Run, Run, Run, Run]:
    """Runs in every state."""
    done, retried, running = add(store, *[request(tag=f"t{number}", input_text='{"n":1}') for number in range(3)])
    done, retried, running = claim(store)
    store.runs.apply([state.succeed(done, after(1), result="1", keep=KEEP.succeeded)])
    store.runs.apply([state.retry(retried, after(1), error="E", reason="error", wait=timedelta(seconds=60))])
    (waiting,) = add(store, request(key="k", priority=3))
    return done, retried, running, waiting


def as_before(new: SqlStore) -> None:
    """Without values that there was no room for: tokens were small, and attempts had none."""
    for change in (
        "workbell_triggers SET options = NULL",
        "workbell_runs SET token = token & 1023",
        "workbell_history SET token = token & 1023",
        "workbell_attempts SET token = 0",
    ):
        new.database.run_write(lambda session, text=f"UPDATE {change}": session.text_rows(text, {}))


def put_into(old: SqlStore, new: SqlStore) -> None:
    """What the new store holds, as far as the tables of the old one have room for it: no code of that time is left."""

    def columns(store: SqlStore) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for table, column, *_ in map(tuple, shape(store)[0]):  # type: ignore[call-overload]
            found.setdefault(table, []).append(column)
        return found

    room, there = columns(old), columns(new)  # asked once: the tables stay as they are meanwhile
    for table in TABLES:
        if f"workbell_{table}" not in room:
            continue
        names = [name for name in there[f"workbell_{table}"] if name in room[f"workbell_{table}"]]
        listed = ", ".join(names)
        rows = new.database.run_read(lambda s, t=table, n=listed: s.text_rows(f"SELECT {n} FROM workbell_{t}", {}))
        values = ", ".join(f":{name}" for name in names)
        text = f"INSERT INTO workbell_{table} ({listed}) VALUES ({values})"
        for row in rows:
            found = dict(zip(names, row, strict=True))
            old.database.run_write(lambda s, t=text, v=found: s.text_rows(t, v))


@pytest.mark.parametrize("version", [1], indirect=True)
def test_live_runs_go_on_and_schedules_work(old_url: str, new_url: str) -> None:
    store, new = opened(old_url), opened(new_url)
    new.check()
    work = work_in(new)
    as_before(new)
    done, retried, running, waiting = (new.runs.find([run.id])[run.id] for run in work)
    before = new.runs.find([run.id for run in (done, retried, running, waiting)])
    put_into(store, new)
    new.close()
    with pytest.raises(SchemaMismatch, match=r"has schema 1 .*workbell migrate"):
        store.check()
    assert store.migrate() == [name for _, name, _ in migrations(store.engine)[1:]]
    store.check()
    assert store.migrate() == []
    assert store.runs.find(list(before)) == before
    store.runs.apply([state.succeed(running, after(2), result="2", keep=KEEP.succeeded)])
    store.runs.dispatch(after(99), 10)
    assert {run.id for run in claim(store, at=99)} == {retried.id, waiting.id}
    assert [answer.created for answer in store.runs.add([request(key="k", at=99)])] == [False]
    bell = Workbell(store=store, settings=Settings())

    @bell.job
    def work(n: int = 0) -> None: ...

    schedule = bell.schedules.put("often", job=work, every=60)
    assert schedule.look_at is not None
    assert Materialise(store, bell.registry, lambda _: None, 1).step(schedule.look_at) == 0
    (tick,) = bell.schedules.ticks("often")
    assert (tick.outcome, store.runs.find([tick.run or ""])[tick.run or ""].status) == ("fired", Status.QUEUED)
    bell.close()


def test_everything_is_kept_and_what_is_new_begins(old_url: str, new_url: str, version: int) -> None:
    """And the tables are those of a new store, whether they were made at once or step by step."""
    store, new = opened(old_url), opened(new_url)
    new.check()
    fill(new)
    as_before(new)
    put_into(store, new)
    refused = rf"has schema {version} and .* needs at least {migrate.OLDEST}; run `workbell migrate`"
    with pytest.raises(SchemaMismatch, match=refused) if version < migrate.OLDEST else nullcontext():
        store.check()
    assert store.migrate() == [name for _, name, _ in migrations(store.engine)[version:]]
    store.check()
    assert shape(store) == shape(new)
    found, wanted = everything(store), everything(new)
    for kind in KINDS[version].split():
        assert found[kind] == wanted[kind] != set(), kind
    assert not any(found[kind] for kind in f"{EVENTS if version < 4 else ''} {SERVICE}".split())
    (attempt,) = [attempt for batch in store.export() for attempt in batch.attempts]
    assert (attempt.number, attempt.error, attempt.result) == (1, "E", None if version < 4 else 1)
    assert all(not job.processor for job in store.jobs.list("default"))
    assert store.subscribers.version() == 0
    (event,) = emitted(store, fact(key="new"))
    assert store.subscribers.write_trigger(trigger("new"), None)
    assert store.events.fan_out([fanned(event, store.subscribers.list_triggers()[0].id)], after(1)) == {event.id}
    assert [run.event for run in claim(store, at=5) if run.event == event.id] == [event.id]
    fill_service(store)
    sizes = [len(values) for kind, values in everything(store).items() if kind in SERVICE.split()]
    assert sizes == [2] * len(SERVICE.split())
    store.close()
    new.close()


def test_code_of_before_refuses_what_is_new(sql_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of before schema 11 counts tokens, and has no room for random ones."""
    code, newest = migrate.OLDEST_READER - 1, migrate.NEWEST
    store = opened(sql_store_url)
    store.check()
    store.close()
    for name in ("OLDEST", "NEWEST"):
        monkeypatch.setattr(migrate, name, code)
    old = opened(sql_store_url)
    expected = rf"has schema {newest}, which is newer than this Workbell knows \({code}\); upgrade"
    for verb in (old.check, old.migrate):
        with pytest.raises(SchemaMismatch, match=expected):
            verb()
    old.close()


def shape(store: SqlStore) -> list[object]:
    """Tables with their columns, and indexes."""
    queries = SHAPES[store.engine]
    return [
        sorted(map(tuple, store.database.run_read(lambda session, text=text: session.text_rows(text, {}))))
        for text in queries
    ]


SHAPES = {
    "sqlite": [
        """SELECT m.name, c.name, c.type, c."notnull", c.dflt_value FROM sqlite_master m, pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name LIKE 'workbell%'""",
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    ],
    "postgres": [
        """SELECT table_name, column_name, data_type, is_nullable, coalesce(column_default, '')
        FROM information_schema.columns WHERE table_schema = current_schema()""",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()",
    ],
}
