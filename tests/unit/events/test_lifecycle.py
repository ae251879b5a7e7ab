"""Workbell's own events (A7): which move tells what, how small it is kept, and what makes a repeated one the same."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from tests.unit.makers import NOW, run_in
from tests.unit.scheduling.making import schedule as make_schedule
from workbell.events.lifecycle import (
    ERROR_LIMIT,
    event_of_change,
    event_of_loss,
    event_of_start,
    event_of_tick,
)
from workbell.model import state
from workbell.model.job import DELIVERY
from workbell.model.run import Lane, Run, Status
from workbell.model.schedule import Tick, TickOutcome
from workbell.model.state import CRASH_LIMIT, Transition
from workbell.model.worker import alias_of
from workbell.notices.listeners import MOST_RUNS

KEEP = timedelta(days=1)
LATER = NOW + timedelta(seconds=2)
RUNNING = run_in(Status.RUNNING, attempt=3, token=5)


def crashed(crashes: int) -> Transition:
    return state.lose(run_in(Status.RUNNING, alone=True, crashes=crashes), LATER, keep=KEEP)


MOVES = {
    "succeed": (state.succeed(RUNNING, LATER, result='"secret"', keep=KEEP), "job.completed"),
    "fail": (state.fail(RUNNING, LATER, error="ValueError: no", reason="error", keep=KEEP), "job.failed"),
    "set aside": (crashed(CRASH_LIMIT - 1), "job.failed"),
    "cancel": (state.cancel(RUNNING, LATER, reason="enough", keep=KEEP), "run.canceled"),
    "retry": (state.retry(RUNNING, LATER, error="-", reason="error", wait=KEEP), None),
    "lose": (crashed(0), None),
    "release": (state.release(RUNNING, LATER), None),
    "snooze": (state.snooze(RUNNING, LATER, wait=KEEP, reason=None), None),
    "dispatch": (state.dispatch(run_in(Status.SCHEDULED), LATER), None),
}


def describe(_run: Run) -> tuple[str, str]:
    return "jobs/send.py", "0 3 * * *"


@pytest.mark.parametrize("name", MOVES)
def test_which_moves_are_events(name: str) -> None:
    """A failed attempt that is tried again is none."""
    change, kind = MOVES[name]
    event = event_of_change(RUNNING, change)
    assert (None if event is None else event.type) == kind
    quiet = msgspec.structs.replace(RUNNING, lane=Lane("default", "default", DELIVERY))
    assert event_of_change(quiet, change) is None


def test_what_a_completed_job_tells() -> None:
    event = event_of_change(RUNNING, MOVES["succeed"][0], describe)
    assert event is not None
    assert event.data == {
        "name": "send",
        "file_path": "jobs/send.py",
        "schedule": "0 3 * * *",
        "run_id": RUNNING.id,
        "attempt": 3,
        "duration_ms": 2000.0,
    }
    assert (event.source, event.system, event.subject, event.cause) == ("/workbell", True, RUNNING.id, RUNNING.id)
    assert (event.tenant, event.time, event.depth) == ("default", LATER, 1)
    assert event.key == f"job.completed:{RUNNING.id}:5"


def test_what_a_failed_job_tells() -> None:
    text = "ValueError: " + "x" * 10_000 + "the end"
    change = state.fail(RUNNING, LATER, error=text, reason="error", keep=KEEP)
    event = event_of_change(RUNNING, change)
    assert event is not None
    assert (event.data["attempt"], event.data["name"]) == (3, "send")
    assert len(event.data["error"]) <= ERROR_LIMIT
    assert event.data["error"].startswith("ValueError: xxx")
    assert event.data["error"].endswith("the end")


def test_what_a_canceled_run_tells() -> None:
    run = run_in(Status.QUEUED)
    event = event_of_change(run, state.cancel(run, LATER, reason="enough", keep=KEEP))
    assert event is not None
    assert event.data == {"name": "send", "run_id": run.id, "reason": "enough"}


def test_a_start_is_the_same_until_its_handler_was_called() -> None:
    """Handed back before it began and claimed again: the lease is another one, the attempt is not."""
    first = event_of_start(RUNNING, describe)
    again = event_of_start(msgspec.structs.replace(RUNNING, token=6))
    next_try = event_of_start(msgspec.structs.replace(RUNNING, token=7, attempt=4))
    assert first is not None
    assert again is not None
    assert next_try is not None
    assert first.key == again.key != next_try.key
    assert (first.type, first.data["schedule"], first.data["attempt"]) == ("job.started", "0 3 * * *", 3)
    assert event_of_start(msgspec.structs.replace(RUNNING, lane=Lane("default", "default", DELIVERY))) is None


def test_depth_counts_the_events_behind_a_run() -> None:
    run = msgspec.structs.replace(RUNNING, options_text='{"depth":6,"trigger":"t"}')
    event = event_of_change(run, state.succeed(run, LATER, result=None, keep=KEEP))
    assert event is not None
    assert event.depth == 7
    start = event_of_start(run)
    assert start is not None
    assert start.depth == 7
    assert event_of_loss("default", "h/1/2/a", [RUNNING, run], NOW, names_worker=True).depth == 7


def test_what_a_skipped_tick_tells() -> None:
    schedule = make_schedule("0 3 * * *")
    tick = Tick(
        schedule=schedule.id,
        due=NOW,
        until=LATER,
        count=4,
        outcome=TickOutcome.SKIPPED,
        created_at=LATER,
        reason="busy",
    )
    event = event_of_tick(schedule, tick)
    assert (event.type, event.subject, event.tenant) == ("schedule.skipped", schedule.name, schedule.tenant)
    assert event.data == {
        "name": schedule.name,
        "schedule": "0 3 * * *",
        "due": "2030-01-01T12:00:00Z",
        "count": 4,
        "reason": "busy",
    }
    assert (event.depth, event.cause) == (0, None)
    assert event.key == event_of_tick(schedule, tick).key
    assert event.key != event_of_tick(schedule, msgspec.structs.replace(tick, due=LATER)).key


def test_what_a_lost_worker_tells() -> None:
    runs = [run_in(Status.RUNNING, id=f"01890000-0000-7000-8000-{number:012}") for number in range(MOST_RUNS + 5)]
    event = event_of_loss("default", "box/12/34/abc", runs, NOW, names_worker=True)
    key = f"worker.lost:{alias_of('box/12/34/abc')}"
    assert (event.type, event.key, event.subject) == ("worker.lost", key, "box/12/34/abc")
    assert event.data == {
        "worker": "box/12/34/abc",
        "host": "box",
        "runs": [run.id for run in runs[:MOST_RUNS]],
        "count": MOST_RUNS + 5,
    }


def test_what_it_tells_other_tenants() -> None:
    run = run_in(Status.RUNNING)
    event = event_of_loss("acme", "box/12/34/abc", [run], NOW, names_worker=False)
    alias = alias_of("box/12/34/abc")
    assert (event.subject, event.data) == (alias, {"worker": alias, "runs": [run.id], "count": 1})
    named = event_of_loss("acme", "box/12/34/abc", [run], NOW, names_worker=True)
    assert event.key == named.key, "the first one stored counts, whichever program of several stores it"


def test_a_tenant_knows_its_agents() -> None:
    event = event_of_loss("acme", "agent/one/session", (), NOW, names_worker=False)
    assert (event.data["worker"], event.subject) == ("agent/one/session", "agent/one/session")
