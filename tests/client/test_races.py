"""Racing for a key: a duplicate is an answer, never an error of the database.

Callers of one store take turns by themselves, so each race here is run through several stores on one database, as
by several processes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any

import pytest

from tests.client.conftest import finish, take
from tests.support.inside.stores import open_store
from workbell import DuplicateRun, Workbell

THREADS = 16
STORES = 4


@pytest.fixture
def rivals(bell: Workbell, send: Any, store_url: str) -> Iterator[list[Any]]:
    """The job `send` for each thread, each time through another store."""
    others = []
    for _ in range(STORES - 1):
        other = Workbell(store=open_store(store_url), settings=bell.settings)
        others.append((other, other.job(queue="mail")(send.function)))
    jobs = cycle([send, *(job for _, job in others)])
    yield [next(jobs) for _ in range(THREADS)]
    for other, _ in others:
        other.close()


def race(rivals: list[Any], act: Any) -> list[Any]:
    """Have every rival act at the same moment; the answers."""
    start = threading.Barrier(len(rivals))

    def begin(job: Any) -> Any:
        start.wait(30)
        return act(job)

    with ThreadPoolExecutor(len(rivals)) as threads:
        return list(threads.map(begin, rivals))


def test_one_key_makes_one_run(bell: Workbell, rivals: list[Any]) -> None:
    answers = race(rivals, lambda send: [send.options(key=f"k{turn}").enqueue("x").id for turn in range(10)])
    for turn in range(10):
        assert len({answer[turn] for answer in answers}) == 1
    assert len(bell.runs()) == 10


def test_replacing_one_key_leaves_one_run(bell: Workbell, send: Any, rivals: list[Any]) -> None:
    replace = {"key": "k", "on_duplicate": "replace"}
    answers = race(rivals, lambda job: [job.options(**replace).enqueue("x").id for _ in range(5)])
    assert len({run_id for answer in answers for run_id in answer}) == THREADS * 5
    (left,) = bell.runs(status="queued")
    assert len(bell.runs(status="canceled")) == THREADS * 5 - 1
    assert send.options(key="k").enqueue("x").id == left.id


def test_with_rejection_there_is_one_winner(bell: Workbell, rivals: list[Any]) -> None:
    def act(send: Any) -> tuple[bool, str]:
        try:
            return True, send.options(key="k", on_duplicate="reject").enqueue("x").id
        except DuplicateRun as error:
            return False, error.run_id

    answers = race(rivals, act)
    (run,) = bell.runs()
    assert {run_id for _, run_id in answers} == {run.id}  # the others were told who won
    assert [won for won, _ in answers].count(True) == 1


def test_a_key_is_reused_while_its_runs_end(bell: Workbell, rivals: list[Any]) -> None:
    """Enqueue and finish race over one key: every answer is a run that was made, and each is worked on once."""
    stop = threading.Event()

    def work() -> list[str]:
        done: list[str] = []
        while not stop.is_set() or bell.runs(status="queued"):
            done += [finish(bell, run).id for run in take(bell)]
        return done

    with ThreadPoolExecutor(1) as threads:
        worker = threads.submit(work)
        try:
            answers = race(rivals, lambda send: {send.options(key="k").enqueue("x").id for _ in range(10)})
        finally:
            stop.set()
        assert sorted(worker.result(60)) == sorted(set().union(*answers))


def test_many_threads_enqueue_and_every_run_is_there(bell: Workbell, rivals: list[Any]) -> None:
    answers = race(rivals, lambda send: [send.enqueue(str(number)).id for number in range(20)])
    made = {run_id for answer in answers for run_id in answer}
    assert len(made) == THREADS * 20
    assert {run.id for run in bell.runs(limit=1000)} == made
