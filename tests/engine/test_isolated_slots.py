"""Processes for handlers, one by one: when they are started, replaced and let go; and what cannot be executed."""

from __future__ import annotations

import importlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import Any

import msgspec
import pytest

from tests.support.waiting import until
from tests.unit.makers import run_in
from workbell import Workbell
from workbell.engine.isolated import slots as slots_module
from workbell.engine.isolated.entry import Entry, entry, no_entry
from workbell.engine.isolated.slots import IsolatedSlots
from workbell.engine.outcome import HANDED_BACK, Died, Ended, Failed, Outcome, Returned
from workbell.engine.work import Work
from workbell.model.clock import SystemClock
from workbell.model.run import Lane, Status

APP = """
import os, time
from pathlib import Path
from workbell import Workbell

bell = Workbell({url!r})

@bell.job(isolate="process")
def pid(): return os.getpid()

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

    def make(self, idle: float = 60.0) -> IsolatedSlots:
        done = lambda work, outcome: self.ended.put((work, outcome))  # noqa: E731
        return IsolatedSlots(
            1, SystemClock(), self.bell.registry, lambda: self.make_entry(), lambda _: None, done, idle=idle
        )

    def work(self, job: str = "pid", **arguments: Any) -> Work:
        found = self.bell.registry.find(job)
        assert found is not None
        text = msgspec.json.encode(arguments).decode()
        return Work(run_in(Status.RUNNING, lane=Lane("default", "default", job), input_text=text), found)

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


def test_closing_ends_them_all(stage: Stage) -> None:
    first = stage.pid()
    stage.slots.close()
    assert is_gone(first)


def test_asked_to_stop_before_there_is_a_process(stage: Stage) -> None:
    work = stage.work()
    work.cancel_reason = "not needed"
    assert stage.outcome(work) == Ended("not needed")
    assert work.started_at is None
    work = stage.work()
    work.lost = True
    assert stage.outcome(work) == HANDED_BACK


def test_what_has_not_begun_is_taken_back(stage: Stage, tmp_path: Path) -> None:
    first, second = stage.work("holds", file=str(tmp_path / "begun")), stage.work()
    stage.slots.put([first, second])
    until((tmp_path / "begun").exists, "the first to begin")
    assert stage.slots.take_back() == [second]
    first.release = True
    stage.slots.abandon(first)
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
    monkeypatch.setattr(slots_module, "PREPARE", 2.0)
    assert_unfit(stage.outcome(stage.work()), "not loaded within 2 s")


def test_a_process_that_was_killed_by_somebody(stage: Stage, tmp_path: Path) -> None:
    stage.pid()
    work = stage.work("holds", file=str(tmp_path / "begun"))
    stage.slots.put([work])
    until((tmp_path / "begun").exists, "it to begin")
    (hand,) = stage.slots._hands
    assert hand.process is not None
    os.kill(hand.process.pid, 9)
    assert stage.ended.get(timeout=30)[1] == Died("was killed by signal 9 (SIGKILL, perhaps for want of memory)")
