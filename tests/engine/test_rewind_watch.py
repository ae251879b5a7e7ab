"""A running engine notices a store that went back, puts the runs on record, and never gives up a lease for nothing."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.waiting import until
from workbell import Context, Status, Workbell
from workbell.cli.findings import examine
from workbell.engine import rewind as watch
from workbell.engine.duty import Waker
from workbell.engine.rewind import RecentRuns, RewindWatch
from workbell.engine.work import Work
from workbell.errors import StoreUnavailable
from workbell.model import state
from workbell.model.agent import Ending
from workbell.model.clock import ManualClock
from workbell.model.rewind import Rewind, RewindKind, StorePosition
from workbell.model.state import Retention
from workbell.settings import Settings
from workbell.stores.sql_store import SqlStore
from workbell.testing.contracts.making import add, after, claim, request
from workbell.wire.agents import AttemptReport

pytestmark = pytest.mark.anyio

REWOUND = "the store was rewound"
MAYBE = "the store may have been rewound"


class Position:
    """A position that the tests move."""

    def __init__(self) -> None:
        self.value: StorePosition | None = StorePosition("a", 1, 100)
        self.asked = 0

    def __call__(self) -> StorePosition | None:
        self.asked += 1
        return self.value

    async def asked_again(self) -> None:
        """Until the engine has read the position that is set now, and done what follows."""
        seen = self.asked
        await asyncio.to_thread(until, lambda: self.asked >= seen + 2, "the position to be read twice")


@pytest.fixture
def position(monkeypatch: pytest.MonkeyPatch) -> Position:
    monkeypatch.setattr(watch, "PACE", 0.02)
    monkeypatch.setattr(watch, "UNKNOWN_PACE", 0.02)
    monkeypatch.setattr(watch, "REST", 0.0)
    return Position()


@pytest.fixture
def bell(sql_store_url: str, position: Position, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbell]:
    with Workbell(settings=Settings(url=sql_store_url, lease=1.0, poll=0.05, sweep=0.1, grace=5)) as bell:
        monkeypatch.setattr(bell.store, "position", position)
        yield bell


def execute(bell: Workbell, text: str, **values: object) -> None:
    """Change the tables behind everybody's back, as a rewind does."""
    assert isinstance(bell.store, SqlStore)
    bell.store.database.run_write(lambda session: session.text_rows(text, values))


FORGET_CLAIM = """UPDATE workbell_runs SET status = 'queued', token = 0, attempt = 0, worker = NULL, lease_until = NULL,
    started_at = NULL WHERE id = :id"""


def forget(bell: Workbell, run_id: str) -> None:
    """The run does not exist any more."""
    for table in ("workbell_runs", "workbell_history"):
        execute(bell, f"DELETE FROM {table} WHERE id = :id", id=run_id)


def records(bell: Workbell) -> list[tuple[str, RewindKind]]:
    return [(one.run, one.kind) for one in bell.workers.rewinds()]


def logged(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.getMessage().startswith(words)]


async def test_a_rewound_store_is_noticed_once(
    bell: Workbell, sql_store_url: str, position: Position, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "workbell.engine")
    gate, begun, told = threading.Event(), threading.Event(), []

    @bell.job
    def held(ctx: Context) -> None:
        begun.set()
        until(lambda: ctx.canceled or gate.is_set(), "the lease to be lost")
        told.append(ctx.canceled)

    @bell.job
    def quick() -> None: ...

    @bell.job(queue="elsewhere")
    def waits() -> None: ...

    async with bell.running(queues=["default"]):
        await position.asked_again()
        running = await held.aenqueue()
        gone, again, kept = [await bell.await_((await quick.aenqueue()).id, timeout=30) for _ in range(3)]
        await asyncio.to_thread(begun.wait, 30)
        bell.pause(queue="default")  # so that nobody takes the run before the test has seen what happens
        # It is made live again as the store had it: queued. A run of the same id is put where it was.
        forget(bell, gone.id)
        forget(bell, again.id)
        waiting = await waits.aenqueue()
        execute(bell, "UPDATE workbell_runs SET id = :id WHERE id = :old", id=again.id, old=waiting.id)
        execute(bell, FORGET_CLAIM, id=running.id)
        assert position.value is not None
        position.value = position.value._replace(place=50)
        await asyncio.to_thread(until, lambda: len(records(bell)) == 3, "the records")
        await asyncio.to_thread(until, lambda: told, "the handler to hear of it")
        await position.asked_again()
        position.value = position.value._replace(timeline=2)  # another suspicion: nothing is said twice
        await position.asked_again()
    assert told == [True]
    assert set(records(bell)) == {
        (running.id, RewindKind.LEASE),
        (gone.id, RewindKind.GONE),
        (again.id, RewindKind.REPEATED),
    }
    (line,) = logged(caplog, REWOUND)
    assert "it ends at 50, and was at 100" in line
    assert f"1 run executed under a lease that it lost ({running.id})" in line
    assert f"1 run executed before that it runs again ({again.id})" in line
    assert f"1 run that no longer exists ({gone.id})" in line
    worker = kept.worker
    assert worker is not None
    why = bell.why(again.id)
    assert f"Executed before: worker {worker} finished it as succeeded at" in why
    assert why.endswith("before the store was rewound.")
    assert "Executed before" not in bell.why(kept.id)
    ((level, text),) = [(one.level, one.text) for one in examine(sql_store_url).findings if one.what == "rewound"]
    assert level == "risk"
    assert text.startswith("the store was rewound, as workers noticed")
    assert "workbell workers rewinds" in text


@pytest.mark.parametrize(
    "change",
    [{"identity": "b"}, {"timeline": 2}, {"place": 1}, {"server_start": "later"}],
    ids=lambda one: next(iter(one)),
)
async def test_a_false_alarm_costs_one_line_and_no_lease(
    bell: Workbell, position: Position, caplog: pytest.LogCaptureFixture, change: dict[str, object]
) -> None:
    caplog.set_level(logging.INFO, "workbell.engine")
    gate, begun = threading.Event(), threading.Event()

    @bell.job
    def held() -> str:
        begun.set()
        gate.wait(30)
        return "done"

    async with bell.running():
        await position.asked_again()
        run = await held.aenqueue()
        await asyncio.to_thread(begun.wait, 30)
        assert position.value is not None
        position.value = position.value._replace(**change)  # type: ignore[arg-type]
        await position.asked_again()
        gate.set()
        ended = await bell.await_(run.id, timeout=30)
        await position.asked_again()
    assert (ended.status, ended.attempt, ended.losses) == (Status.SUCCEEDED, 1, 0)
    assert len(logged(caplog, MAYBE)) == 1
    assert not logged(caplog, REWOUND)
    assert records(bell) == []


async def test_a_store_that_hides_its_position_is_left_alone(
    bell: Workbell, position: Position, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "workbell.engine")
    async with bell.running():
        await position.asked_again()
        position.value = None
        await position.asked_again()
        position.value = StorePosition("a", 1, 100)  # as it was
        await position.asked_again()
    assert not logged(caplog, MAYBE)
    assert not logged(caplog, REWOUND)


async def test_records_are_written_when_the_store_is_back(
    bell: Workbell, position: Position, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes away again after the comparison: what was found is kept until it can be written."""
    add, fails = bell.store.rewinds.add, [True, True]

    def refuse(new: list[Rewind]) -> None:
        if fails:
            fails.pop()
            raise StoreUnavailable("it is away again")
        add(new)

    monkeypatch.setattr(bell.store.rewinds, "add", refuse)

    @bell.job
    def quick() -> None: ...

    async with bell.running():
        await position.asked_again()
        run = await bell.await_((await quick.aenqueue()).id, timeout=30)
        forget(bell, run.id)
        assert position.value is not None
        position.value = position.value._replace(identity="b")
        await asyncio.to_thread(until, lambda: records(bell), "the record")
    assert records(bell) == [(run.id, RewindKind.GONE)]
    assert not fails


async def test_it_looks_as_soon_as_the_store_is_back(
    bell: Workbell, position: Position, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PACE", 3600.0)
    survey: Callable[..., object] = bell.store.runs.survey
    away = threading.Event()

    def outage(*arguments: object, **words: object) -> object:
        if away.is_set():
            raise StoreUnavailable("it is away")
        return survey(*arguments, **words)

    monkeypatch.setattr(bell.store.runs, "survey", outage)
    async with bell.running():
        await asyncio.to_thread(until, lambda: position.asked, "the first position")
        away.set()
        await asyncio.sleep(0.3)  # several polls fail
        assert position.asked == 1
        away.clear()
        await asyncio.to_thread(until, lambda: position.asked >= 2, "the position after the outage")


class Comparisons:
    """A watch over the works of this worker, step by step, and a store that is put back behind its back."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bell = Workbell(settings=Settings(url=url))
        self.job = self.bell.job(name="work")(lambda: None)
        self.bell.store.check()
        self.position = Position()
        monkeypatch.setattr(self.bell.store, "position", self.position)
        self.clock = ManualClock(self.bell.store.clock.now())
        self.works: list[Work] = []
        self.recent = RecentRuns(self.clock, Retention())
        self._watch = RewindWatch(self.bell.store, "w", self.recent, lambda: self.works, Waker())
        self.step()

    def step(self) -> None:
        self._watch.step(self.clock.now())

    def claimed(self, worker: str = "w") -> Work:
        run = self.bell.enqueue("work") if worker == "w" else None
        (taken,) = claim(self.bell.store, at=(self.clock.now() - after(0)).total_seconds(), worker=worker)
        assert run is None or taken.id == run.id
        return Work(taken, self.bell.registry.find("work"))

    def hold(self, *, begun: bool) -> Work:
        """A run that is claimed here; the store forgets that."""
        work = self.claimed()
        if begun:
            work.begin(self.clock)
        self.works = [work]
        execute(self.bell, FORGET_CLAIM, id=work.run.id)
        assert self.position.value is not None
        self.position.value = self.position.value._replace(place=self.position.value.place - 1)
        return work

    def let_go(self) -> None:
        """As a worker does whose outcome is refused."""
        self.recent.let_go(self.works)
        self.works = []


@pytest.fixture
def scene(sql_store_url: str, position: Position, monkeypatch: pytest.MonkeyPatch) -> Iterator[Comparisons]:
    monkeypatch.setattr(watch, "AGAIN", 0.0)
    scene = Comparisons(sql_store_url, monkeypatch)
    with scene.bell:
        yield scene


class TestWhatHappensBesideTheComparison:
    async def test_a_handler_ends(self, scene: Comparisons, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its outcome is refused while the store is being read: it is neither held nor let go of in what was read."""
        work = scene.hold(begun=True)
        standings: Callable[..., object] = scene.bell.store.rewinds.standings

        def read(ids: list[str]) -> object:
            found = standings(ids)
            scene.let_go()
            return found

        monkeypatch.setattr(scene.bell.store.rewinds, "standings", read)
        scene.step()
        scene.step()
        assert records(scene.bell) == [(work.run.id, RewindKind.LEASE)]

    async def test_a_handler_begins(self, scene: Comparisons, caplog: pytest.LogCaptureFixture) -> None:
        """What was claimed here may begin until its renewal is refused."""
        work = scene.hold(begun=False)
        scene.step()
        assert records(scene.bell) == []
        work.begin(scene.clock)
        scene.step()
        scene.let_go()
        scene.step()
        assert records(scene.bell) == [(work.run.id, RewindKind.LEASE)]
        assert len(logged(caplog, REWOUND)) == 1

    async def test_none_begins(self, scene: Comparisons, caplog: pytest.LogCaptureFixture) -> None:
        scene.hold(begun=False)
        scene.step()
        scene.let_go()
        scene.step()
        assert records(scene.bell) == []
        assert not logged(caplog, REWOUND)

    async def test_an_outcome_is_booked(self, scene: Comparisons, monkeypatch: pytest.MonkeyPatch) -> None:
        """The store knew that lease."""
        work = scene.claimed()
        work.begin(scene.clock)
        scene.works = [work]
        standings: Callable[..., object] = scene.bell.store.rewinds.standings
        change = state.succeed(work.run, scene.clock.now(), result="null", keep=Retention().succeeded)

        def read(ids: list[str]) -> object:
            found = standings(ids)
            if scene.works:
                scene.bell.store.runs.apply([change])
                scene.recent.moved([(work.run, change)])
                scene.works = []
            return found

        monkeypatch.setattr(scene.bell.store.rewinds, "standings", read)
        scene.position.value = StorePosition("b")
        scene.step()
        scene.step()
        assert records(scene.bell) == []

    @pytest.mark.parametrize("claims", [1, 2])
    async def test_another_worker_has_ended_the_same_attempt(self, scene: Comparisons, claims: int) -> None:
        """It failed there, and waits for its next attempt or is in it. The row of the attempt has the other's token."""
        work = scene.hold(begun=True)
        other = scene.claimed("other").run
        assert other.attempt == work.run.attempt
        now = scene.clock.now()
        failed = state.release(other, now, started_at=now)
        assert scene.bell.store.runs.apply([failed])
        if claims == 2:
            assert scene.claimed("other").run.attempt == 2
        scene.step()
        assert records(scene.bell) == [(work.run.id, RewindKind.LEASE)]

    async def test_a_lease_that_was_lost_in_the_usual_way(self, scene: Comparisons) -> None:
        work = scene.claimed()
        work.begin(scene.clock)
        scene.works = [work]
        assert scene.bell.store.runs.apply([state.lose(work.run, scene.clock.now(), keep=Retention().other)])
        assert scene.claimed("other").run.attempt == 2
        scene.position.value = StorePosition("b")
        scene.step()
        assert records(scene.bell) == []


async def test_leases_of_agents(bell: Workbell, position: Position) -> None:
    """This process gave them out, and the store forgets two of them. What an agent hands back counts as executed."""
    agents = bell.agents.working
    agent = bell.agents.pair(bell.agents.pairing("till").text).agent
    async with bell.running():
        await position.asked_again()
        for _ in range(3):
            bell.enqueue("print", target="till")
        lost, back, kept = (one.run for one in agents.poll(agent, "s1", capacity=3, lease=60))
        assert agents.result(agent, back.id, back.token, AttemptReport(status=Ending.RELEASED), "s1")
        for run in (lost, back):
            execute(bell, FORGET_CLAIM, id=run.id)
        assert position.value is not None
        position.value = position.value._replace(place=50)
        await asyncio.to_thread(until, lambda: records(bell), "the records")
        await position.asked_again()
        assert set(records(bell)) == {(lost.id, RewindKind.LEASE), (back.id, RewindKind.REPEATED)}
        assert {(one.worker, one.token) for one in bell.workers.rewinds()} == {
            (run.worker, run.token) for run in (lost, back)
        }
        assert agents.result(agent, kept.id, kept.token, AttemptReport(status=Ending.SUCCEEDED), "s1")


@pytest.mark.parametrize("answers_between", [False, True])
async def test_a_restore_that_takes_long(
    scene: Comparisons, monkeypatch: pytest.MonkeyPatch, answers_between: bool
) -> None:
    """For a quarter of an hour the store does not answer, or only now and then: that time does not count."""
    work = scene.claimed()
    scene.recent.moved(
        [(work.run, state.succeed(work.run, scene.clock.now(), result=None, keep=after(86400) - after(0)))]
    )
    scene.step()

    def gone() -> StorePosition:
        raise StoreUnavailable("gone")

    for _ in range(15):
        with monkeypatch.context() as outage:
            outage.setattr(scene.bell.store, "position", gone)
            for _ in range(20):
                scene.clock.advance(3)
                with pytest.raises(StoreUnavailable):
                    scene.step()
        if answers_between:
            scene.step()
    forget(scene.bell, work.run.id)
    assert scene.position.value is not None
    scene.position.value = scene.position.value._replace(timeline=2)
    scene.step()
    assert records(scene.bell) == [(work.run.id, RewindKind.GONE)]


class TestRecentRuns:
    async def test_they_are_bounded_in_number_and_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watch, "MOST", 5)
        clock, store = ManualClock(), fresh_store()
        recent, keep = RecentRuns(clock, Retention()), Retention()
        add(store, *[request() for _ in range(8)])
        runs = claim(store)
        for run in runs:
            recent.moved([(run, state.succeed(run, after(1), result="null", keep=keep.succeeded))])
        assert [one.id for one in recent.known()] == [run.id for run in runs[-5:]]
        recent.moved([(runs[0], state.release(runs[0], after(1)))])  # it had not begun
        assert [one.id for one in recent.known()] == [run.id for run in runs[-5:]]
        recent.note_answer()
        clock.advance(watch.REMEMBERED - 1)
        recent.note_answer()
        recent.note_failure()
        clock.advance(3600)
        recent.note_answer()  # the store was away, and that time does not count
        assert len(recent.known()) == 5
        clock.advance(2)
        recent.note_answer()
        assert recent.known() == []
