"""`workbell copy` (F7): from SQLite to PostgreSQL and back, everything is kept; repeating it does no harm."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import assert_refused, call
from tests.support.inside.cli import COPIED_KINDS as KINDS
from tests.support.inside.making import fill_events, fill_service
from tests.support.inside.stores import LeaseTerms, Pick, StorePage, open_store
from tests.support.inside.values import LIVE, ScheduleKind, TickOutcome, new_id
from workbell import Context, Retry, Schedule, Tick, Workbell

NOW = datetime(2030, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A store that has something of every kind: a file `old.db` in the folder of the test."""
    url = f"sqlite:///{tmp_path}/old.db"
    with Workbell(url) as bell:
        fill(bell)
    return url


def test_from_is_the_url(tmp_path: Path) -> None:
    answer = call(tmp_path, "copy", "--from", "sqlite:///old.db", "--to", "sqlite:///new.db")
    assert answer.code == 2
    assert "There is no --from; --url names the store to copy from." in answer.error


async def _work(bell: Workbell, ids: list[str]) -> None:
    async with bell.running():
        for run_id in ids:
            await bell.await_(run_id, timeout=60)


def fill(bell: Workbell) -> None:
    import asyncio

    @bell.job(queue="mail", retry=Retry(attempts=2, delay=0, give_up_on=KeyError), description="Sends a letter.")
    async def send(ctx: Context, to: str, text: str = "Grüße \N{SNOWMAN} \\N \t") -> dict[str, str]:
        ctx.logger.info("to %s \N{SNOWMAN}", to)
        if to == "nobody":
            raise ValueError("no such person")
        return {"to": to}

    ended = [send.enqueue(to="ada"), send.enqueue(to="nobody")]
    ended += [send.options(key="kept", key_for=timedelta(days=9), tag="a", user_id=7).enqueue(to="bob")]
    asyncio.run(_work(bell, [run.id for run in ended]))
    bell.cancel(send.options(delay=60).enqueue(to="eve").id, reason="changed my mind")
    send.options(key="held", priority=5, delay=3600, retry=Retry(attempts=9), timeout=2.5).enqueue(to="later")
    send.options(tag="b", tenant="other", expires=timedelta(days=1), persistent=False).enqueue(to="now")
    send.options(target="agent-1", auto_reschedule=60, remove_delay=5).enqueue(to="far")
    bell.for_tenant("other").pause(queue="mail")
    schedule = Schedule(
        id=new_id(),
        name="nightly",
        job="send",
        kind=ScheduleKind.CRON,
        expression="0 3 * * *",
        timezone="Europe/Paris",
        created_at=NOW,
        updated_at=NOW,
        next_run_at=NOW + timedelta(days=1),
        version=4,
    )
    tick = Tick(schedule=schedule.id, due=NOW, outcome=TickOutcome.SKIPPED, created_at=NOW, count=3, reason="late")
    bell.store.load(StorePage(schedules=[schedule], ticks=[tick]))
    fill_events(bell.store)
    fill_service(bell.store)


def content(url: str) -> dict[str, list[Any]]:
    """Everything a store holds, in an order that does not depend on the engine."""
    store = open_store(url)
    try:
        pages = list(store.export())
    finally:
        store.close()
    return {
        name: sorted((item for page in pages for item in getattr(page, name)), key=repr) for name in StorePage._fields
    }


def test_there_and_back_again_everything_is_kept(source: str, empty_postgres_url: str, tmp_path: Path) -> None:
    there = call(tmp_path, "copy", "--url", source, "--to", empty_postgres_url)
    assert there.code == 0, there
    before = content(source)
    assert all(before.values()), "the source must have something of every kind"
    assert content(empty_postgres_url) == before
    back = call(tmp_path, "copy", "--url", empty_postgres_url, "--to", "sqlite:///new.db", "--json")
    assert back.code == 0, back
    assert content(f"sqlite:///{tmp_path}/new.db") == before
    told = json.loads(back.out)
    assert told["complete"] is True
    assert told["copied"] == told["read"]
    assert set(told["read"]) == set(KINDS)


def test_a_copied_run_can_be_worked_on(source: str, postgres_url: str, tmp_path: Path) -> None:
    import asyncio

    assert call(tmp_path, "copy", "--url", source, "--to", postgres_url).code == 0
    with Workbell(postgres_url) as bell:
        bell.job(name="send", queue="mail")(lambda to, text="": to.upper())
        waiting = [run for run in bell.runs(status="scheduled") if run.key == "held"]
        again = bell.registry.find("send")
        assert again is not None
        assert again.options(key="held").enqueue(to="x").id == waiting[0].id, "the key came along"
        bell.cancel(waiting[0].id)
        fresh = again.options(key="held").enqueue(to="x")
        asyncio.run(_work(bell, [fresh.id]))


def test_repeating_it_changes_nothing(source: str, postgres_url: str, tmp_path: Path) -> None:
    assert call(tmp_path, "copy", "--url", source, "--to", postgres_url).code == 0
    before = content(postgres_url)
    again = call(tmp_path, "copy", "--url", source, "--to", postgres_url, "--json")
    assert again.code == 0, again
    assert content(postgres_url) == before
    assert set(json.loads(again.out)["copied"].values()) == {0}


def test_repeating_it_revives_nothing(source: str, sql_store_url: str, tmp_path: Path) -> None:
    """A run that has ended in the new store stays ended there, and its key stays free."""
    assert call(tmp_path, "copy", "--url", source, "--to", sql_store_url).code == 0
    with Workbell(sql_store_url) as bell:
        ended = [bell.cancel(run.id) for run in bell.runs(status=LIVE)]
        assert any(run.key == "held" for run in ended)
        again = call(tmp_path, "copy", "--url", source, "--to", sql_store_url)
        assert again.code == 0, again
        assert not bell.runs(status=LIVE)
        fresh = bell.job(name="send")(lambda to: to).options(key="held", delay=60).enqueue(to="me")
        assert fresh.id not in {run.id for run in ended}


def test_the_same_store_is_refused(source: str, tmp_path: Path) -> None:
    answer = call(tmp_path, "copy", "--url", source, "--to", "sqlite:///./old.db")
    assert_refused(answer, 1, "one and the same store")


def test_running_work_is_refused_unless_forced(source: str, tmp_path: Path) -> None:
    store = open_store(source)
    now = store.clock.now()
    heads = store.runs.survey(-1, 10)
    picks = [Pick(head.lane_id, head.rank, 1) for head in heads]
    claimed = store.runs.claim(picks, 10, LeaseTerms.drawn("host/1/2", now, now + timedelta(hours=1)))
    store.close()
    assert claimed
    answer = call(tmp_path, "copy", "--url", source, "--to", "sqlite:///new.db")
    assert_refused(answer, 1, "stop the workers first", "host/1/2", "--force")
    assert not (tmp_path / "new.db").exists()
    assert call(tmp_path, "copy", "--url", source, "--to", "sqlite:///new.db", "--force").code == 0
    assert content(f"sqlite:///{tmp_path}/new.db") == content(source)


def test_nothing_to_copy_from(tmp_path: Path) -> None:
    assert_refused(call(tmp_path, "copy", "--url", "sqlite:///a.db", "--to", "sqlite:///b.db"), 1, "a.db")
    assert not list(tmp_path.iterdir())


def test_a_target_that_cannot_be_reached(source: str, tmp_path: Path) -> None:
    answer = call(tmp_path, "copy", "--url", source, "--to", "postgresql://nobody@127.0.0.1:1/nothing")
    assert_refused(answer, 69, "127.0.0.1")
