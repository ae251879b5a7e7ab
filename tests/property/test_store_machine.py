"""Random histories on the memory store and on each SQL store: after every step, both must hold the same.

The runs and transitions are made once and given to both, so their ids, tokens and times can be compared as they are.
Stale leases and transitions are kept and tried again and again, as a network that delivers twice would do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.support.databases import Databases
from workbell.app import open_store
from workbell.errors import DuplicateRun
from workbell.model import state
from workbell.model.run import PENDING, Lane, NewRun, Run, Status
from workbell.model.state import Transition
from workbell.stores.memory import MemoryStore
from workbell.stores.port import Batch, Pick, Store
from workbell.testing.contracts.making import KEEP, after, held, request
from workbell.testing.contracts.store.copying import everything

SOAK = bool(os.environ.get("WORKBELL_SOAK"))
MANY = 1000
LANES = [Lane(tenant, queue, "work") for tenant in "tu" for queue in "xy"]

requests = st.fixed_dictionaries(
    {
        "queue": st.sampled_from("xy"),
        "tenant": st.sampled_from("tu"),
        "delay": st.sampled_from([0, 0, 5, 20]),
        "overdue": st.sampled_from([0, 3, 7]),  # so that the order of due times is not that of the ids
        "priority": st.sampled_from([0, 0, 0, 1]),
        "key": st.sampled_from([None, None, "k", "l"]),
        "tag": st.sampled_from([None, "g", "h"]),
        "accepted_by": st.sampled_from([None, "host/1/1"]),
    },
    optional={
        "on_duplicate": st.sampled_from(["reject", "replace"]),
        "key_for": st.sampled_from([10, 30]),
        "expires": st.sampled_from([10, 30]),
        "replace_tag": st.just(True),
    },
)


class StoreMachine(RuleBasedStateMachine):
    def __init__(self, open_subject: Callable[[], Any]) -> None:
        super().__init__()
        self._opened = open_subject()
        self.subject: Store = self._opened.__enter__()
        self.oracle: Store = MemoryStore()
        self.now = 0.0
        self.known: list[str] = []
        self.claims: list[Run] = []  # also those whose lease has been lost since
        self.sent: list[Transition] = []
        for store in (self.oracle, self.subject):
            store.load(Batch(lanes=[(lane, False) for lane in LANES]))

    def teardown(self) -> None:
        self._opened.__exit__(None, None, None)

    def both(self, call: Callable[[Store], Any]) -> Any:
        """The answer of both stores, which must be one."""
        expected, got = call(self.oracle), call(self.subject)
        assert got == expected
        return expected

    def request(self, given: dict[str, Any]) -> NewRun:
        given = dict(given)
        overdue = given.pop("overdue")
        expires = given.pop("expires", None)
        if expires is not None:
            given["expires_at"] = after(self.now + given["delay"] + expires)
        if given["tag"] is None:
            given.pop("replace_tag", None)
        due = after(self.now + (given["delay"] or -overdue))
        return request(at=self.now, scheduled_for=due, **given)

    @rule(wanted=st.lists(requests, min_size=1, max_size=3))
    def enqueue(self, wanted: list[dict[str, Any]]) -> None:
        new = [self.request(given) for given in wanted]

        def add(store: Store) -> Any:
            try:
                return store.add(new)
            except DuplicateRun as error:
                return str(error), error.run_id

        self.both(add)
        self.known += [one.run.id for one in new]

    @rule(seconds=st.sampled_from([1, 5, 20, 40]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def dispatch(self) -> None:
        self.both(lambda store: store.dispatch(after(self.now), MANY))

    @rule(limit=st.integers(1, 5), quota=st.integers(1, 3), skip=st.integers(0, 2), lease=st.sampled_from([10, 60]))
    def claim(self, limit: int, quota: int, skip: int, lease: float) -> None:
        heads = self.both(lambda store: store.survey(-1, MANY))
        picks = [Pick(head.lane_id, head.rank, quota) for head in heads[skip:]]
        until = after(self.now + lease)
        worker = f"worker-{limit}"
        self.claims += self.both(
            lambda store: store.claim(picks, limit, worker=worker, now=after(self.now), lease_until=until)
        )

    def decide(self, run: Run, how: str) -> Transition:
        now, began = after(self.now), after(self.now)
        match how:
            case "succeed":
                return state.succeed(run, now, result='{"a":1}', keep=KEEP.succeeded, started_at=began)
            case "retry":
                return state.retry(run, now, error="E", reason="error", wait=after(5) - after(0), started_at=began)
            case "fail":
                then = request(run.job, tenant=run.tenant, queue=run.queue, at=self.now, delay=5)
                self.known.append(then.run.id)
                return state.fail(run, now, error="E", reason="error", keep=KEEP.other, then=then)
            case "snooze":
                return state.snooze(run, now, wait=after(5) - after(0), reason=None, started_at=began)
            case "release":
                return state.release(run, now)
            case "stop":
                return state.release(run, now, started_at=began)
            case _:
                return state.cancel(run, now, reason="asked", keep=after(9) - after(0))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        hows = st.sampled_from(["succeed", "retry", "fail", "snooze", "release", "stop", "cancel"])
        chosen = data.draw(st.lists(st.tuples(st.sampled_from(self.claims), hows), min_size=1, max_size=4))
        changes = [self.decide(run, how) for run, how in chosen]
        self.sent += changes
        self.both(lambda store: store.apply(changes))

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        changes = data.draw(st.lists(st.sampled_from(self.sent), min_size=1, max_size=4))
        self.both(lambda store: store.apply(changes))

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        runs = data.draw(st.lists(st.sampled_from(self.claims), max_size=4, unique_by=lambda run: (run.id, run.token)))
        now, until = after(self.now), after(self.now + 30)
        self.both(lambda store: sorted(store.renew([held(run) for run in runs], now=now, lease_until=until)))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), alone=st.booleans())
    def note(self, data: st.DataObject, alone: bool) -> None:
        run = data.draw(st.sampled_from(self.claims))
        self.both(lambda store: store.mark_alone(held(run)) if alone else store.set_progress(held(run), '{"done":1}'))

    @rule()
    def recover(self) -> None:
        lapsed = self.both(lambda store: sorted(store.lapsed(after(self.now), MANY), key=lambda run: run.id))
        changes = [
            state.lose(run, after(self.now), keep=KEEP.other)
            if run.status is Status.RUNNING
            else state.cancel(run, after(self.now), reason="expired", keep=KEEP.other)
            for run in lapsed
        ]
        self.sent += changes
        self.both(lambda store: store.apply(changes))

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def end_on_request(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(self.known))
        found = self.both(lambda store: store.find_runs([run_id]))
        if run_id in found and found[run_id].status in PENDING:
            change = state.cancel(found[run_id], after(self.now), reason="asked", keep=KEEP.other)
            self.sent.append(change)
            self.both(lambda store: store.apply([change]))
        else:
            self.both(lambda store: store.request_cancel(run_id, "enough"))

    @rule(far=st.booleans())
    def prune(self, far: bool) -> None:
        now = after(self.now + (40 * 86400 if far else 0))
        self.both(lambda store: store.delete_finished(now, MANY))

    @rule(paused=st.booleans(), queue=st.sampled_from(["x", "y", None]))
    def pause(self, paused: bool, queue: str | None) -> None:
        by = {"queue": queue} if queue else {"job": "work"}
        self.both(lambda store: store.pause_lanes(paused, tenant="t", **by))

    @invariant()
    def hold_the_same(self) -> None:
        self.both(everything)  # a run that were in two places would come twice, which that refuses
        self.both(lambda store: sorted(store.counts(), key=repr))
        self.both(lambda store: store.next_due())
        for run in self.both(lambda store: store.find_runs(self.known)).values():
            assert (run.status is Status.RUNNING) == (run.lease_until is not None)
            assert run.status.final == (run.finished_at is not None)


def exercise(open_subject: Callable[[], Any], examples: int) -> None:
    chosen = settings(
        max_examples=1000 if SOAK else examples,
        stateful_step_count=60 if SOAK else 30,
        derandomize=not SOAK,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: StoreMachine(open_subject), settings=chosen)


def test_sqlite_behaves_as_memory_does(tmp_path: Path) -> None:
    numbers = iter(range(10**9))

    @contextmanager
    def fresh() -> Iterator[Store]:
        path = tmp_path / f"{next(numbers)}.db"
        store = open_store(f"sqlite:///{path}")
        store.check()
        try:
            yield store
        finally:
            store.close()
            for file in tmp_path.glob(f"{path.name}*"):
                file.unlink()

    exercise(fresh, 40)


@pytest.mark.timeout(0 if SOAK else 120)
def test_postgres_behaves_as_memory_does(databases: Databases) -> None:
    @contextmanager
    def fresh() -> Iterator[Store]:
        url = databases.take()
        store = open_store(url)
        try:
            yield store
        finally:
            store.close()
            databases.give_back(url)

    exercise(fresh, 30)
