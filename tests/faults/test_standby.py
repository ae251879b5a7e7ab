"""A PostgreSQL standby that waits for its promotion: messages say so, and work goes on when it is promoted."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.command_line import call
from tests.support.postgres import PostgresServer, free_port
from tests.support.waiting import until
from workbell import Run, Status, StoreUnavailable, Workbell
from workbell.settings import Settings

DATABASE = "shop"


class Standby(PostgresServer):
    """A server that can be turned into a standby. It follows nobody: it is in recovery until it is promoted."""

    def demote(self) -> None:
        self.stop()
        signal = self.data / "standby.signal"
        signal.touch()
        if self._user != "-":
            shutil.chown(signal, self._user)
        self.start()

    def promote(self) -> None:
        self.execute("SELECT pg_promote()")

    @property
    def among_several(self) -> str:
        """With another host before it, which is down, and a password."""
        return f"postgresql://workbell:hush@127.0.0.1:{free_port()},127.0.0.1:{self.port}/{DATABASE}"


@pytest.fixture
def server() -> Iterator[Standby]:
    server = Standby()
    server.start()
    server.create_database(name=DATABASE)
    with Workbell(server.url(DATABASE)) as bell:
        bell.store.check()
    yield server
    server.remove()


def enqueue(url: str) -> Run:
    with Workbell(url) as bell:
        bell.job(name="work")(lambda: None)
        run: Run = bell.enqueue("work")
        return run


def test_it_is_named_by_what_it_is(server: Standby) -> None:
    server.demote()
    name = f"127.0.0.1:{server.port}/{DATABASE}"
    with pytest.raises(
        StoreUnavailable, match=rf"{name} is a standby in recovery \(cannot .*\); promote it, or connect"
    ):
        enqueue(server.url(DATABASE))
    with pytest.raises(StoreUnavailable, match="is a standby in recovery"):
        enqueue(f"{server.url(DATABASE)}?target_session_attrs=primary")
    several = server.among_several
    for url in (several, f"{several}?target_session_attrs=primary", several.replace("hush", "a%2Cb")):
        with pytest.raises(
            StoreUnavailable, match=rf",{name} has no primary among these hosts yet .* promote a standby"
        ):
            enqueue(url)
    swapped = f"postgresql://workbell@127.0.0.1:{server.port},127.0.0.1:{free_port()}/{DATABASE}"
    with pytest.raises(StoreUnavailable, match="has no primary among these hosts yet"):
        enqueue(swapped)


def test_commands_know_it_and_show_no_password(server: Standby, tmp_path: Path) -> None:
    asked = ["doctor", "--url", server.among_several]
    fine = call(tmp_path, *asked)
    assert (fine.code, f"127.0.0.1:{server.port}/{DATABASE}" in fine.out) == (0, True), fine
    server.demote()
    waiting = call(tmp_path, *asked)
    assert "has no primary among these hosts yet" in " ".join(f"{waiting.out}{waiting.error}".split()), waiting
    assert "hush" not in f"{fine}{waiting}"


@pytest.mark.anyio
async def test_work_goes_on_after_the_promotion(server: Standby, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    settings = Settings(url=server.among_several, poll=60, sweep=0.5, grace=5)
    with Workbell(settings=settings) as bell:
        bell.job(name="work")(lambda: "done")

        def said(text: str) -> bool:
            return any(text in record.getMessage() for record in caplog.records)

        def enqueued() -> Run | None:
            try:
                return enqueue(settings.url)
            except StoreUnavailable:
                return None

        async with bell.running():
            first = await asyncio.to_thread(enqueue, settings.url)
            assert (await bell.await_(first.id, timeout=30)).status is Status.SUCCEEDED
            await asyncio.to_thread(server.demote)
            waits = "has no primary among these hosts yet"
            await asyncio.to_thread(until, lambda: said(waits), "somebody to say what is waited for")
            await asyncio.to_thread(server.promote)
            later = await asyncio.to_thread(until, enqueued, "the promoted one to take a run")
            # Nobody polls for a minute: the hint came over a new LISTEN, which looks for the primary again.
            assert (await bell.await_(later.id, timeout=30)).status is Status.SUCCEEDED
    assert not said("is read-only (")
    assert "hush" not in caplog.text


@pytest.mark.anyio
async def test_a_callers_connection_to_several_hosts(server: Standby) -> None:
    with Workbell(server.among_several) as bell:
        bell.job(name="work")(lambda: None)
        with psycopg.connect(f"{server.among_several}?target_session_attrs=read-write") as connection:
            run = bell.enqueue("work", connection=connection)
        assert bell.get(run.id).status is Status.QUEUED
