"""P98: outcomes that a worker could not book: kept within bounds, handed over to the keeper, booked there as here."""

from __future__ import annotations

import logging
import multiprocessing
import threading
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.bench import Bench
from tests.support.subscribing import stored, subscribe
from tests.support.waiting import until
from workbell import Context, Retry, Run, Status, Workbell
from workbell.engine import consume as consume_module
from workbell.engine import finish as finish_module
from workbell.engine.finish import KeptOutcome
from workbell.engine.work import Work
from workbell.model.log_line import LogLine
from workbell.model.outcome import HANDED_BACK, NOTHING, Returned
from workbell.stores.port import Store
from workbell.workers.keeper import Keeper
from workbell.workers.messages import (
    Bury,
    DeathVerdict,
    Message,
    OutcomesKept,
    OutcomesSettled,
    Stop,
    StoreNamed,
    decode,
    encode,
)
from workbell.workers.pipe import Pipe

WORKER = "box/1/2/a"


class Scene:
    """A worker that could not book what its handlers returned, and a keeper, on one store."""

    def __init__(self, store: Store, url: str) -> None:
        self._url = url
        self.worker = Bench(store, name=WORKER)
        self.bell = bell = self.worker.bell

        @bell.job
        def work(ctx: Context) -> dict[str, int]:
            return {"attempt": ctx.run.attempt}

        @bell.job(retry=Retry(attempts=3, delay=60))
        def breaks() -> None:
            raise ValueError("broken")

        @bell.job(retry=Retry(attempts=1))
        def breaks_for_good() -> None:
            raise ValueError("broken")

    def claim(self) -> list[Work]:
        return self.worker.claim()

    def end(self, works: list[Work]) -> None:
        """Their handlers end, and nothing is booked."""
        for work in works:
            self.worker.finish.put(work, self.worker.call(work))

    def hand_over(self) -> list[KeptOutcome]:
        taken: list[KeptOutcome] = []
        self.worker.finish.hand_over(lambda kept: bool(taken.extend(kept) or True), 5)
        return taken

    def keep(self, *messages: Message) -> list[str]:
        """A keeper gets these messages, as they come out of a pipe, and ends; what it has settled."""
        here, there = multiprocessing.Pipe()
        supervisor, pipe = Pipe(here, "keeper"), Pipe(there, "supervisor")
        for message in [*messages, Stop()]:
            assert supervisor.send(decode(encode(message)))
        Keeper(StoreNamed(self._url, 30.0, 60.0, 60.0), pipe).run()
        settled = []
        while supervisor.waits():
            match supervisor.receive():
                case OutcomesSettled(ids):
                    settled += ids
                case _:
                    break
        supervisor.close()
        pipe.close()
        return settled


@pytest.fixture
def scene(sqlite_url: str) -> Iterator[Scene]:
    with Workbell(sqlite_url) as bell:
        bell.store.check()
        yield Scene(bell.store, sqlite_url)


def bury(*executing: Run) -> Bury:
    return Bury(WORKER, "exited with code 3", DeathVerdict.INNOCENT, [run.id for run in executing], [])


def test_the_keeper_books_them_before_it_gives_anything_back(scene: Scene) -> None:
    """With all that rides on a move: the result, a retry, an attempt, a key, an event, a run that follows, progress."""
    bell = scene.bell
    subscribe(bell.store, "job.completed")
    bell.runtime.publisher.poll()
    done = bell.enqueue("work", key="once")
    retried = bell.enqueue("breaks")
    failed = bell.enqueue("breaks_for_good", auto_reschedule=3600)
    lost = bell.enqueue("work")
    works = {work.run.id: work for work in scene.claim()}
    scene.end([works[run.id] for run in (done, retried, failed)])
    reports, held = scene.worker.reports, works[done.id].held
    for number in (1, 2):  # the second waits here: the first has just been written
        reports.progress(held, f'{{"done":{number},"total":2,"message":null}}')
    reports.save_line(held.token, LogLine(done.id, 1, 0, bell.store.clock.now(), "INFO", "the last words"))
    kept = scene.hand_over()
    assert {one.run.id for one in kept} == {done.id, retried.id, failed.id}
    assert scene.keep(OutcomesKept("parcel", WORKER, kept), bury(lost, done)) == ["parcel"]

    ended = bell.get(done.id)
    assert (ended.status, ended.attempt, ended.losses, ended.result) == (Status.SUCCEEDED, 1, 0, {"attempt": 1})
    assert ended.progress == {"done": 2, "total": 2, "message": None}
    assert [line.message for line in bell.logs(done.id)] == ["the last words"]
    assert bell.enqueue("work", key="once").id != done.id, "its key is free again"
    again = bell.get(retried.id)
    assert (again.status, again.failures, again.losses) == (Status.SCHEDULED, 1, 0)
    assert [attempt.status.value for attempt in bell.attempts(retried.id)] == ["failed"]
    assert bell.get(failed.id).status is Status.FAILED
    (follow,) = bell.runs(job="breaks_for_good", status="scheduled")
    assert follow.rescheduled_from == failed.id
    assert [event.data["run_id"] for event in stored(bell.store, "job.completed")] == [done.id]
    assert (bell.get(lost.id).status, bell.get(lost.id).losses) == (Status.QUEUED, 1)


def test_a_key_that_an_open_transaction_holds_stops_nothing_else(postgres_url: str) -> None:
    """The keeper books the other outcomes and gives back what dead workers held; that one is booked when it can be."""
    with Workbell(postgres_url) as own, psycopg.connect(postgres_url) as caller:
        own.store.check()
        scene = Scene(own.store, postgres_url)
        bell = scene.bell
        held, free, plain = bell.enqueue("work", key="held"), bell.enqueue("work", key="free"), bell.enqueue("work")
        lost = bell.enqueue("work")
        works = {work.run.id: work for work in scene.claim()}
        scene.end([works[run.id] for run in (held, free, plain)])
        kept = scene.hand_over()
        assert bell.enqueue("work", key="held", connection=caller).id == held.id
        lease = bell.get(held.id).lease_until

        def statuses() -> list[Status]:
            return [bell.get(run.id).status for run in (held, free, plain, lost)]

        here, there = multiprocessing.Pipe()
        supervisor, pipe = Pipe(here, "keeper"), Pipe(there, "supervisor")
        keeper = threading.Thread(target=Keeper(StoreNamed(postgres_url, 3.0, 60.0, 60.0), pipe).run)
        keeper.start()
        try:
            assert supervisor.send(OutcomesKept("parcel", WORKER, kept))
            assert supervisor.send(bury(lost))
            done = [Status.RUNNING, Status.SUCCEEDED, Status.SUCCEEDED, Status.QUEUED]
            until(lambda: statuses() == done, "all but the one to go on", 6)  # a lock is waited for longer than that
            until(lambda: bell.get(held.id).lease_until != lease, "its lease to be renewed: else another executes it")
            caller.rollback()
            until(lambda: statuses()[0] is Status.SUCCEEDED, "the last one")
        finally:
            caller.rollback()
            supervisor.send(Stop())
            keeper.join(30)
        supervisor.close()
        pipe.close()


def test_another_worker_has_the_run_by_then(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    run = scene.bell.enqueue("work")
    (work,) = scene.claim()
    scene.end([work])
    kept = scene.hand_over()
    scene.keep(bury(run))  # a death without its outcomes
    with caplog.at_level(logging.INFO):
        assert scene.keep(OutcomesKept("parcel", WORKER, kept)) == ["parcel"]
    assert "0 booked, 1 superseded" in caplog.text
    assert (scene.bell.get(run.id).status, scene.bell.get(run.id).losses) == (Status.QUEUED, 1)


def test_the_worker_had_booked_it_and_no_answer(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """The write went through, the answer was lost with the connection: it is its own, and not superseded."""
    run = scene.bell.enqueue("work")
    (work,) = scene.claim()
    scene.end([work])
    kept = scene.hand_over()
    scene.worker.booking.book([(kept[0].run, kept[0].change)])
    with caplog.at_level(logging.INFO):
        assert scene.keep(OutcomesKept("parcel", WORKER, kept)) == ["parcel"]
    assert "1 booked, 0 superseded" in caplog.text
    assert scene.bell.get(run.id).status is Status.SUCCEEDED


def test_without_a_keeper_the_log_names_them(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    runs = [scene.bell.enqueue("work") for _ in range(finish_module.NAMED + 5)]
    works = []
    while len(works) < len(runs):
        works += scene.claim()
        scene.end([work for work in works if not work.settled])
    handed_back = scene.bell.enqueue("work")
    (work,) = scene.claim()
    scene.worker.finish.put(work, HANDED_BACK)
    scene.worker.finish.hand_over(None, 1)
    (line,) = [record.getMessage() for record in caplog.records if "results dropped" in record.getMessage()]
    assert "25; these runs are executed again: " in line
    assert line.endswith(" and 5 more")
    assert sum(run.id in line for run in runs) == finish_module.NAMED
    assert handed_back.id not in line, "it is only claimed later"
    scene.worker.finish.hand_over(None, 1)
    assert sum("results dropped" in record.getMessage() for record in caplog.records) == 1


def test_a_keeper_that_does_not_take_them_in_time(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """The process must end all the same: a handler still executes."""
    run = scene.bell.enqueue("work")
    scene.end(scene.claim())
    block = multiprocessing.Event()
    scene.worker.finish.hand_over(lambda _kept: block.wait(60), 0.1)
    assert f"these runs are executed again: {run.id}" in caplog.text
    block.set()


def test_large_outcomes_bound_the_claims(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consume_module, "FEW_UNBOOKED", 2)
    monkeypatch.setattr(finish_module, "MOST_BYTES", 100_000)
    for _ in range(3):
        scene.bell.enqueue("work")
    first, second, third = scene.claim()
    finish = scene.worker.finish
    finish.put(first, NOTHING)
    finish.put(second, NOTHING)
    assert not finish.is_full()
    finish.put(third, Returned('"' + "x" * 100_000 + '"'))
    assert finish.is_full()
    scene.bell.enqueue("work")
    assert scene.claim() == []
    finish.step(scene.bell.store.clock.now())
    assert len(scene.claim()) == 1
