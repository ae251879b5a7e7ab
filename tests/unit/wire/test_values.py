"""Values over the wire: what the server sends of a run, a worker or an agent, a client reads as the same value."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeVar

import msgspec
import pytest

from tests.unit.makers import NOW, run_in, worker_of
from workbell.model.agent import Agent
from workbell.model.run import Lane, Options, Run, Status
from workbell.model.worker import SeenWorker
from workbell.wire.agents import AgentShown, HandedRun, PairingShown
from workbell.wire.runs import RunShown
from workbell.wire.workers import WorkerShown

T = TypeVar("T", bound=msgspec.Struct)


def received(shown: T, kind: type[T] | None = None) -> T:
    return msgspec.json.decode(msgspec.json.encode(shown), type=kind or type(shown))


RUNS: list[dict[str, Any]] = [
    {},
    {"lane": Lane("acme", "mail", "send", "web-1"), "rank": -7, "input_text": '{"a":[1,2.5]}', "tag": "t"},
    {"user_number": 9, "schedule": "nightly", "event": "e", "retry_of": "r", "rescheduled_from": "s"},
    {"user_number": -5, "options_text": '{"user":"anna","parent":"p"}', "key_text": "job:send:k"},
    {"progress_text": '{"done":1,"total":2,"message":null}', "cancel_requested": True, "accepted_by": "process"},
    {"error": "ValueError: no", "reason": "error", "result_text": '"x"', "finished_at": NOW, "remove_at": NOW},
]


@pytest.mark.parametrize("fields", RUNS)
def test_a_run(fields: dict[str, Any]) -> None:
    run = run_in(Status.RUNNING, **fields)
    assert received(RunShown.of(run)).as_dict() == run.as_dict()


def test_a_worker() -> None:
    worker = worker_of("send", "rest", queues=("a", "b"), drained_at=NOW, drain_seen_at=NOW, stopping=True)
    shown = received(WorkerShown.of(SeenWorker(worker, False, 3, [run_in(Status.RUNNING)])))
    seen = shown.value()
    assert (seen.worker, seen.alive, seen.busy) == (worker, False, 3)
    assert [run.as_dict() for run in seen.runs] == [run_in(Status.RUNNING).as_dict()]


@pytest.mark.parametrize("metrics", [None, '{"load":0.5}'])
def test_an_agent(metrics: str | None) -> None:
    agent = Agent(id="i", name="web-1", created_at=NOW, labels=("gpu",), jobs=("send",), metrics_text=metrics)
    shown = received(AgentShown.of(agent, NOW))
    assert (shown.value(), shown.alive) == (agent, False)
    seen = msgspec.structs.replace(agent, seen_at=NOW - timedelta(seconds=5), enabled=False)
    shown = received(AgentShown.of(seen, NOW))
    assert (shown.value(), shown.alive) == (seen, True)


def test_a_pairing() -> None:
    token = received(PairingShown(id="i", token="wb_x", expires_at=NOW)).value()
    assert (token.id, token.expires_at) == ("i", NOW)


@pytest.mark.parametrize("fields", RUNS)
def test_a_run_that_is_handed_to_an_agent(fields: dict[str, Any]) -> None:
    """All that a handler may see of it, and its lease."""
    run = run_in(Status.RUNNING, **fields)
    handed = received(HandedRun.of(run, handler="code", timeout=5.0, cancel="enough"))
    assert (handed.handler, handed.cancel) == ("code", "enough")
    taken: Run = handed.value("session s", NOW)
    for name in HandedRun.__struct_fields__:
        if name not in ("handler", "timeout", "cancel"):
            assert getattr(taken, name) == getattr(run, name), name
    assert (taken.status, taken.worker, taken.started_at) == (Status.RUNNING, "session s", NOW)
    assert taken.options == Options(timeout=5.0, user=run.options.user)
