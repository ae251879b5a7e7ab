"""`workbell import kumofire` (D10): ids, statuses, errors and deduplication are kept; repeating it doubles nothing."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support import kumofire
from tests.support.command_line import assert_refused
from tests.support.imported import assert_imported, work_off
from tests.support.inside.features import Claimant, FairClaims, Permit, ReceivedHints
from tests.support.inside.stores import SqlStore, Store, StorePage
from tests.support.kumofire import content, definition, export, lock, run, run_id, schedule, schema, write
from tests.support.served import served
from workbell import Client, Status, StoreUnavailable, Workbell

FOUND = {"jobs": 2, "schedules": 3, "waiting runs": 6, "finished runs": 3, "keys": 2}
NONE = dict.fromkeys(FOUND, 0)


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def database(folder: Folder, now: datetime) -> Path:
    return write(folder.path / "kumofire.db", [*schema(), *content(now)])


def take(folder: Folder, url: str, *more: str, source: str = "kumofire.db") -> Any:
    return folder.ask("import", "kumofire", "--from", source, "--to", url, *more)


def refuse(folder: Folder, *words: str, source: str = "kumofire.db", code: int = 1) -> None:
    answer = folder.call("import", "kumofire", "--from", source, "--to", "sqlite:///new.db")
    assert_refused(answer, code, *words)
    assert not (folder.path / "new.db").exists()


def test_everything_is_kept_and_worked_off(folder: Folder, database: Path, sql_store_url: str, now: datetime) -> None:
    told = take(folder, sql_store_url)
    assert (told["complete"], told["found"], told["imported"], told["there"]) == (True, FOUND, FOUND, NONE)
    assert told["skipped"] == []
    with Workbell(sql_store_url) as bell:
        assert_imported(bell, now)
        schedules = {one.name: one for one in bell.schedules.list()}
        assert set(schedules) == {"every-minute", kumofire.DAILY, "off"}
        due = now.replace(second=0, microsecond=0)
        assert schedules["every-minute"].next_run_at == due
        daily = schedules[kumofire.DAILY]
        assert (daily.timezone, daily.input) == ("Asia/Tokyo", {"to": "cron"})
        assert daily.next_run_at is not None
        assert daily.next_run_at.hour == 20
        assert (schedules["off"].enabled, schedules["off"].next_run_at) == (False, None)
        work_off(bell, now)


def test_definitions_are_jobs(folder: Folder, database: Path, sql_store: Store, sql_store_url: str) -> None:
    take(folder, sql_store_url)
    mail, report = sql_store.jobs.list("default")
    assert (mail.name, mail.handler, mail.input_text) == ("mail", "mail", '{"copies": 2}')
    assert mail.retry is not None
    assert (mail.retry.attempts, mail.id) == (5, kumofire.MAIL)
    assert (report.name, report.handler, report.retry) == ("report", "make-report", None)
    assert (mail.source, report.source) == ("code", "api")


def test_workers_hear_of_definitions_that_an_import_left_untold(
    folder: Folder, database: Path, sql_store: Store, sql_store_url: str
) -> None:
    """On D1 they are written in several batches, and the version number with the last: it may have died before."""
    take(folder, sql_store_url)
    before = sql_store.definitions.version()
    take(folder, sql_store_url)
    assert sql_store.definitions.version() != before


def test_a_definition_is_served_by_who_has_its_handler(folder: Folder, sql_store_url: str) -> None:
    rows = [definition("mail"), definition("report", handler="make-report", payload_template='{"copies": 2}')]
    rows.append(run(8, "queued", job_name="report", payload='{"a": 1}'))
    write(folder.path / "kumofire.db", [*schema(), *rows])
    take(folder, sql_store_url)
    with Workbell(sql_store_url) as bell:

        @bell.job(name="make-report")
        def make_report(a: int, copies: int = 1) -> int:
            return a * copies

        again = bell.enqueue("report", {"a": 5})

        async def engine() -> list[Any]:
            async with bell.running():
                return [(await bell.await_(one, timeout=60)).result for one in (run_id(8), again.id)]

        assert asyncio.run(engine()) == [1, 10], "the template is for new runs"


def test_repeating_it_doubles_nothing_and_revives_nothing(folder: Folder, database: Path, sql_store_url: str) -> None:
    take(folder, sql_store_url)
    with Workbell(sql_store_url) as bell:
        bell.cancel(run_id(3))
        before = [run.as_dict() for run in bell.runs(limit=100)]
    again = take(folder, sql_store_url)
    assert (again["imported"], again["there"]) == (NONE, FOUND)
    with Workbell(sql_store_url) as bell:
        assert [run.as_dict() for run in bell.runs(limit=100)] == before
        assert len(bell.schedules.list()) == 3


def test_one_that_dies_on_the_way_is_repeated(
    folder: Folder, database: Path, sql_store_url: str, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what it has done by then; the next one does the rest, and nothing twice."""
    write(database, [run(number, "queued") for number in range(40, 240)])
    load, calls = SqlStore.load, 0

    def dying(store: SqlStore, page: StorePage) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise StoreUnavailable("The connection is gone.")
        load(store, page)

    monkeypatch.setattr(SqlStore, "load", dying)
    answer = folder.call("import", "kumofire", "--from", "kumofire.db", "--to", sql_store_url)
    assert_refused(
        answer, 69, "The connection is gone. Until then 2 jobs, 197 waiting runs, 3 finished runs, 2 keys were"
    )
    again = take(folder, sql_store_url)
    assert again["imported"] == {"jobs": 0, "schedules": 3, "waiting runs": 9, "finished runs": 0, "keys": 0}
    with Workbell(sql_store_url) as bell:
        assert_imported(bell, now)


def test_keys_that_did_not_arrive_are_repeated(folder: Folder, database: Path, now: datetime) -> None:
    """Where a page takes several writes, as on D1, it may end between the runs and their keys."""
    url = f"sqlite:///{folder.path}/new.db"
    take(folder, url)
    gone = ("DELETE FROM workbell_keys", []), ("DELETE FROM workbell_attempts", [])
    write(folder.path / "new.db", gone)
    take(folder, url)
    with Workbell(url) as bell:
        assert_imported(bell, now)


def test_a_dry_run_writes_nothing(folder: Folder, database: Path, sql_store_url: str) -> None:
    told = take(folder, "sqlite:///new.db", "--dry-run")
    assert (told["dry_run"], told["imported"]) == (True, FOUND)
    assert not (folder.path / "new.db").exists()
    take(folder, sql_store_url, "--dry-run")
    with Workbell(sql_store_url) as bell:
        assert bell.runs() == []
        assert not bell.schedules.list()


def test_from_the_text_of_an_export(folder: Folder, database: Path, now: datetime) -> None:
    export(database, folder.path / "kumofire.sql")
    url = f"sqlite:///{folder.path}/new.db"
    assert take(folder, url, source="kumofire.sql")["imported"] == FOUND
    with Workbell(url) as bell:
        assert_imported(bell, now)


def test_a_text_reaches_no_other_file(folder: Folder, database: Path) -> None:
    text = "ATTACH DATABASE 'stolen.db' AS stolen; CREATE TABLE stolen.x (a);"
    folder.write("kumofire.sql", text)
    refuse(folder, "it cannot be read", source="kumofire.sql")
    folder.write("kumofire.sql", "CREATE TABLE x (a); VACUUM INTO 'stolen.db';")
    refuse(folder, "it cannot be read", source="kumofire.sql")
    assert not (folder.path / "stolen.db").exists()


@pytest.mark.parametrize("version", [1, 2])
def test_older_schemas(version: int, folder: Folder, now: datetime) -> None:
    write(folder.path / "kumofire.db", [*schema(version), *content(now, version)])
    url = f"sqlite:///{folder.path}/new.db"
    told = take(folder, url)
    assert told["imported"] == FOUND | {"schedules": 0 if version == 1 else 3}
    with Workbell(url) as bell:
        names = {one.name for one in bell.schedules.list()}
        assert names == (set() if version == 1 else {kumofire.EVERY, kumofire.DAILY, kumofire.OFF})


@pytest.mark.parametrize("status", ["running", "queued", "scheduled"])
def test_what_a_consumer_works_on_is_refused(status: str, folder: Folder, database: Path, now: datetime) -> None:
    write(database, [run(20, status), lock(20, now + timedelta(seconds=300))])
    refuse(folder, run_id(20), "stop its consumers first", "Nothing was imported")
    write(database, [("UPDATE kumofire_job_runs SET status = 'succeeded' WHERE id = ?", [run_id(20)])])
    take(folder, "sqlite:///new.db")


def test_sources_that_are_none(folder: Folder, now: datetime) -> None:
    refuse(folder, "kumofire.db: it cannot be read (No such file")
    refuse(folder, "give a file, or d1+https://", source="postgresql://host/x")
    folder.write("kumofire.db", "not SQL at all")
    refuse(folder, "it cannot be read (near")
    other = write(folder.path / "other.db", [("CREATE TABLE t (a)", [])])
    refuse(folder, "there are no tables of Kumofire", source=str(other))
    newer = write(folder.path / "newer.db", [*schema(), ("INSERT INTO kumofire_schema_version VALUES (4, '')", [])])
    refuse(folder, "schema version is 4", "use a newer Workbell", source=str(newer))
    none = write(folder.path / "none.db", [*schema(1), ("DELETE FROM kumofire_schema_version", [])])
    refuse(folder, "schema version is 0", "apply its migrations", source=str(none))
    part = write(folder.path / "part.db", [*schema(), ("DROP TABLE kumofire_job_locks", [])])
    refuse(folder, "kumofire_job_locks is missing", source=str(part))
    refuse(folder, "set WORKBELL_D1_TOKEN", source="d1+https://bridge.example.org", code=78)


def test_what_cannot_be_taken_over_is_said(folder: Folder, database: Path, now: datetime) -> None:
    """The rest is imported all the same; the command fails, as something waited that will not run."""
    write(
        database,
        [
            run(21, "queued", payload="{not JSON"),
            run(22, "queued", job_name="clean-history"),
            run(23, "exploded"),
            run(24, "queued", next_run_at="soon"),
            run(25, "queued", dedupe_key=" a key "),
            run(26, "queued", attempt="many"),
            schedule("x-1", "mail", "lunar", "full", schedule_key="moon"),
            schedule("x-2", "mail", "cron", "61 * * * *", schedule_key="wrong", next_run_at="2090-01-01T00:00:00.000Z"),
            schedule("x-3", "mail", "interval", "5m", schedule_key="five", next_run_at="2090-01-01T00:00:07.000Z"),
            schedule(
                "x-4", "mail", "once", "2090-01-01T00:00:00Z", schedule_key="once", next_run_at="2090-01-01T00:00:00Z"
            ),
        ],
    )
    url = f"sqlite:///{folder.path}/new.db"
    answer = folder.call("import", "kumofire", "--from", "kumofire.db", "--to", url)
    assert answer.code == 1
    assert "6 rows were left out that would have done something" in answer.error
    for words in ("is no JSON", "one of Workbell's own", "'exploded' is unknown", "'soon' is no time"):
        assert words in answer.out
    assert "wrong: it is disabled here" in answer.out
    told = take_incomplete(folder, url)
    assert told["imported"] == NONE
    assert {one["id"] for one in told["skipped"]} == {"moon", *map(run_id, (21, 22, 23, 24, 26))}
    with Workbell(url) as bell:
        schedules = {one.name: one for one in bell.schedules.list()}
        kinds = [schedules[name].kind.value for name in ("wrong", "five", "once")]
        assert (schedules["wrong"].enabled, kinds) == (False, ["cron", "interval", "once"])
        assert schedules["five"].expression == "5m from 2090-01-01T00:00:07Z"
        assert bell.get(run_id(25)).key is None
        assert bell.get(run_id(25)).status is Status.QUEUED


IDS = ["01JQ4Z9V3K8M2N5P7R9T1W3X5Y", "01jq4z9v3k8m2n5p7r9t1w3x5z", "cjld2cjxh0000qzrmn831i7rn", "job_run_1", "42"]


def test_ids_that_are_no_uuids_are_kept(folder: Folder, sql_store_url: str) -> None:
    """D7: a run is found by the text that applications stored, by every verb and through every door."""
    rows = [run(number, "queued", id=text) for number, text in enumerate(IDS, 30)]
    rows += [run(50, "failed", id="old_1", dedupe_key="one", finished_at=kumofire.text_of(kumofire.CREATED))]
    rows.append(schedule("sched_1", "mail", "cron", "0 5 * * *", schedule_key="daily"))
    write(folder.path / "kumofire.db", [*schema(), definition("mail"), *rows])
    told = take(folder, sql_store_url)
    assert (told["complete"], told["skipped"], told["imported"]["waiting runs"]) == (True, [], len(IDS))
    assert take(folder, sql_store_url)["there"]["waiting runs"] == len(IDS)
    folder.write("workbell.toml", f'url = "{sql_store_url}"\n')
    with Workbell(sql_store_url) as bell:
        bell.job(name="mail")(lambda to: to)
        found = [bell.get(text) for text in IDS]
        assert [one.imported_id for one in found] == [one.as_dict()["imported_id"] for one in found] == IDS
        assert [one.input["to"] for one in found] == [f"n{number}" for number in range(30, 35)]
        assert {one.id: one.imported_id for one in bell.runs(limit=100, status="queued")} == {
            one.id: one.imported_id for one in found
        }
        assert bell.enqueue("mail", {"to": "x"}, key="one", key_scope="tenant").id == bell.get("old_1").id
        assert bell.schedules.get("sched_1") == bell.schedules.get("daily")
        assert bell.cancel("job_run_1").id == found[3].id
        assert "canceled" in bell.why("job_run_1")
        assert bell.attempts("job_run_1") == bell.logs("job_run_1") == []
        again = bell.retry("job_run_1")
        assert (again.imported_id, again.retry_of) == (None, found[3].id)
        assert [one.id for one in bell.runs(retry_of="job_run_1")] == [again.id]
        bell.cancel(again.id)
        one, other = bell.consume(runs=IDS[:2]).results
        assert ([one.run, other.run], one.answer, other.answer) == (IDS[:2], "done", "done")
        assert bell.consume(message={"kumofireJobRunId": IDS[2]}).results[0].status == "succeeded"
        assert bell.wait(IDS[2], timeout=5).result == "n32"
        assert [attempt.run for attempt in bell.attempts(IDS[2])] == [found[2].id]
        token = bell.tokens.create("reader", scopes=["read"]).text
        with served(bell) as service, Client(service.url, token) as client:
            assert [client.get(text).imported_id for text in IDS] == IDS
            assert client.why("42") == bell.why("42")
        for text in (*IDS, "01jq4z9v3k8m2n5p7r9t1w3x5y", "01JQ4Z9V3K8M2N5P7R9T1W3X5Y"[-8:], "n831i7rn", "job_ru"):
            shown = folder.ask("runs", "show", text)
            assert text.lower() in shown["imported_id"].lower()
            assert bell.get(shown["id"]).imported_id == shown["imported_id"]
        assert IDS[2] in folder.call("runs", "show", IDS[2]).out
        assert_refused(folder.call("runs", "show", "01JQ4Z"), 1, "is a part of 2 ids", IDS[0], IDS[1])
        assert all(text in folder.call("runs", "list").out for text in IDS)
        for text in ("43", "job_run_2", "..", "a/b", "\x00", ""):
            assert_refused(folder.call("runs", "show", text), 4, "There is no run")


def test_messages_wake_a_worker_for_what_was_imported(folder: Folder, sql_store_url: str) -> None:
    """What is left in a queue of Kumofire names runs by their old ids."""
    runs = [run(number, "queued", id=text) for number, text in enumerate(IDS[:2])]
    write(folder.path / "kumofire.db", [*schema(), definition("mail"), *runs])
    take(folder, sql_store_url)
    with Workbell(sql_store_url) as bell:
        bell.job(name="mail")(lambda to: to)
        claims = FairClaims(bell.store)
        now = bell.store.clock.now()
        claimant = Claimant("a/1/1/1", timedelta(seconds=30), serves=lambda _lane: True, limits=lambda _lane: ())
        (first,) = claims.claim(claimant, 1, now)  # then their lane is known
        left = next(text for text in IDS[:2] if text != first.imported_id)
        named = ReceivedHints(False, [Permit(left), Permit("nobody's")]).runs
        assert [one.imported_id for one in claims.take(claimant, named, now)] == [left]


def take_incomplete(folder: Folder, url: str) -> Any:
    answer = folder.call("import", "kumofire", "--from", "kumofire.db", "--to", url, "--json")
    assert answer.code == 1
    return json.loads(answer.out)


def test_a_key_that_two_runs_have(folder: Folder, database: Path) -> None:
    """Its index forbids it; a database without the index keeps the first, and says so."""
    write(
        database, [("DROP INDEX kumofire_runs_key", []), run(30, "queued", dedupe_key="welcome-3", job_name="report")]
    )
    url = f"sqlite:///{folder.path}/new.db"
    told = take_incomplete(folder, url)
    assert [(one["kind"], one["id"]) for one in told["skipped"]] == [("keys", run_id(30))]
    with Workbell(url) as bell:
        assert bell.enqueue("report", key="welcome-3", key_scope="tenant").id == run_id(3)


def test_a_schedule_of_that_name_stays(folder: Folder, database: Path) -> None:
    url = f"sqlite:///{folder.path}/new.db"
    with Workbell(url) as bell:
        bell.job(name="mail")(lambda to: to)
        own = bell.schedules.put("every-minute", job="mail", every=60, input={"to": "me"})
        told = take_incomplete(folder, url)
        assert [one["text"] for one in told["skipped"]] == ["the store has another schedule of this name"]
        assert bell.schedules.get("every-minute") == own


def test_into_a_tenant_for_an_agent(folder: Folder, database: Path) -> None:
    url = f"sqlite:///{folder.path}/new.db"
    take(folder, url, "--tenant", "acme", "--target", "label:typescript")
    with Workbell(url) as bell:
        assert bell.runs() == []
        acme = bell.for_tenant("acme")
        assert {run.target for run in acme.runs(limit=100)} == {"label:typescript"}
        assert acme.schedules.get("every-minute").options.target == "label:typescript"
        assert acme.enqueue("mail", {"to": "x"}).target == "label:typescript"
    answer = folder.call("import", "kumofire", "--from", "kumofire.db", "--to", url, "--target", " x ")
    assert_refused(answer, 1, "target ' x '")
