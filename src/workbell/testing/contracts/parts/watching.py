"""Contract of log lines, stored with their runs, and of the registry of workers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec

from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.log_line import LogLine
from workbell.model.run import Run
from workbell.model.worker import Worker
from workbell.stores.port import Store
from workbell.testing.contracts.making import KEEP, START, add, after, claim, claimed, request

BEGINNING = (0, -1)


def lines(run: Run, *numbers: int, attempt: int | None = None, message: str = "line") -> list[LogLine]:
    number = run.attempt if attempt is None else attempt
    return [LogLine(run.id, number, line, after(line), "INFO", f"{message} {line}") for line in numbers]


def log(store: Store, run: Run, *numbers: int, **fields: Any) -> int:
    """Add lines under the lease that this run was claimed with."""
    return store.logs.add([(run.token, line) for line in lines(run, *numbers, **fields)])


def logged(store: Store, run: Run, limit: int = 100) -> list[tuple[int, int]]:
    return [(line.attempt, line.line) for line in store.logs.list(run.id, after=BEGINNING, limit=limit)]


def worker(worker_id: str = "host/1/1", **fields: Any) -> Worker:
    known = Worker(
        id=worker_id,
        host="host",
        pid=4321,
        incarnation="123",
        version="1.0",
        queues=("mail", "default"),
        jobs=("send", "work"),
        concurrency=8,
        started_at=START,
        seen_at=after(1),
    )
    return msgspec.structs.replace(known, **fields)


class WatchingContract:
    # Logs

    def test_lines_are_kept_with_their_run(self, store: Store) -> None:
        """F6."""
        run = claimed(store)
        assert log(store, run, 0, 1) == 2
        assert store.logs.list(run.id, after=BEGINNING, limit=10) == lines(run, 0, 1)
        assert store.logs.list(new_id(), after=BEGINNING, limit=10) == []
        assert store.logs.add([]) == 0

    def test_a_line_may_say_anything(self, store: Store) -> None:
        run = claimed(store)
        odd = LogLine(run.id, 1, 0, after(0.000001), "ERROR", "{a,\"b\"} \\ NULL 'x' %s :y\n\tälter 🙂")
        store.logs.add([(run.token, odd), (run.token, msgspec.structs.replace(odd, line=1, message=""))])
        assert store.logs.list(run.id, after=BEGINNING, limit=10) == [
            odd,
            msgspec.structs.replace(odd, line=1, message=""),
        ]

    def test_lines_come_oldest_first_from_a_position_on(self, store: Store) -> None:
        run = claimed(store)
        log(store, run, 10, 2, 0, attempt=1)
        log(store, run, 3, 0, attempt=2)
        assert logged(store, run) == [(1, 0), (1, 2), (1, 10), (2, 0), (2, 3)]
        assert logged(store, run, limit=2) == [(1, 0), (1, 2)]
        rest = store.logs.list(run.id, after=(1, 2), limit=2)
        assert [(line.attempt, line.line) for line in rest] == [(1, 10), (2, 0)]
        assert store.logs.list(run.id, after=(2, 3), limit=2) == []

    def test_lines_of_another_lease_are_left_out(self, store: Store) -> None:
        """F1: a worker that lost the lease adds no log lines."""
        first = claimed(store)
        log(store, first, 0)
        store.runs.apply([state.lose(first, after(60), keep=KEEP.other)])
        assert log(store, first, 1) == 1, "nobody else has it yet"
        (second,) = claim(store, at=61)
        assert log(store, first, 2) == 0
        assert log(store, second, 0) == 1
        early = msgspec.structs.replace(second, token=second.token + 1)
        assert log(store, early, 1) == 0
        assert logged(store, second) == [(1, 0), (1, 1), (2, 0)]

    def test_the_last_lease_may_add_lines_after_the_end(self, store: Store) -> None:
        run = claimed(store)
        store.runs.apply([state.succeed(run, after(1), result=None, keep=KEEP.succeeded)])
        assert log(store, run, 0) == 1
        assert log(store, msgspec.structs.replace(run, token=run.token - 1), 1) == 0
        assert logged(store, run) == [(1, 0)]

    def test_each_line_of_a_batch_is_judged_alone(self, store: Store) -> None:
        add(store, request(), request(), request())
        first, second, gone = claim(store)
        stranger = msgspec.structs.replace(first, id=new_id())
        batch = [(run.token, line) for run in (first, stranger, second) for line in lines(run, 0, 1)]
        assert store.logs.add([*batch, (gone.token + 1, lines(gone, 0)[0])]) == 4
        assert [logged(store, run) for run in (first, second, stranger, gone)] == [[(1, 0), (1, 1)]] * 2 + [[], []]

    def test_a_line_is_written_once(self, store: Store) -> None:
        run = claimed(store)
        log(store, run, 0)
        assert log(store, run, 0, 1, message="again") == 1
        found = store.logs.list(run.id, after=BEGINNING, limit=10)
        assert [line.message for line in found] == ["line 0", "again 1"]

    def test_lines_go_with_their_run(self, store: Store) -> None:
        add(store, request(), request())
        short, long = claim(store)
        log(store, short, 0)
        log(store, long, 0)
        store.runs.apply([state.succeed(short, after(1), result=None, keep=timedelta(seconds=1))])
        store.runs.apply([state.succeed(long, after(1), result=None, keep=timedelta(days=1))])
        assert store.prune(after(60), 100) == 1
        assert (logged(store, short), logged(store, long)) == ([], [(1, 0)])

    # Workers

    def test_workers_are_listed_as_they_were_put(self, store: Store) -> None:
        """F6."""
        assert store.workers.list() == []
        second, first = worker("b"), worker("a", queues=None, jobs=(), stopping=True)
        third = worker("B", queues=())
        for one in (second, first, third):
            store.workers.put(one)
        assert store.workers.list() == [third, first, second]

    def test_runs_are_counted_by_the_worker_that_holds_them(self, store: Store) -> None:
        assert store.workers.held() == {}
        add(store, request(), request("other"), request(tenant="t"), request(delay=99))
        assert len(claim(store, worker="a", limit=2)) == 2
        (last,) = claim(store, worker="b")
        assert store.workers.held() == {"a": 2, "b": 1}
        store.runs.apply([state.release(last, after(1))])
        assert store.workers.held() == {"a": 2}

    def test_a_worker_that_is_put_again_is_changed(self, store: Store) -> None:
        store.workers.put(worker())
        changed = worker(host="other", pid=5, jobs=("new",), queues=None, seen_at=after(9), stopping=True)
        store.workers.put(changed)
        assert store.workers.list() == [changed]

    def test_workers_that_are_seen(self, store: Store) -> None:
        for name in ("a", "b", "c"):
            store.workers.put(worker(name))
        store.workers.see(["a", "c", "unknown"], after(20))
        store.workers.see([], after(30))
        assert [(one.id, one.seen_at) for one in store.workers.list()] == [
            ("a", after(20)),
            ("b", after(1)),
            ("c", after(20)),
        ]
        assert store.workers.list()[1] == worker("b")

    def test_where_the_api_is_served(self, store: Store) -> None:
        assert store.services.list() == {}
        store.services.put("host/1/2", "127.0.0.1:8321")
        store.services.put("host/3/4", ":::8322")
        store.services.put("host/1/2", "0.0.0.0:8323")
        assert store.services.list() == {"host/1/2": "0.0.0.0:8323", "host/3/4": ":::8322"}
        store.services.remove(["host/1/2", "unknown"])
        store.services.remove([])
        assert store.services.list() == {"host/3/4": ":::8322"}
        store.check()

    def test_a_worker_is_drained_until_it_is_resumed(self, store: Store) -> None:
        assert store.workers.put(worker("a")) is None
        store.workers.put(worker("b"))
        for at in (after(20), after(30)):  # a second time changes nothing
            assert store.workers.drain("a", at) == store.workers.find("a") == worker("a", drained_at=after(20))
        assert store.workers.list() == [worker("a", drained_at=after(20)), worker("b")]
        assert store.workers.resume("a") == store.workers.resume("a") == worker("a")
        assert store.workers.list() == [worker("a"), worker("b")]
        assert store.workers.drain("unknown", after(20)) is None
        assert store.workers.resume("unknown") is None
        assert store.workers.find("unknown") is None

    def test_a_worker_reads_that_it_is_drained_and_cannot_change_it(self, store: Store) -> None:
        store.workers.put(worker())
        store.workers.drain(worker().id, after(5))
        assert store.workers.put(worker(seen_at=after(9))) == after(5)
        store.workers.see([worker().id], after(12))
        assert store.workers.list() == [worker(seen_at=after(12), drained_at=after(5))]
        store.workers.resume(worker().id)
        assert store.workers.put(worker(drained_at=after(5), drain_seen_at=after(6))) is None
        assert store.workers.list() == [worker()]
        store.workers.remove([worker().id])
        was = worker(drained_at=after(5), drain_seen_at=after(6))
        assert store.workers.put(was) == after(5), "it was forgotten, and is back as it was"
        assert store.workers.list() == [was]

    def test_a_worker_says_that_it_begins_nothing_more(self, store: Store) -> None:
        store.workers.put(worker("a"))
        store.workers.put(worker("b", drained_at=after(5)))
        assert not store.workers.note_drained("a", after(5), after(6)), "nobody drained it"
        store.workers.drain("a", after(5))
        assert not store.workers.note_drained("a", after(4), after(6)), "it was drained anew since"
        assert store.workers.note_drained("a", after(5), after(6))
        said = worker("a", drained_at=after(5), drain_seen_at=after(6))
        assert store.workers.drain("a", after(8)) == said
        assert store.workers.put(worker("a")) == after(5)
        assert store.workers.list() == [said, worker("b", drained_at=after(5))]
        assert store.workers.resume("a") == store.workers.find("a") == worker("a")
        assert not store.workers.note_drained("a", after(5), after(9)), "it was resumed meanwhile"
        assert not store.workers.note_drained("unknown", after(5), after(9))
        assert store.workers.drain("a", after(10)) == worker("a", drained_at=after(10))

    def test_removed_workers_are_gone(self, store: Store) -> None:
        for name in ("a", "b", "c"):
            store.workers.put(worker(name))
        store.workers.remove([])
        store.workers.remove(["a", "c", "unknown"])
        assert store.workers.list() == [worker("b")]
