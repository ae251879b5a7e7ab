"""A PostgreSQL that can be read and not written (a standby, a full disk) is an outage like any other."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest

from tests.support.waiting import until
from workbell import Run, Status, StoreUnavailable, Workbell
from workbell.settings import Settings

TERMINATE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'workbell'
"""
RUNS = 16


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """Every session that begins meanwhile can only read, and stays so, as with a primary that became a standby."""
    with psycopg.connect(url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        connection.execute(TERMINATE)
        yield
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')


@pytest.mark.anyio
async def test_work_goes_on_afterwards_and_nothing_is_done_twice(
    empty_postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Outcomes are kept until they can be written; nothing is logged but that one waits."""
    caplog.set_level(logging.INFO)
    executed: Counter[int] = Counter()
    gate = asyncio.Event()
    settings = Settings(url=empty_postgres_url, concurrency=RUNS, lease=20, sweep=0.2, poll=0.05, grace=5)
    with Workbell(settings=settings) as bell:

        @bell.job
        async def work(number: int) -> int:
            executed[number] += 1
            await gate.wait()
            return number

        def said(text: str) -> bool:
            return any(text in record.getMessage() for record in caplog.records)

        def enqueued() -> Run | None:
            with suppress(StoreUnavailable):  # by a session from then, which ends with that
                return work.enqueue(RUNS)
            return None

        async with bell.running():
            runs = await bell.aenqueue_many([("work", {"number": number}) for number in range(RUNS)])
            await asyncio.to_thread(until, lambda: len(executed) == RUNS, "all handlers to be at work")
            with read_only(empty_postgres_url):
                gate.set()
                await asyncio.to_thread(until, lambda: said("finish waits: PostgreSQL at"), "outcomes to be refused")
                await asyncio.sleep(1.5)  # how long it lasts: some tries of every duty
                with pytest.raises(StoreUnavailable, match=r"is read-only .* connect to its primary"):
                    work.enqueue(99)
            ended = [await bell.await_(run.id, timeout=30) for run in runs]
            later = await asyncio.to_thread(until, enqueued, "a session that can write")
            assert later is not None
            assert (await bell.await_(later.id, timeout=30)).status is Status.SUCCEEDED
        assert [(run.status, run.result, run.attempt) for run in ended] == [
            (Status.SUCCEEDED, number, 1) for number in range(RUNS)
        ]
        assert executed == Counter(range(RUNS + 1))
        assert [record.getMessage() for record in caplog.records if record.exc_info] == []
        waits = [record.getMessage() for record in caplog.records if "waits" in record.getMessage()]
        assert all("is read-only" in text or "is stopping or starting" in text or "was lost" in text for text in waits)
        assert len(waits) < 60, "one for each duty, not for each try"
