"""SIGSTOP of any process at random moments under load: the others go on within ten seconds, and nothing is lost (P7).

Two supervisors, each with a server, a worker and a keeper, share a store. Whoever is stopped may be in the middle of a
claim under a limit, of a tick, of a booking, of a renewal. Whatever it holds, the other processes execute plain and
limited runs, and fire a schedule of every second.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.checker import check, report
from tests.support.fleet import Fleet, Supervisor, stop
from tests.support.processes import file_of, state, turn
from tests.support.waiting import until
from tests.support.worker_app import declare
from workbell import Run, Workbell
from workbell.model.run import LIVE
from workbell.stores.sqlite.lock_holders import can_read_locks

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
ROUNDS = int(os.environ.get("WORKBELL_ROUNDS") or (200 if SOAK else 3))
WITHIN = 10.0  # seconds, after which the others must have gone on
PACE = 0.02  # seconds between two enqueues of the load
LIMIT = 2
EVERY_SECOND = "every-second"


class Load:
    """Enqueues all the while, and watches that no more runs of the limited job are running than may be."""

    def __init__(self, bell: Workbell, site: Fleet) -> None:
        self._bell = bell
        self._site = site
        self._ended = threading.Event()
        self._error: Exception | None = None
        self.most = 0
        self._threads = [threading.Thread(target=self._guarded, args=[work]) for work in (self._enqueue, self._watch)]

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            while not self._ended.is_set():
                work()
        except Exception as error:
            self._error = error

    def _enqueue(self) -> None:
        self._site.recorder.acknowledged(self._bell.enqueue_many([("quick_async", {}), ("limited", {}), ("naps", {})]))
        self._ended.wait(PACE)

    def _watch(self) -> None:
        running = sum(counts.running for counts in self._bell.store.reports.counts() if counts.lane.job == "limited")
        self.most = max(self.most, running)
        self._ended.wait(PACE)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join(60)
        if self._error is not None:
            raise self._error


def everybody(site: Fleet, fleets: list[Supervisor]) -> list[int]:
    """Supervisors, servers, workers and keepers."""
    kinds = ("server", "worker", "keeper")
    return [fleet.pid for fleet in fleets] + [
        pid for fleet in fleets for kind in kinds for pid in site.children_of(fleet, kind)
    ]


def title(pid: int) -> str:
    with suppress(OSError):
        return f"process {pid} ({Path(f'/proc/{pid}/comm').read_text().strip()})"
    return f"process {pid}"


def freeze_one(site: Fleet, fleets: list[Supervisor], chance: random.Random, url: str) -> int:
    """Stop a process, also inside a write: its supervisor ends it then. Where the system has no list of locks it cannot
    know, which is said in docs/how-to/workers.md; there, not inside a write to SQLite."""
    file = None if can_read_locks() else file_of(url)
    while True:
        victim = chance.choice(everybody(site, fleets))
        time.sleep(chance.random() * 0.05)
        with suppress(ProcessLookupError), turn(file):
            os.kill(victim, signal.SIGSTOP)
            until(lambda pid=victim: state(pid) in "TtZX", "it to stop")
            return victim


def await_progress(bell: Workbell, site: Fleet, what: str) -> float:
    """Runs that were enqueued just now are executed, and a tick is fired; after how many seconds."""
    began, moment = time.monotonic(), datetime.now(UTC)
    runs: list[Run] = bell.enqueue_many([("quick_async", {}), ("limited", {})])
    site.recorder.acknowledged(runs)

    def missing() -> list[str]:
        left = [run.job for run in runs if not bell.get(run.id).status.final]
        ticks = bell.schedules.ticks(EVERY_SECOND, limit=3)
        return left if any(tick.due > moment for tick in ticks) else [*left, "tick"]

    last: list[str] = []
    while left := missing():
        passed, last = time.monotonic() - began, left
        assert passed < WITHIN, f"{what}: the others did not go on within {WITHIN:g} s: {left}"
        time.sleep(0.05)
    seconds = time.monotonic() - began
    if seconds > WITHIN / 2:
        print(f"{what}: the others went on after {seconds:.1f} s; the last to come: {', '.join(last)}")
    return seconds


@pytest.mark.timeout(3600 if SOAK else 110)
def test_the_others_go_on(tmp_path: Path, sql_store_url: str, record_property: Callable[[str, object], None]) -> None:
    seed = os.environ.get("WORKBELL_SEED") or str(random.randrange(10**6))
    print(f"WORKBELL_SEED={seed}")
    chance = random.Random(seed)
    settings = {"LEASE": "2", "SWEEP": "0.5", "POLL": "0.2", "LOG_LEVEL": "warning"}
    with Fleet(tmp_path, sql_store_url, **settings) as site, Workbell(sql_store_url) as bell:
        declare(bell, site.recorder, site.gates)
        for name in ("limited", "naps"):
            bell.job(name=name, concurrency=LIMIT if name == "limited" else None)(lambda: None)
        bell.store.check()
        fleets = [site.supervise("start", "--processes", "1") for _ in range(2)]
        for fleet in fleets:
            site.await_workers(fleet, 1)
            site.await_workers(fleet, 1, "server")
        bell.schedules.put(EVERY_SECOND, job="quick_plain", cron="* * * * * *")
        load, slowest = Load(bell, site), 0.0
        with load.going_on():
            await_progress(bell, site, "undisturbed")
            for number in range(ROUNDS):
                victim = freeze_one(site, fleets, chance, sql_store_url)
                try:
                    seconds = await_progress(bell, site, f"round {number}: {title(victim)} is stopped")
                    slowest = max(slowest, seconds)
                finally:
                    with suppress(ProcessLookupError):  # it may have been in the way, and was ended
                        os.kill(victim, signal.SIGCONT)
        print(f"the slowest went on after {slowest:.1f} s")
        record_property("seconds until the others went on", round(slowest, 1))
        bell.schedules.pause(EVERY_SECOND)
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 60)
        for fleet in fleets:
            assert stop(fleet) == 0
        violations = check(bell.store, site.events())
        assert not violations, report(violations)
        assert 0 < load.most <= LIMIT
