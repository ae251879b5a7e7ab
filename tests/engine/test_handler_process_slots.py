"""Processes for handlers, one by one: when they are started, replaced and let go; and what cannot be executed."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import Any

import msgspec
import pytest

from tests.support.bench import Bench
from tests.support.waiting import until
from tests.unit.makers import run_in
from workbell import Workbell
from workbell.engine.handler_processes import slots as slots_module
from workbell.engine.handler_processes.entry import Entry, entry, no_entry
from workbell.engine.handler_processes.slots import IsolatedSlots
from workbell.engine.work import Work
from workbell.model.clock import SystemClock
from workbell.model.outcome import HANDED_BACK, Died, Failed, Outcome, Returned
from workbell.model.run import Lane, Status

APP = """
import os, time
from pathlib import Path
from workbell import Workbell

bell = Workbell({url!r})

@bell.job(isolate="process")
def pid(): return os.getpid()

@bell.job(isolate="process", timeout=5)
async def is_async(): ...

@bell.job(isolate="process")
def surroundings(): return [os.environ.get("SHOP"), os.environ.get("HOME"), os.getcwd()]

@bell.job(isolate="process")
def holds(file: str):
    Path(file).touch()
    time.sleep(600)
"""


class Stage:
    """Slots of an app in a module of its own."""

    def __init__(self, folder: Path, text: str) -> None:
        url = f"sqlite:///{folder / 'workbell.db'}"
        self.file = folder / "shop_in_processes.py"
        self.file.write_text(textwrap.dedent(text.replace("{url!r}", repr(url))))
        self.module: ModuleType = importlib.import_module(self.file.stem)
        self.bell: Workbell = self.module.bell
        self.ended: SimpleQueue[tuple[Work, Outcome]] = SimpleQueue()
        self.make_entry: Callable[[], Entry] = lambda: entry(self.bell.settings, folder, None)
        self.slots = self.make()

    def make(
        self, *, size: int = 1, idle: float = 60.0, done: Callable[[Work, Outcome], None] | None = None
    ) -> IsolatedSlots:
        return IsolatedSlots(
            size,
            SystemClock(),
            self.bell.registry,
            lambda: self.make_entry(),
            lambda _: None,
            done or (lambda work, outcome: self.ended.put((work, outcome))),
            idle=idle,
        )

    def work(self, job: str = "pid", **arguments: Any) -> Work:
        found = self.bell.registry.find(job)
        assert found is not None
        text = msgspec.json.encode(arguments).decode()
        run = run_in(Status.RUNNING, lane=Lane("default", "default", job), input_text=text)
        return Work(run, found, valid_until=None)

    def outcome(self, work: Work) -> Outcome:
        self.slots.put([work])
        ended, outcome = self.ended.get(timeout=60)
        assert ended is work
        return outcome

    def pid(self) -> int:
        outcome = self.outcome(self.work())
        assert isinstance(outcome, Returned), outcome
        return int(outcome.result or 0)


@pytest.fixture
def stage_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Stage]]:
    monkeypatch.syspath_prepend(tmp_path)
    stages: list[Stage] = []

    def make(text: str = APP) -> Stage:
        stages.append(Stage(tmp_path, text))
        return stages[-1]

    yield make
    for stage in stages:
        stage.slots.close()
        sys.modules.pop(stage.file.stem, None)


@pytest.fixture
def stage(stage_of: Callable[[str], Stage]) -> Stage:
    return stage_of(APP)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_one_that_is_not_needed_for_a_while_is_let_go(stage: Stage) -> None:
    stage.slots = stage.make(idle=0.05)
    first = stage.pid()
    until(lambda: is_gone(first), "the idle process to end")
    assert stage.pid() != first


def test_after_so_many_runs_another_takes_its_place(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots_module, "MOST_RUNS", 2)
    pids = [stage.pid() for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_a_job_that_was_loaded_anew_gets_a_new_process(stage: Stage) -> None:
    first = stage.pid()
    stage.file.write_text(stage.file.read_text().replace("return os.getpid()", "return -os.getpid()"))
    importlib.invalidate_caches()
    fresh = importlib.reload(stage.module).bell.registry.find("pid")
    stage.bell.registry.replace([fresh], [])
    assert stage.pid() == -abs(stage.pid()) != -first


def test_what_is_put_when_one_has_ended_finds_its_process_free(stage: Stage) -> None:
    pids: SimpleQueue[Outcome] = SimpleQueue()
    left = [stage.work(), stage.work()]

    def done(_work: Work, outcome: Outcome) -> None:
        pids.put(outcome)
        if left:
            stage.slots.put([left.pop()])

    stage.slots = stage.make(size=3, done=done)
    stage.slots.put([stage.work()])
    first = pids.get(timeout=60)
    assert isinstance(first, Returned)
    assert [pids.get(timeout=60) for _ in range(2)] == [first, first]


def test_surroundings_are_the_workers_at_this_moment(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of what it was forked from are older."""
    stage.pid()
    stage.slots.close()
    monkeypatch.setenv("SHOP", "open")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    stage.slots = stage.make()
    text = msgspec.json.encode(["open", None, str(tmp_path)]).decode()
    assert stage.outcome(stage.work("surroundings")) == Returned(text)


def test_an_async_handler_has_a_moment_to_end_by_itself(stage: Stage) -> None:
    work, moment = stage.work("is_async"), stage.slots.clock.monotonic()
    for seconds, is_over in ((4.9, False), (5.5, False), (6.1, True)):
        work.begun = moment - seconds
        stage.slots.expire(work)
        assert work.timed_out is is_over


def test_closing_ends_them_all(stage: Stage) -> None:
    first = stage.pid()
    stage.slots.close()
    assert is_gone(first)


def test_asked_to_stop_before_there_is_a_process(stage: Stage) -> None:
    work = stage.work()
    work.cancel_reason = "not needed"
    assert stage.outcome(work) is HANDED_BACK  # the booking ends it
    assert work.started_at is None
    work = stage.work()
    work.lost = True
    assert stage.outcome(work) == HANDED_BACK


def test_asked_to_stop_while_its_process_starts(stage: Stage) -> None:
    """Its process is killed before it was ready: that is what was asked for, and no failure of the run."""
    make_entry, work = stage.make_entry, stage.work()

    def asked_for_meanwhile() -> Entry:
        work.cancel_reason = "no longer needed"
        return make_entry()._replace(folder="/nowhere at all")  # it ends at once

    stage.make_entry = asked_for_meanwhile
    assert stage.outcome(work) is HANDED_BACK


def test_one_that_died_while_it_had_nothing_to_do_is_replaced(stage: Stage) -> None:
    first = stage.pid()
    os.kill(first, signal.SIGKILL)
    (slot,) = stage.slots._slots
    until(lambda: slot.process is not None and slot.process.is_dead, "the slot to see it")
    assert stage.pid() not in (first, os.getpid())


def test_what_has_not_begun_is_taken_back(stage: Stage, tmp_path: Path) -> None:
    first, second = stage.work("holds", file=str(tmp_path / "begun")), stage.work()
    stage.slots.put([first, second])
    until((tmp_path / "begun").exists, "the first to begin")
    assert stage.slots.take_back() == [second]
    first.release = True
    stage.slots.stop_work(first)
    assert stage.ended.get(timeout=30) == (first, HANDED_BACK)
    assert first.started_at is not None


# What cannot be executed says why


def assert_unfit(outcome: Outcome, *words: str) -> None:
    assert isinstance(outcome, Failed), outcome
    assert outcome.reason == "isolate"
    for word in words:
        assert word in outcome.error, outcome.error


def test_a_store_that_no_other_process_reaches(stage: Stage) -> None:
    stage.make_entry = lambda: entry(msgspec.structs.replace(stage.bell.settings, url="memory://"), Path(), None)
    assert_unfit(stage.outcome(stage.work()), "memory://", "sqlite:///")
    stage.make_entry = no_entry
    assert_unfit(stage.outcome(stage.work()), "bell.run()")


def test_another_store_in_the_process(stage: Stage) -> None:
    """As with an app that takes its URL from where only the worker looked."""
    stage.make_entry = lambda: entry(msgspec.structs.replace(stage.bell.settings, url="sqlite:///x.db"), Path(), None)
    assert_unfit(stage.outcome(stage.work()), "another store", "sqlite:///x.db")


def test_a_job_that_is_not_where_it_was(stage: Stage) -> None:
    stage.file.write_text(stage.file.read_text().replace("def pid()", "def moved()"))
    assert_unfit(stage.outcome(stage.work()), "no such job as pid in shop_in_processes")


def test_code_that_cannot_be_loaded(stage: Stage) -> None:
    text = stage.file.read_text()
    stage.file.write_text(text + "raise ValueError('not here')\n")
    assert_unfit(stage.outcome(stage.work()), "ValueError: not here")
    stage.file.write_text(text + "os._exit(9)\n")
    assert_unfit(stage.outcome(stage.work()), "exited with code 9 while it loaded")


def test_code_that_is_loaded_for_ever(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.pid()  # what processes are forked from is there, so that another is there in time
    stage.slots.close()
    stage.slots = stage.make()
    stage.file.write_text(stage.file.read_text() + "time.sleep(600)\n")
    monkeypatch.setattr(slots_module, "PREPARE_TIMEOUT", 2.0)
    assert_unfit(stage.outcome(stage.work()), "not loaded within 2 s")


def test_a_process_that_was_killed_by_somebody(stage: Stage, tmp_path: Path) -> None:
    stage.pid()
    work = stage.work("holds", file=str(tmp_path / "begun"))
    stage.slots.put([work])
    until((tmp_path / "begun").exists, "it to begin")
    (hand,) = stage.slots._slots
    assert hand.process is not None
    os.kill(hand.process.pid, 9)
    assert stage.ended.get(timeout=30)[1] == Died("was killed by signal 9 (SIGKILL, perhaps for want of memory)")


# Among others


@pytest.mark.anyio
async def test_inside_an_application_none_outlives_the_engine(stage: Stage) -> None:
    async with stage.bell.running():
        run = await stage.module.pid.aenqueue()
        pid = (await stage.bell.await_(run.id, timeout=60)).result
        assert not is_gone(pid)
    assert is_gone(pid)
    stage.bell.close()


def at_the_top() -> None: ...


def test_a_suspect_with_a_process_of_its_own_need_not_wait_for_empty_hands() -> None:
    """It was lost with its workers, but can take nobody with it."""
    bench = Bench()
    alone = bench.bell.job(name="alone", isolate="process")(at_the_top)
    other = bench.bell.job(name="other")(at_the_top)
    run = alone.enqueue()
    for _ in range(2):
        bench.claim()
        bench.lapse()
    assert bench.run(run).suspect
    other.enqueue()
    assert {work.run.job for work in bench.claim()} == {"alone", "other"}
