"""Agents over a line that loses, delays, duplicates and reorders requests and answers (E7).

A world of discrete events over the real verbs: two processes with one identity poll, renew and report through a line
that a seeded Random spoils, while time passes and leases run out. Whatever arrives, each run ends once, and only what
was told under the lease that was held is written.
"""

from __future__ import annotations

import heapq
import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from workbell import Retry, Workbell
from workbell.agents import working
from workbell.agents.lease_standing import LeaseStanding, lease_standing
from workbell.agents.working import HandedOut
from workbell.engine.recover import Recover
from workbell.errors import LeaseLost
from workbell.model.agent import Agent, Ending
from workbell.model.clock import ManualClock
from workbell.model.run import AttemptStatus, Run, Status
from workbell.model.state import Move, Transition
from workbell.settings import Settings
from workbell.stores.port import Held, Store
from workbell.stores.sqlite.store import SqliteStore
from workbell.testing.sqlite_files import SqliteFiles
from workbell.wire.agents import AttemptReport, LeaseShown

SOAK = bool(os.environ.get("WORKBELL_SOAK"))
SEEDS = range(60) if SOAK else range(2)
RUNS = 200 if SOAK else 100
LEASE = 5.0


class World:
    """Time, and what will happen when."""

    def __init__(self, seed: int, store: Store) -> None:
        self.random = Random(seed)
        self.store = store
        self.clock: Any = store.clock
        self.bell = Workbell(store=self.store, settings=Settings())
        self.agent: Agent = self.bell.agents.pair(self.bell.agents.pairing("web-1").text).agent
        self.written: list[tuple[Run, Transition]] = []
        bus = self.bell.runtime.publisher.bus
        bus.wanted = frozenset(Move)
        bus.moved = self.written.extend  # type: ignore[method-assign,assignment]
        self._future: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._future, (self.clock.monotonic() + seconds, next(self._numbers), what))

    def again_and_again(self, pace: float, what: Callable[[], object]) -> None:
        def step() -> None:
            what()
            self.later(pace, step)

        self.later(pace, step)

    def run_until(self, condition: Callable[[], bool], limit: float) -> None:
        while not condition():
            at, _, what = heapq.heappop(self._future)
            self.clock.advance(max(at - self.clock.monotonic(), 0))
            assert self.clock.monotonic() < limit, "it did not come to an end"
            what()

    def delay(self) -> float:
        """Mostly short; now and then longer than a lease, so that others overtake it."""
        return self.random.choice([0.01, 0.1, 0.5, 2.0]) if self.random.random() < 0.93 else self.random.uniform(5, 70)

    def send(self, line: Line, call: Callable[[], Any], answered: Callable[[Any], None]) -> None:
        """A request through the line: none, one or two arrive, and so do the answers."""
        for _ in range(self.random.choices([0, 1, 2], [10, 75, 15])[0]):
            self.later(line.outage() + self.delay(), lambda: self._arrive(line, call, answered))

    def _arrive(self, line: Line, call: Callable[[], Any], answered: Callable[[Any], None]) -> None:
        try:
            answer = call()
        except LeaseLost as error:
            answer = error
        for _ in range(self.random.choices([0, 1, 2], [10, 80, 10])[0]):
            self.later(line.outage() + self.delay(), lambda: answered(answer))


class Line:
    """What is sent while the line is down arrives when it is up again, after leases have run out."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._up_at = 0.0
        world.again_and_again(40, self._go_down)

    def _go_down(self) -> None:
        self._up_at = self._world.clock.monotonic() + self._world.random.uniform(3, 20)

    def outage(self) -> float:
        return max(self._up_at - self._world.clock.monotonic(), 0.0)


class Process:
    """One process of the agent: what it has, what it tells, and what it was told became of that."""

    def __init__(self, world: World, session: str) -> None:
        self.world = world
        self.session = session
        self.line = Line(world)
        self.working = world.bell.agents.working
        self.holding: dict[str, int] = {}
        self.attempts = Counter[str]()  # the last that was handed out, by run
        self.reports: dict[tuple[str, int], AttemptReport] = {}
        self.answers: list[tuple[str, int, Any]] = []
        world.again_and_again(world.random.uniform(1, 2), self.poll)
        world.again_and_again(LEASE / 3, self.beat)
        world.again_and_again(2, self.report)

    @property
    def held(self) -> list[Held]:
        return [Held(run_id, token) for run_id, token in self.holding.items()]

    def poll(self) -> None:
        free, held = 8 - len(self.holding), self.held
        if free > 0:
            call = lambda: self.working.poll(  # noqa: E731
                self.world.agent, self.session, capacity=free, holding=held, lease=LEASE
            )
            self.world.send(self.line, call, self.handed)

    def handed(self, answer: list[HandedOut]) -> None:
        for one in answer:
            run_id, token = one.run.id, one.run.token
            if (run_id, token) in self.reports or self.holding.get(run_id) == token:
                continue  # an answer that came twice
            if one.run.attempt < self.attempts[run_id]:
                continue  # or late
            self.holding[run_id], self.attempts[run_id] = token, one.run.attempt
            self.world.later(self.world.random.expovariate(0.2), lambda i=run_id, t=token: self.done(i, t))

    def done(self, run_id: str, token: int) -> None:
        if self.holding.get(run_id) != token:
            return
        told = {"session": self.session, "token": token}
        chance = self.world.random.random()
        if chance < 0.75:
            report = AttemptReport(status=Ending.SUCCEEDED, result=told)
        elif chance < 0.9:
            report = AttemptReport(status=Ending.FAILED, error=f"{self.session} {token}", result=told)
        else:
            report = AttemptReport(status=self.world.random.choice([Ending.SNOOZED, Ending.RELEASED]), retry_after=3)
        self.reports[run_id, token] = report
        self.post(run_id, token)

    def report(self) -> None:
        """What was not taken yet is told again."""
        for run_id, token in list(self.holding.items()):
            if (run_id, token) in self.reports:
                self.post(run_id, token)

    def post(self, run_id: str, token: int) -> None:
        report = self.reports[run_id, token]
        self.world.send(
            self.line,
            lambda: self.working.result(self.world.agent, run_id, token, report, self.session),
            lambda answer: self.taken(run_id, token, answer),
        )

    def taken(self, run_id: str, token: int, answer: Any) -> None:
        self.answers.append((run_id, token, answer))
        if self.holding.get(run_id) == token:
            del self.holding[run_id]

    def beat(self) -> None:
        held = self.held
        if held:
            call = lambda: self.working.heartbeat(  # noqa: E731
                self.world.agent, self.session, holding=held, lease=LEASE
            )
            self.world.send(self.line, call, self.kept)

    def kept(self, answer: list[LeaseShown]) -> None:
        for one in answer:
            if not one.held and self.holding.get(one.id) == one.token:
                del self.holding[one.id]


@pytest.fixture
def store(tmp_path: Path, sqlite_files: SqliteFiles) -> Iterator[Store]:
    path = tmp_path / "workbell.db"
    sqlite_files.make(path)
    store = SqliteStore(path, ManualClock())
    yield store
    store.close()


def play(store: Store, seed: int, size: int = RUNS) -> tuple[World, list[Process], list[Run]]:
    world = World(seed, store)
    retry = Retry(attempts=50, delay=1)
    runs = [world.bell.enqueue("a", {"n": n}, target="web-1", retry=retry) for n in range(size)]
    now = world.clock.now
    recover = Recover(world.store, world.bell.runtime.booking, lambda _: None, 1)
    world.again_and_again(1, lambda: recover.step(now()))
    world.again_and_again(1, lambda: world.store.runs.dispatch(now(), 1000))
    processes = [Process(world, session) for session in ("s1", "s2")]
    world.run_until(lambda: not world.store.reports.counts(), 20_000)
    world.run_until(lambda: all(not process.holding for process in processes), 40_000)
    world.bell.runtime.close()
    return world, processes, runs


def verdicts(world: World, processes: list[Process], runs: list[Run]) -> list[str]:
    """What is wrong: the oracle knows from what it was told, not from the guards."""
    wrong = []
    finals = Counter(run.id for run, change in world.written if change.status.final)
    set_aside = {run.id for run in runs if world.bell.get(run.id).reason == "crashed"}
    wrong += [f"{run.id} ended {finals[run.id]} times" for run in runs if finals[run.id] != (run.id not in set_aside)]
    told = {(run_id, token, p.session): report for p in processes for (run_id, token), report in p.reports.items()}
    for run in runs:
        for one in world.bell.attempts(run.id):
            session = (one.worker or "").rpartition("/")[2]
            report = told.get((run.id, one.token, session))
            if one.status is AttemptStatus.LOST or run.id in set_aside:
                continue
            if report is None or (report.result is not None and one.result != report.result):
                wrong.append(f"{run.id}: attempt {one.number} has what {session} did not tell: {one.result}")
    for process in processes:
        for run_id, token, answer in process.answers:
            ended = {one.token: one for one in world.bell.attempts(run_id)}.get(token)
            own = ended is not None and (ended.worker or "").endswith(process.session)
            is_booked = ended is not None and own and ended.status is not AttemptStatus.LOST
            if isinstance(answer, LeaseLost) == is_booked and run_id not in set_aside:
                wrong.append(f"{run_id}: {process.session} was told {answer!r} of token {token}, and it was {ended}")
    return wrong


@pytest.mark.parametrize("seed", SEEDS)
def test_each_run_ends_once_whatever_the_line_does(store: Store, seed: int) -> None:
    world, processes, runs = play(store, seed)
    assert verdicts(world, processes, runs) == []
    assert all(world.bell.get(run.id).status in (Status.SUCCEEDED, Status.FAILED) for run in runs)
    statuses = Counter(one.status for run in runs for one in world.bell.attempts(run.id))
    lost = sum(isinstance(answer, LeaseLost) for process in processes for _, _, answer in process.answers)
    again = sum(answer is False for process in processes for _, _, answer in process.answers)
    assert statuses[AttemptStatus.LOST] > 0, "no lease was lost: the line was too good to show anything"
    assert lost > 0
    assert again > 0


@pytest.mark.parametrize("guard", ["token", "session", "standing"])
def test_the_oracle_sees_a_missing_guard(store: Store, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each guard is for: without it something is written, or said, that was not so."""

    def lax(store: Any, run: Run, worker: str, token: int) -> LeaseStanding:
        found = real(store, run, worker, token)
        running = run.status is Status.RUNNING
        if guard == "token" and running and run.worker == worker:
            return LeaseStanding.HELD
        if guard == "session" and running:
            return LeaseStanding.HELD
        if guard == "standing" and found is LeaseStanding.LOST:
            return LeaseStanding.SETTLED
        return found

    real = lease_standing
    monkeypatch.setattr(working, "lease_standing", lax)
    assert verdicts(*play(store, 1, 100))
