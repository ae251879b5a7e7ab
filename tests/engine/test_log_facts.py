"""The lines of a run in a real engine (B11): what the handler logs, and what came of it, carry the same facts."""

from __future__ import annotations

import logging

import pytest

from workbell import Context, Workbell
from workbell.logs.facts import RUN
from workbell.notices.run_log import log_runs
from workbell.settings import Settings


@pytest.mark.anyio
async def test_every_line_says_which_run_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "workbell")
    with Workbell(settings=Settings(url="memory://", poll=0.02)) as bell:

        @bell.job(queue="mail")
        async def send(ctx: Context) -> str:
            ctx.logger.info("on its way", extra={"customer": 7})
            return "sent"

        bell.bus.subscribe(log_runs)
        async with bell.running():
            theirs = bell.for_tenant("t")
            run = await theirs.await_((await theirs.aenqueue("send")).id, timeout=30)
    lines = {record.getMessage().split(":")[0]: record for record in caplog.records if hasattr(record, "run_id")}
    assert set(lines) == {"run started", "on its way", "run succeeded"}
    wanted = {"run_id": run.id, "task": "send", "queue": "mail", "attempt": 1, "tenant": "t", "worker_id": run.worker}
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
