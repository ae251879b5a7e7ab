"""A consumer in another language (`examples/javascript_consumer`), by the protocol's page alone, beside ours (D10)."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import anyio
import msgspec
import pytest

from tests.cloudflare.miniflare import DEADLINE, HERE, ROOT, TOKEN, Miniflare
from tests.support.processes import kill
from tests.support.waiting import until
from workbell import Retry, Status, Workbell
from workbell.model.ids import new_id
from workbell.model.job import Job
from workbell.model.outcome import OutsideWindow
from workbell.model.run import AttemptStatus, Lane, NewRun, Options, Outside, Run, RunWindow
from workbell.scheduling.rule import judge_start
from workbell.settings import Settings

CONSUMER = ROOT / "examples" / "javascript_consumer" / "consumer.mjs"
LEASE = 3


class Consumer:
    """The process, and what it prints."""

    def __init__(self, address: str) -> None:
        environment = os.environ | {"BRIDGE": address, "TOKEN": TOKEN, "LEASE": str(LEASE), "POLL": "0.1"}
        command = ["node", str(CONSUMER), str(HERE / "consumer_handlers.mjs")]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def hears(self, text: str) -> None:
        until(lambda: any(text in line for line in self.lines), f"it says {text!r}", DEADLINE)


@contextmanager
def consuming(address: str) -> Iterator[Consumer]:
    consumer = Consumer(address)
    try:
        yield consumer
    finally:
        kill(consumer.process)
        consumer._reader.join(DEADLINE)


@pytest.fixture
def bell(url: str) -> Iterator[Workbell]:
    """Declares the jobs and works on nothing, unless a test starts it."""
    with Workbell(settings=Settings(url=url, poll=0.2, lease=LEASE, sweep=0.3)) as bell:
        for name in ("greet", "fails", "gives_up", "slow", "stops", "limited", "unknown"):
            bell.job(name=name, concurrency=1 if name == "limited" else None)(lambda **_: None)
        bell.store.jobs.put([limited()])
        yield bell


def limited() -> Job:
    """The definition that tells others of its limit, as a worker of ours writes it."""
    now = datetime.now(UTC)
    return Job(id=new_id(), name="limited", handler="here", concurrency=1, created_at=now, updated_at=now)


@pytest.mark.parametrize(
    ("given", "words", "told"),
    [
        ({}, ["handlers.mjs"], "usage: BRIDGE=https://"),
        ({"BRIDGE": "https://x.example"}, ["handlers.mjs"], "usage: BRIDGE=https://"),
        ({"BRIDGE": "https://x.example", "TOKEN": "x"}, [], "usage: BRIDGE=https://"),
        ({"BRIDGE": "http://x.example", "TOKEN": "x"}, ["handlers.mjs"], "BRIDGE: over http://"),
    ],
)
def test_what_is_missing_is_one_line(given: dict[str, str], words: list[str], told: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("BRIDGE", "TOKEN")}
    command = ["node", str(CONSUMER), *words]
    done = subprocess.run(command, env=environment | given, capture_output=True, text=True, timeout=DEADLINE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


def test_a_bridge_that_cannot_be_reached_is_named() -> None:
    with consuming("http://127.0.0.1:1") as consumer:
        consumer.hears("http://127.0.0.1:1: fetch failed: ")


def test_runs_are_worked_off(bell: Workbell, address: str) -> None:
    """Priorities, delays, keys, schedules' reports: as if it were ours."""
    done = bell.enqueue("greet", {"name": "Ada \N{SNOWMAN}"}, key="once", priority=5)
    later = bell.enqueue("greet", {"name": "later"}, delay=1)
    with consuming(address) as consumer:
        run = bell.wait(done.id, timeout=DEADLINE)
        assert (run.status, run.result, run.attempt, run.error) == (Status.SUCCEEDED, "Hello, Ada \N{SNOWMAN}", 1, None)
        assert run.worker is not None
        assert f"consumer {run.worker}" in consumer.lines
        assert run.started_at is not None
        assert run.finished_at is not None
        assert run.remove_at == run.finished_at + timedelta(days=7)
        assert bell.wait(later.id, timeout=DEADLINE).result == "Hello, later"
        assert bell.enqueue("greet", {"name": "x"}, key="once").id != done.id, "the key was freed"
        consumer.process.send_signal(signal.SIGTERM)
        assert consumer.process.wait(DEADLINE) == 0


def test_jobs_that_no_python_program_has(url: str, address: str) -> None:
    """D10: the store knows them as definitions that are their own handlers, with their retries."""
    with Workbell(url) as bell:
        bell.jobs.put("greet", handler="greet", input={"name": "all"})
        bell.jobs.put("gives_up", handler="gives_up", retry=Retry(attempts=2, delay=0))
        bell.jobs.put("fails", handler="fails")
        done, failed, left = (bell.enqueue(name) for name in ("greet", "gives_up", "fails"))
        bell.jobs.disable("fails")
        assert "Job 'greet' is its own handler, so its code is in another language" in bell.why(done.id)
        with consuming(address):
            assert bell.wait(done.id, timeout=DEADLINE).result == "Hello, all"
            run = bell.wait(failed.id, timeout=DEADLINE)
            assert (run.status, run.attempt, run.error) == (Status.FAILED, 2, "RangeError: never")
            assert bell.get(left.id).status is Status.QUEUED
            bell.jobs.enable("fails")
            assert bell.wait(left.id, timeout=DEADLINE).result == 2


def test_failures_are_tried_again_by_the_policy(bell: Workbell, address: str) -> None:
    again = bell.enqueue("fails", retry=Retry(attempts=3, delay=0.1))
    last = bell.enqueue("gives_up", retry=Retry(attempts=9, delay=0, give_up_on=("RangeError",)))
    with consuming(address):
        run = bell.wait(again.id, timeout=DEADLINE)
        assert (run.status, run.result, run.failures) == (Status.SUCCEEDED, 2, 1)
        first, _ = bell.attempts(again.id)
        assert (first.number, first.status, first.error) == (1, AttemptStatus.FAILED, "TypeError: not yet")
        run = bell.wait(last.id, timeout=DEADLINE)
        assert (run.status, run.error, run.reason) == (Status.FAILED, "RangeError: never", "error")


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Australia/Lord_Howe"])
def test_windows_are_kept(bell: Workbell, address: str, zone: str) -> None:
    """A run of a tick, late by hours; and its like with `skip`, in an open window, and repeated by somebody."""
    now = datetime.now(UTC)
    local = now.astimezone(ZoneInfo(zone)).replace(second=0, microsecond=0)
    later = RunWindow(f"{local + timedelta(hours=5):%H:%M}", f"{local + timedelta(hours=6):%H:%M}", zone)
    here = RunWindow(f"{local - timedelta(hours=1):%H:%M}", f"{local + timedelta(hours=1):%H:%M}", zone)
    late, ends = of_a_tick(later, now), of_a_tick(msgspec.structs.replace(later, outside=Outside.SKIP), now)
    inside, repeated = of_a_tick(here, now), of_a_tick(None, now)
    bell.store.runs.add([late, ends, inside, repeated])
    opening = judge_start(late.run, now)
    with consuming(address) as consumer:
        consumer.hears(f"{late.run.id} put off")
        waiting = bell.get(late.run.id)
        assert OutsideWindow(waiting.scheduled_for) == opening
        assert (waiting.status, waiting.attempt, waiting.reason) == (Status.SCHEDULED, 0, "outside the window")
        assert (bell.attempts(waiting.id), waiting.worker) == ([], None)
        ended = bell.wait(ends.run.id, timeout=DEADLINE)
        assert (ended.status, ended.reason, ended.started_at) == (Status.CANCELED, "window", None)
        for run in (inside.run, repeated.run):
            assert bell.wait(run.id, timeout=DEADLINE).status is Status.SUCCEEDED


def of_a_tick(window: RunWindow | None, now: datetime) -> NewRun:
    text = msgspec.json.encode(Options(window=window)).decode()
    run = Run(new_id(), Lane("default", "default", "greet"), Status.QUEUED, 0, now, now, now, input_text='{"name":"x"}')
    return NewRun(msgspec.structs.replace(run, options_text=text, schedule=new_id()))


def test_a_long_run_is_renewed_past_its_lease(bell: Workbell, address: str) -> None:
    """An engine beside it looks for leases that have ended, all the time."""
    run = bell.enqueue("slow", {"seconds": 2 * LEASE + 1})
    with consuming(address) as consumer:
        consumer.hears("slow begins")
        sweep_until(bell, run.id)
        done = bell.get(run.id)
        assert (done.status, done.attempt, done.losses) == (Status.SUCCEEDED, 1, 0)


def test_one_whose_lease_was_lost_is_fenced_off(bell: Workbell, address: str) -> None:
    """Frozen until another has the run; what it wants to write then is refused."""
    run = bell.enqueue("slow", {"seconds": 1})
    with consuming(address) as consumer:
        consumer.hears("slow begins")
        consumer.process.send_signal(signal.SIGSTOP)
        sweep_until(bell, run.id)
        done = bell.get(run.id)
        assert (done.status, done.attempt, done.losses) == (Status.SUCCEEDED, 2, 1)
        assert done.result is None, "by the handler of ours"
        consumer.process.send_signal(signal.SIGCONT)
        consumer.hears(f"{run.id} lost")
        assert bell.get(run.id) == done


def sweep_until(bell: Workbell, run_id: str) -> None:
    async def engine() -> None:
        async with bell.running():
            await bell.await_(run_id, timeout=DEADLINE)

    anyio.run(engine)


def test_a_cancel_reaches_it(bell: Workbell, address: str) -> None:
    run = bell.enqueue("stops")
    with consuming(address) as consumer:
        consumer.hears("stops begins")
        bell.cancel(run.id, "enough")
        done = bell.wait(run.id, timeout=DEADLINE)
        assert (done.status, done.reason) == (Status.CANCELED, "enough")


def test_what_it_leaves_to_others(bell: Workbell, address: str) -> None:
    """Jobs that it does not know, runs for agents, what is paused, and jobs and tenants with limits."""
    bell.tenants.put("acme", rate="100/m")
    left = [bell.for_tenant("acme").enqueue("greet", {"name": "x"}), bell.enqueue("limited"), bell.enqueue("unknown")]
    left += [bell.enqueue("greet", {"name": "x"}, target="box")]
    bell.pauses.pause(queue="slow-lane")
    left.append(bell.enqueue("greet", {"name": "x"}, queue="slow-lane"))
    with consuming(address):
        assert bell.wait(bell.enqueue("greet", {"name": "y"}).id, timeout=DEADLINE).status is Status.SUCCEEDED
        found = bell.store.runs.find(run.id for run in left).values()
        assert [run.status for run in found] == [Status.QUEUED] * 5


@pytest.mark.parametrize("kind", ["lost", "never", "after"])
def test_lost_answers(kind: str, bell: Workbell, address: str, miniflare: Miniflare) -> None:
    """Every seventh call fails, or its answer does; each run is still ended once."""
    ids = [bell.enqueue("greet", {"name": f"n{n}"}).id for n in range(12)]
    miniflare.fault(address, kind=kind, every=7, message="D1_ERROR: Network connection lost.")
    with consuming(address) as consumer:

        def ended() -> bool:
            return sum("succeeded" in line or "written before" in line for line in consumer.lines) >= len(ids)

        until(ended, "all are ended", DEADLINE)
        assert miniflare.mend(address) > 3
        runs = [bell.get(one) for one in ids]
        assert [(run.status, run.attempt) for run in runs] == [(Status.SUCCEEDED, 1)] * len(ids)
