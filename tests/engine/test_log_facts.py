"""The lines of a run in a real engine (B11): what the handler logs, and what came of it, carry the same facts."""

from __future__ import annotations

import logging

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Context, Retry, Workbell
from workbell.logs.facts import RUN
from workbell.settings import Settings


@pytest.mark.anyio
async def test_every_line_says_which_run_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "workbell")
    with Workbell(store=fresh_store(), settings=Settings(poll=0.02)) as bell:

        @bell.job(queue="mail")
        async def send(ctx: Context) -> str:
            ctx.logger.info("on its way", extra={"customer": 7})
            return "sent"

        async with bell.running():
            theirs = bell.for_tenant("t")
            run = await theirs.await_((await theirs.aenqueue("send")).id, timeout=30)
    lines = {record.getMessage().split(":")[0]: record for record in caplog.records if hasattr(record, "run_id")}
    assert set(lines) == {"run started", "on its way", "run succeeded"}
    wanted = {"run_id": run.id, "job": "send", "queue": "mail", "attempt": 1, "tenant": "t", "worker_id": run.worker}
    assert set(wanted) == set(RUN)
    for record in lines.values():
        assert {name: record.__dict__[name] for name in RUN} == wanted
    assert lines["on its way"].customer == 7
    ended = lines["run succeeded"]
    assert ended.result == "sent"
    assert run.started_at is not None
    assert run.finished_at is not None
    assert ended.duration_s == (run.finished_at - run.started_at).total_seconds()
    assert any("1 runs claimed" in record.getMessage() for record in caplog.records), "a trace, at debug"


@pytest.mark.anyio
async def test_an_embedded_engine_logs_failures_for_any_formatter(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "workbell")
    with Workbell(store=fresh_store(), settings=Settings(poll=0.02)) as bell:

        @bell.job(retry=Retry(attempts=2, delay=0))
        async def charge() -> None:
            try:
                {}["order"]  # type: ignore[index]
            except KeyError as error:
                raise ValueError("at postgresql://me:secret@bank/db") from error

        for _ in range(2):  # one that runs a second time says nothing twice
            caplog.clear()
            async with bell.running():
                run = await bell.await_((await charge.aenqueue()).id, timeout=30)
            retried, failed = caplog.records
            assert (retried.levelname, failed.levelname) == ("WARNING", "ERROR")
            told = logging.Formatter().format(failed)
            assert told.startswith(
                f"run failed: charge (run {run.id}, attempt 2): ValueError: at postgresql://me:…@bank"
            )
            assert "Caused by: KeyError: 'order'" in told
            assert f'> File "{__file__}"' in told
            assert failed.__dict__["error.type"] == "builtins.ValueError"
    assert run.error_type == bell.attempts(run.id)[-1].error_type == "builtins.ValueError"
    assert run.as_dict()["error_type"] == "builtins.ValueError"
