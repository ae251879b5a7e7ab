"""Random histories on the memory store and on each SQL store: after every step, both must hold the same.

What the memory store does not have, pauses and counts, SQLite and PostgreSQL must do alike.

The runs and transitions are made once and given to both, so their ids, tokens and times can be compared as they are.
Stale leases and transitions are kept and tried again and again, as a network that delivers twice would do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.support.databases import Databases
from workbell.app import open_store
from workbell.errors import DuplicateRun, KeyReused
from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.limit import NO_LIMITS, Limit, Limits, limits_on
from workbell.model.run import PENDING, Lane, NewRun, Run, Status
from workbell.model.state import Transition
from workbell.stores.limits.limits import LIMIT_RETENTION
from workbell.stores.memory.store import MemoryStore
from workbell.stores.port import Filter, LeaseTerms, Pick, Store
from workbell.stores.rows import to_micros
from workbell.stores.store_page import StorePage
from workbell.testing.contracts.core.choosing import chosen as by_client
from workbell.testing.contracts.making import KEEP, after, held, request
from workbell.testing.contracts.parts.copying import everything
from workbell.testing.sqlite_files import SqliteFiles

SOAK = bool(os.environ.get("WORKBELL_SOAK"))
MANY = 1000
LIMITS = [
    NO_LIMITS,
    NO_LIMITS,
    Limits(concurrency=2),
    Limits(concurrency=1, concurrency_key="k"),
    Limits(rate="3/10s"),
    Limits(concurrency=3, rate="200/10s", rate_key="k"),
]
CHOSEN = [new_id() for _ in range(4)]
LANES = [Lane(tenant, queue, "work") for tenant in "tu" for queue in "xy"]

requests = st.fixed_dictionaries(
    {
        "queue": st.sampled_from("xxy"),
        "tenant": st.sampled_from("ttu"),
        "lane_key": st.sampled_from([None, None, "a", "b"]),
        "delay": st.sampled_from([0, 0, 0, 5, 20]),
        "overdue": st.sampled_from([0, 3, 7]),  # so that the order of due times is not that of the ids
        "priority": st.sampled_from([0, 0, 0, 1]),
        "key": st.sampled_from([None, None, None, "k", "l"]),
        "on_duplicate": st.sampled_from(["return", "return", "reject", "replace"]),
        "key_for": st.sampled_from([None, None, 10, 30]),
        "tag": st.sampled_from([None, "g", "h"]),
        "replace_tag": st.sampled_from([False, False, False, False, True]),
        "expires": st.sampled_from([None, None, None, 10, 30]),
        "accepted_by": st.sampled_from([None, "host/1/1"]),
        "chosen": st.sampled_from([None] * 6 + CHOSEN),
        "fingerprint": st.sampled_from("fffg"),
    }
)
# By weight: most steps should be those of a run's way.
VERBS = (
    ["enqueue"] * 5
    + ["claim"] * 6
    + ["take"] * 2
    + ["finish"] * 5
    + ["dispatch", "time_passes", "recover", "renew", "deliver_again"] * 3
    + ["note", "end_on_request", "prune"]
)
Draw = Callable[..., Any]
Opener = Callable[[], AbstractContextManager[Store]]


def core_of(store: Store) -> dict[str, Any]:
    """All that a store holds of runs. One that were in two places would come twice."""
    runs = store.runs.list(Filter(None, limit=10**6))
    if isinstance(store, MemoryStore):
        keys = {(tenant, key, run, until) for (tenant, key), (run, until) in store.state.keys.items()}
    else:
        keys = {key for batch in store.export() for key in batch.keys}
    return {"runs": runs, "attempts": [store.runs.attempts(run.id) for run in runs], "keys": keys}


class StoreMachine(RuleBasedStateMachine):
    def __init__(self, open_subject: Opener, open_oracle: Opener | None) -> None:
        """The memory store judges the verbs of the core, any other store all of them."""
        super().__init__()
        self._opened = ExitStack()
        self.subject = self._opened.enter_context(open_subject())
        self.oracle = open_store("memory://") if open_oracle is None else self._opened.enter_context(open_oracle())
        self.core_only = open_oracle is None
        self.now = 0.0
        self.known: list[str] = []
        self.bodies: dict[tuple[str, str], dict[str, Any]] = {}
        self.made: set[str] = set()  # ids of runs that were there
        self.claims: list[Run] = []  # also those whose lease has been lost since
        self.sent: list[Transition] = []
        for store in [self.subject] if self.core_only else [self.oracle, self.subject]:
            store.load(StorePage(lanes=LANES))

    def teardown(self) -> None:
        self._opened.close()

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """One rule for all verbs: of many rules, Hypothesis leaves some out for a whole history."""
        verb = data.draw(st.sampled_from(VERBS if self.core_only else [*VERBS, "pause"]))
        getattr(self, verb)(data.draw)

    def both(self, call: Callable[[Store], Any]) -> Any:
        """The answer of both stores, which must be one."""
        expected, got = call(self.oracle), call(self.subject)
        assert got == expected
        return expected

    def request(self, given: dict[str, Any]) -> NewRun:
        """A request. Those of one chosen id and fingerprint have one body, and so ask for the same. The id of a run
        that is removed does not come again: it is too old by then, or a key stands for it."""
        chosen = given["chosen"]
        if chosen is not None and chosen in self.made and not self.oracle.runs.find([chosen]):
            given = {**given, "chosen": None}
        elif chosen is not None:
            given = self.bodies.setdefault((chosen, given["fingerprint"]), given)
        given = dict(given)
        overdue = given.pop("overdue")
        expires = given.pop("expires")
        if expires is not None:
            given["expires_at"] = after(self.now + given["delay"] + expires)
        if given["tag"] is None:
            given["replace_tag"] = False
        due = after(self.now + (given["delay"] or -overdue))
        chosen, fingerprint = given.pop("chosen"), given.pop("fingerprint")
        if chosen is None:
            return request(at=self.now, scheduled_for=due, **given)
        return by_client(chosen, fingerprint, at=self.now, scheduled_for=due, **given)

    def enqueue(self, draw: Draw) -> None:
        new = [self.request(given) for given in draw(st.lists(requests, min_size=1, max_size=5))]

        def add(store: Store) -> Any:
            try:
                return store.runs.add(new)
            except DuplicateRun as error:
                # Of a call that is refused for several reasons, each store may name another one.
                return "refused" if is_chosen else (str(error), error.run_id)
            except KeyReused:
                return "refused"

        is_chosen = any(one.chosen for one in new)
        self.both(add)
        self.known += [one.run.id for one in new]
        self.made |= self.oracle.runs.find([one.run.id for one in new]).keys()

    def time_passes(self, draw: Draw) -> None:
        self.now += draw(st.sampled_from([1, 5, 20, 40]))

    def dispatch(self, _draw: Draw) -> None:
        self.both(lambda store: sorted(store.runs.dispatch(after(self.now), MANY)))

    def claim(self, draw: Draw) -> None:
        limit, quota, skip = draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.integers(0, 1))
        heads = self.both(lambda store: store.runs.survey(-1, MANY))
        picks = [Pick(head.lane_id, head.rank, quota) for head in heads[skip:]]
        until = after(self.now + draw(st.sampled_from([10, 60])))
        terms = LeaseTerms.drawn(f"worker-{limit}", after(self.now), until)
        limits = draw(st.sampled_from(LIMITS))
        limited = {head.lane_id: found for head in heads if (found := limits_on(limits, head.lane))}
        self.claims += self.both(lambda store: store.runs.claim(picks, limit, terms, limited))
        self._compare_uses(limited)

    def take(self, draw: Draw) -> None:
        every = sorted(run.id for run in self.both(lambda store: store.runs.list(Filter(None, limit=MANY))))
        chosen = draw(st.lists(st.sampled_from(every), max_size=5)) if every else []
        limits = draw(st.sampled_from(LIMITS))
        heads = self.both(lambda store: store.runs.survey(-1, MANY))
        limited = {head.lane_id: found for head in heads if (found := limits_on(limits, head.lane))}
        terms = LeaseTerms.drawn("taker", after(self.now), after(self.now + 30))
        self.claims += self.both(lambda store: store.runs.take(chosen, terms, limited))
        self._compare_uses(limited)

    def _compare_uses(self, limited: Mapping[int, Sequence[Limit]]) -> None:
        asked = [one for listed in limited.values() for one in listed]
        oldest = to_micros(after(self.now) - LIMIT_RETENTION)

        def uses(store: Store) -> dict[int, tuple[int, list[tuple[int, int]]]]:
            found = store.limits.uses(asked).items()
            return {key: (use.running, [start for start in use.starts if start[0] > oldest]) for key, use in found}

        self.both(uses)

    def decide(self, run: Run, how: str) -> Transition:
        now, began = after(self.now), after(self.now)
        match how:
            case "succeed":
                return state.succeed(run, now, result='{"a":1}', keep=KEEP.succeeded, started_at=began)
            case "retry":
                return state.retry(run, now, error="E", reason="error", wait=after(5) - after(0), started_at=began)
            case "fail":
                lane = {"tenant": run.tenant, "queue": run.queue, "lane_key": run.lane.key}
                then = request(run.job, at=self.now, delay=5, **lane)
                self.known.append(then.run.id)
                return state.fail(run, now, error="E", reason="error", keep=KEEP.other, then=(then,))
            case "snooze":
                return state.snooze(run, now, wait=after(5) - after(0), reason=None, started_at=began)
            case "release":
                return state.release(run, now)
            case "stop":
                return state.release(run, now, started_at=began)
            case _:
                return state.cancel(run, now, reason="asked", keep=after(9) - after(0))

    def finish(self, draw: Draw) -> None:
        if not self.claims:
            return
        hows = st.sampled_from(["succeed", "retry", "fail", "snooze", "release", "stop", "cancel"])
        chosen = draw(st.lists(st.tuples(st.sampled_from(self.claims), hows), min_size=1, max_size=4))
        changes = [self.decide(run, how) for run, how in chosen]
        self.sent += changes
        self.both(lambda store: store.runs.apply(changes))

    def deliver_again(self, draw: Draw) -> None:
        if not self.sent:
            return
        changes = draw(st.lists(st.sampled_from(self.sent), min_size=1, max_size=4))
        self.both(lambda store: store.runs.apply(changes))

    def renew(self, draw: Draw) -> None:
        if not self.claims:
            return
        runs = draw(st.lists(st.sampled_from(self.claims), max_size=4, unique_by=lambda run: (run.id, run.token)))
        now, until = after(self.now), after(self.now + 30)
        self.both(lambda store: sorted(store.runs.renew([held(run) for run in runs], now=now, lease_until=until)))

    def note(self, draw: Draw) -> None:
        if not self.claims:
            return
        run, alone = draw(st.sampled_from(self.claims)), draw(st.booleans())
        self.both(
            lambda store: (
                store.runs.mark_alone(held(run)) if alone else store.runs.set_progress(held(run), '{"done":1}')
            )
        )

    def recover(self, _draw: Draw) -> None:
        leases = self.both(lambda store: sorted(store.runs.leases(after(self.now))))
        lost = self.both(lambda store: sorted(store.runs.take_over(leases, MANY), key=lambda run: run.id))
        expired = self.both(lambda store: sorted(store.runs.expired(after(self.now), MANY), key=lambda run: run.id))
        changes = [
            state.lose(run, after(self.now), keep=KEEP.other)
            if run.status is Status.RUNNING
            else state.cancel(run, after(self.now), reason="expired", keep=KEEP.other)
            for run in [*lost, *expired]
        ]
        self.sent += changes
        self.both(lambda store: store.runs.apply(changes))

    def end_on_request(self, draw: Draw) -> None:
        if not self.known:
            return
        run_id = draw(st.sampled_from(self.known))
        found = self.both(lambda store: store.runs.find([run_id]))
        if run_id in found and found[run_id].status in PENDING:
            change = state.cancel(found[run_id], after(self.now), reason="asked", keep=KEEP.other)
            self.sent.append(change)
            self.both(lambda store: store.runs.apply([change]))
        else:
            self.both(lambda store: store.runs.request_cancel(run_id, "enough"))

    def prune(self, draw: Draw) -> None:
        # Time goes on: starts that are too old for every rate are removed as well, and must not count again.
        self.now += draw(st.sampled_from([0, 0, 40 * 86400]))
        self.both(lambda store: store.prune(after(self.now), MANY))

    def pause(self, draw: Draw) -> None:
        paused = draw(st.sampled_from([False, False, True]))
        queue, job = draw(st.sampled_from([("x", None), ("y", None), (None, "work"), ("x", "work")]))
        now = after(self.now)
        self.both(
            lambda store: store.pauses.add("t", queue, job, now) if paused else store.pauses.remove("t", queue, job)
        )

    @invariant()
    def hold_the_same(self) -> None:
        # A lane without runs may be there or not: one with a key is made by an enqueue that is then refused, and goes
        # when it is not used.
        if self.core_only:
            self.both(core_of)
        else:
            self.both(lambda store: everything(store) | {"lanes": set()})
            self.both(lambda store: sorted(store.reports.counts(), key=repr))
        self.both(lambda store: store.runs.next_due())
        for run in self.both(lambda store: store.runs.find(self.known)).values():
            assert (run.status is Status.RUNNING) == (run.lease_until is not None)
            assert run.status.final == (run.finished_at is not None)


def exercise(open_subject: Opener, examples: int, open_oracle: Opener | None = None) -> None:
    chosen = settings(
        max_examples=1000 if SOAK else examples,
        stateful_step_count=60 if SOAK else 30,
        derandomize=not SOAK,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: StoreMachine(open_subject, open_oracle), settings=chosen)


@pytest.fixture
def on_sqlite(tmp_path: Path, sqlite_files: SqliteFiles) -> Opener:
    numbers = iter(range(10**9))

    @contextmanager
    def fresh() -> Iterator[Store]:
        path = tmp_path / f"{next(numbers)}.db"
        store = open_store(sqlite_files.make(path))
        try:
            yield store
        finally:
            store.close()
            for file in tmp_path.glob(f"{path.name}*"):
                file.unlink()

    return fresh


@pytest.fixture
def on_postgres(databases: Databases) -> Opener:
    @contextmanager
    def fresh() -> Iterator[Store]:
        url = databases.take()
        store = open_store(url)
        try:
            yield store
        finally:
            store.close()
            databases.give_back(url)

    return fresh


def test_sqlite_behaves_as_memory_does(on_sqlite: Opener) -> None:
    exercise(on_sqlite, 25)


@pytest.mark.timeout(0 if SOAK else 120)
def test_postgres_behaves_as_memory_does(on_postgres: Opener) -> None:
    exercise(on_postgres, 12)


@pytest.mark.timeout(0 if SOAK else 120)
def test_postgres_behaves_as_sqlite_does(on_postgres: Opener, on_sqlite: Opener) -> None:
    exercise(on_postgres, 8, on_sqlite)
