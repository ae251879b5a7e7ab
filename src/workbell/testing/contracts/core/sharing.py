"""Contract of concurrency: threads that claim, add and end the same runs; and hints between them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from workbell.errors import DuplicateRun
from workbell.model import state
from workbell.model.run import Added, Status
from workbell.stores.port import CoreStore, Filter
from workbell.testing.contracts.making import KEEP, add, after, claim, find, ids, request, take

T = TypeVar("T")
THREADS = 6


def at_once(work: Callable[[int], T]) -> list[T]:
    """Call a function from several threads that all begin together."""
    gate = threading.Barrier(THREADS)

    def begin(number: int) -> T:
        gate.wait(30)
        return work(number)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(begin, range(THREADS)))


class SharingContract:
    def test_no_run_is_handed_out_twice(self, store: CoreStore) -> None:
        """B3: two workers never hold one run."""
        made = ids(add(store, *[request(queue=f"q{n % 3}") for n in range(300)]))

        def take(number: int) -> list[str]:
            mine: list[str] = []
            while runs := claim(store, 7, worker=f"w{number}"):
                mine += ids(runs)
            return mine

        taken = Counter(run_id for mine in at_once(take) for run_id in mine)
        assert taken == Counter(made)

    def test_no_chosen_run_is_handed_out_twice(self, store: CoreStore) -> None:
        """Messages of a queue may come twice, to two at once, and in any order."""
        made = ids(add(store, *[request(queue=f"q{n % 3}") for n in range(60)]))

        def take_all(number: int) -> list[str]:
            turned = made[number * 10 :] + made[: number * 10]
            return [run_id for start in range(0, 60, 20) for run_id in ids(take(store, turned[start : start + 20]))]

        taken = Counter(run_id for mine in at_once(take_all) for run_id in mine)
        assert max(taken.values()) == 1
        left = Counter(ids(take(store, made)))  # what somebody had locked while another asked for it
        assert taken + left == Counter(made)

    def test_one_key_makes_one_run(self, store: CoreStore) -> None:
        answers = at_once(lambda number: store.runs.add([request(key="k"), request(tag=f"t{number}")]))
        assert sum(answer[0].created for answer in answers) == 1
        assert len({answer[0].id for answer in answers}) == 1
        assert len(store.runs.list(Filter(None))) == 1 + THREADS

    def test_a_rejected_caller_does_not_spoil_the_others(self, store: CoreStore) -> None:
        """Callers at the same moment may share a commit."""
        add(store, request(key="k"))

        def make(number: int) -> bool:
            if number % 2:
                store.runs.add([request()])
                return True
            with pytest.raises(DuplicateRun):
                store.runs.add([request(), request(key="k", on_duplicate="reject")])
            return False

        assert sum(at_once(make)) == THREADS // 2
        assert len(store.runs.list(Filter(None))) == 1 + THREADS // 2

    def test_replacing_a_key_at_once_leaves_one_waiting(self, store: CoreStore) -> None:
        at_once(lambda number: store.runs.add([request(key="k", on_duplicate="replace", at=number)]))
        statuses = Counter(run.status for run in store.runs.list(Filter(None)))
        assert statuses == {Status.QUEUED: 1, Status.CANCELED: THREADS - 1}

    def test_one_end_wins(self, store: CoreStore) -> None:
        add(store, *[request() for _ in range(40)])
        runs = claim(store)

        def end(number: int) -> set[str]:
            return store.runs.apply([state.succeed(r, after(1), result=str(number), keep=KEEP.succeeded) for r in runs])

        winners = at_once(end)
        assert sum(map(len, winners)) == len(runs)
        for number, moved in enumerate(winners):
            assert all(find(store, run_id).result == number for run_id in moved)
        assert len(store.runs.list(Filter(None))) == len(runs)

    def test_a_hint_reaches_a_watcher(self, store: CoreStore) -> None:
        watch = store.watch()
        try:
            while watch.wait(0.05):  # what may have been pending, such as the watch's own beginning
                pass
            store.runs.add([request()])
            assert watch.wait(20)
        finally:
            watch.close()

    def test_runs_that_their_maker_announces_are_made_all_the_same(self, store: CoreStore) -> None:
        """Without a hint of the store, unless that is the write itself."""
        assert store.runs.add([new := request()], hint=False) == [Added(new.run.id, True)]
        assert find(store, new.run).status is Status.QUEUED

    def test_a_store_has_an_identity(self, store: CoreStore) -> None:
        assert store.identity()
        assert store.identity() == store.identity()

    def test_a_wait_without_a_hint_ends_with_its_time(self, store: CoreStore) -> None:
        watch = store.watch()
        try:
            while watch.wait(0.05):
                pass
            assert not watch.wait(0.01)
        finally:
            watch.close()

    def test_an_interrupt_ends_a_wait(self, store: CoreStore) -> None:
        watch = store.watch()
        ended = threading.Event()

        def listen() -> None:
            while not stop.is_set():
                watch.wait(60)
            ended.set()

        stop = threading.Event()
        threading.Thread(target=listen, daemon=True).start()
        stop.set()
        watch.interrupt()
        assert ended.wait(20)
        watch.close()
