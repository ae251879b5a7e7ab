"""Windows are kept by late starts, retries and follow-ups of ticks, wherever a handler is called (E2, P103)."""

from __future__ import annotations

import asyncio
import importlib
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.scheduling import ledger, look, runs_of, set_clock
from tests.support.statements import watch_statements
from tests.support.waiting import until
from workbell import Answer, Event, Run, Status, Workbell
from workbell.model.agent import Agent, Ending
from workbell.process.platform import boot_clock
from workbell.stores.port import Held
from workbell.wire.agents import AttemptReport

APP = """
from pathlib import Path
from workbell import Retry, Workbell

HERE = Path(__file__).parent
LATER = Retry(attempts=3, delay=1800, cap=1800, jitter=0)
bell = Workbell({url!r})

def work():
    with (HERE / "starts").open("a") as file:
        file.write("started\\n")
    if (HERE / "fails").exists():
        raise ValueError("no disk")

@bell.job(retry=LATER)
def plain(): work()

@bell.job(retry=LATER)
async def on_loop(): work()

@bell.job(retry=LATER, isolate="process")
def isolated(): work()

@bell.job(retry=LATER, concurrency=1)
def limited(): work()
"""
KINDS = ["plain", "on_loop", "isolated"]
WINDOW = ("02:00", "06:00")
PUT_OFF = "outside the window"
AT_THEIR_PACE = "survey tenants put_worker remove_workers add_tallies see_workers asked_to_end".split()
DONE = AttemptReport(status=Ending.SUCCEEDED)


class ToldClock:
    """The time on the wall is told, and goes on from there; what takes a while is measured as ever."""

    def __init__(self, at: datetime) -> None:
        self.boottime = boot_clock()
        self.tell(at)

    monotonic = staticmethod(time.monotonic)

    def tell(self, at: datetime) -> None:
        self._at, self._since = at, self.boottime()

    def now(self) -> datetime:
        return self._at + timedelta(seconds=self.boottime() - self._since)


def at(clock: str, day: int = 7) -> datetime:
    """A time of the story, in UTC: `at("05:30")`, the next day `at("02:00", 8)`."""
    return datetime.fromisoformat(f"2030-01-{day:02}T{clock}+00:00")


class Scene:
    """An app in a module of its own, which its processes import, too; a schedule of a job of it, and a told time."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        file = folder / "window_app.py"
        file.write_text(textwrap.dedent(APP).replace("{url!r}", repr(url)))
        self.bell: Workbell = importlib.import_module(file.stem).bell
        self.clock = ToldClock(at("01:00"))
        set_clock(self.bell.store, self.clock)

    def put(self, job: str, **settings: Any) -> None:
        given = {"cron": "30 5 * * *", "timezone": "UTC", "window": WINDOW} | settings
        self.bell.schedules.put("nightly", job=job, **given)

    def tick(self) -> Run:
        """The tick of half past five, and its run: nobody has taken it yet."""
        self.clock.tell(at("05:30:01"))
        look(self.bell, self.clock.now())
        return self.newest()

    def work(self, clock: str, day: int = 7, **options: Any) -> list[tuple[Answer, Status | None, str | None]]:
        """A dispatch and a worker, at a time."""
        self.clock.tell(at(clock, day))
        self.bell.dispatch()
        done = self.bell.consume(seconds=60, **options)
        return [(one.answer, one.status, one.reason) for one in done.results]

    def newest(self) -> Run:
        return runs_of(self.bell, "nightly")[0]

    @property
    def fails(self) -> Path:
        return self.folder / "fails"

    @property
    def starts(self) -> int:
        file = self.folder / "starts"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def attempts(self, run: Run) -> list[str]:
        return [attempt.status.value for attempt in self.bell.attempts(run.id)]


@pytest.fixture
def scene(tmp_path: Path, sql_store_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.syspath_prepend(tmp_path)
    scene = Scene(tmp_path, sql_store_url)
    yield scene
    scene.bell.close()
    del sys.modules["window_app"]


@pytest.mark.parametrize("job", KINDS)
class TestEachKindOfHandler:
    def test_a_late_start_is_put_off(self, scene: Scene, job: str) -> None:
        scene.put(job)
        run = scene.tick()
        assert scene.work("06:10") == [(Answer.IGNORED, Status.SCHEDULED, PUT_OFF)]
        waiting = scene.bell.get(run.id)
        assert (waiting.scheduled_for, waiting.attempt, waiting.reason) == (at("02:00", 8), 0, PUT_OFF)
        assert (scene.starts, scene.attempts(run), waiting.worker) == (0, [], None)
        assert scene.bell.why(run.id).startswith(
            "It was put off to the window's opening at 2030-01-08 02:00:00 UTC, in 20 h (02:00–06:00, UTC)."
        )
        assert scene.work("12:00") == scene.work("01:59:50", 8) == [], "no worker claims it again and again"
        assert scene.work("02:00:01", 8) == [(Answer.DONE, Status.SUCCEEDED, None)]
        assert (scene.starts, scene.bell.get(run.id).attempt) == (1, 1)

    def test_with_skip_a_late_start_ends(self, scene: Scene, job: str) -> None:
        scene.put(job, outside="skip")
        run = scene.tick()
        assert scene.work("06:00:00") == [(Answer.DONE, Status.CANCELED, None)]
        ended = scene.bell.get(run.id)
        assert (ended.status, ended.reason, ended.error, ended.started_at) == (Status.CANCELED, "window", None, None)
        assert (scene.starts, scene.attempts(run)) == (0, [])
        assert "canceled" in scene.bell.why(run.id)

    def test_a_retry_is_put_off_and_keeps_its_error(self, scene: Scene, job: str) -> None:
        scene.put(job)
        run = scene.tick()
        scene.fails.touch()
        scene.work("05:45")
        failed = scene.bell.get(run.id)
        assert (failed.status, failed.attempt, failed.failures) == (Status.SCHEDULED, 1, 1)
        assert "it will be put off to the window's opening at 2030-01-08 02:00:00 UTC" in scene.bell.why(run.id)
        assert scene.work("06:16") == [(Answer.IGNORED, Status.SCHEDULED, PUT_OFF)]
        waiting = scene.bell.get(run.id)
        assert (waiting.scheduled_for, waiting.attempt, waiting.failures) == (at("02:00", 8), 1, 1)
        assert "no disk" in (waiting.error or "")
        assert "Attempt 1 failed: ValueError: no disk" in scene.bell.why(run.id)
        scene.fails.unlink()
        scene.work("02:00:01", 8)
        assert (scene.starts, scene.attempts(run)) == (2, ["failed", "succeeded"])

    def test_with_skip_a_retry_ends_and_keeps_its_error(self, scene: Scene, job: str) -> None:
        scene.put(job, outside="skip")
        run = scene.tick()
        scene.fails.touch()
        scene.work("05:45")
        assert "outside the window (02:00–06:00, UTC): it will end" in scene.bell.why(run.id)
        scene.work("06:16")
        ended = scene.bell.get(run.id)
        assert (ended.status, ended.reason, ended.failures) == (Status.CANCELED, "window", 1)
        assert "no disk" in (ended.error or "")
        assert (scene.starts, scene.attempts(run)) == (1, ["failed"])

    def test_a_follow_up_is_put_off(self, scene: Scene, job: str) -> None:
        scene.put(job, retry=1, auto_reschedule=1800)
        first = scene.tick()
        scene.fails.touch()
        scene.work("05:45")
        follow = scene.newest()
        assert (follow.rescheduled_from, scene.bell.get(first.id).status) == (first.id, Status.FAILED)
        scene.work("06:16")
        waiting = scene.bell.get(follow.id)
        assert (waiting.status, waiting.scheduled_for, waiting.attempt) == (Status.SCHEDULED, at("02:00", 8), 0)
        scene.fails.unlink()
        scene.work("02:00:01", 8)
        assert scene.bell.get(follow.id).status is Status.SUCCEEDED

    def test_what_somebody_asks_for_starts_at_once(self, scene: Scene, job: str) -> None:
        scene.put(job, outside="skip")
        ended = scene.tick()
        scene.work("06:10")
        asked = [scene.bell.schedules.run("nightly"), scene.bell.retry(ended.id)]
        scene.work("06:20")
        assert {scene.bell.get(run.id).status for run in asked} == {Status.SUCCEEDED}
        assert scene.starts == 2

    def test_a_run_within_its_window(self, scene: Scene, job: str) -> None:
        scene.put(job)
        run = scene.tick()
        assert scene.work("05:59:30") == [(Answer.DONE, Status.SUCCEEDED, None)]
        assert scene.attempts(run) == ["succeeded"]


def test_a_bulk_retry_starts_at_once(scene: Scene) -> None:
    """And its own retry, too: nobody asked for the window then."""
    scene.put("plain", retry=1)
    run = scene.tick()
    scene.fails.touch()
    scene.work("05:45")
    assert scene.bell.get(run.id).status is Status.FAILED
    scene.bell.bulk("retry", status="failed")
    scene.fails.unlink()
    scene.work("06:10")
    repeated = scene.newest()
    assert (repeated.retry_of, repeated.status, repeated.schedule) == (run.id, Status.SUCCEEDED, run.schedule)


def test_by_the_ids_of_runs(scene: Scene) -> None:
    """A queue's message is acknowledged: the next one comes when the window opens."""
    scene.put("plain")
    run = scene.tick()
    assert scene.work("06:10", runs=[run.id]) == [(Answer.IGNORED, Status.SCHEDULED, PUT_OFF)]
    (again,) = scene.bell.consume(runs=[run.id]).results
    assert (again.answer, again.reason, again.retry_after) == (Answer.RETRY, "not due yet", pytest.approx(71_400, 1))


def test_a_handler_that_runs_when_the_window_closes_is_left_alone(scene: Scene) -> None:
    @scene.bell.job
    def long() -> str:
        scene.clock.tell(at("06:10"))
        return "done"

    scene.put("long")
    run = scene.tick()
    scene.work("05:59")
    assert (scene.bell.get(run.id).status, scene.bell.get(run.id).result) == (Status.SUCCEEDED, "done")


@pytest.mark.anyio
async def test_a_worker_that_is_always_there(scene: Scene) -> None:
    """The whole engine: the tick, the put-off, and the start at the opening."""
    scene.put("plain")
    scene.tick()
    scene.clock.tell(at("06:10"))
    run = scene.newest()
    async with scene.bell.running():
        await asyncio.to_thread(until, lambda: scene.bell.get(run.id).reason == PUT_OFF)
        assert scene.bell.get(run.id).scheduled_for == at("02:00", 8)
        scene.clock.tell(at("01:59:59.5", 8))
        await scene.bell.await_(run.id, timeout=60)
    started = scene.bell.get(run.id).started_at
    assert started is not None
    assert at("02:00", 8) - timedelta(milliseconds=1) < started < at("02:01", 8)


def test_the_schedule_stays_truthful(scene: Scene) -> None:
    """E4, F2: the tick fired, the run that waits is in the way of the next ticks, and is named."""
    scene.put("plain", cron="30 * * * *")
    run = scene.tick()
    scene.work("06:10")
    scene.clock.tell(at("06:30:01"))
    look(scene.bell, scene.clock.now())
    fired, skipped = ledger(scene.bell, "nightly")[-2:]
    assert (fired.outcome, fired.run) == ("fired", run.id)
    assert (skipped.outcome, skipped.reason) == ("skipped", f"the run before it ({run.id}) has not ended")
    now = scene.bell.schedules.get("nightly")
    assert (now.last_fire_status, now.last_run_id, now.next_run_at) == ("skipped", run.id, at("02:00", 8))
    assert (now.run_count, now.failure_count, now.last_run_status) == (1, 0, None)


def test_it_expires_while_it_waits(scene: Scene) -> None:
    scene.put("plain", expires=7200)
    run = scene.tick()
    scene.work("06:10")
    scene.work("07:31")
    assert (scene.bell.get(run.id).status, scene.bell.get(run.id).reason) == (Status.CANCELED, "expired")


def test_its_place_is_given_back(scene: Scene) -> None:
    """A limit of one, taken by a run that is put off, holds nobody up."""
    scene.put("limited")
    run = scene.tick()
    other = scene.bell.enqueue("limited", priority=-1)  # behind it
    scene.work("06:10")
    assert scene.bell.get(run.id).reason == PUT_OFF
    assert scene.bell.get(other.id).status is Status.SUCCEEDED


def test_a_cancel_ends_it(scene: Scene) -> None:
    scene.put("plain")
    run = scene.tick()
    scene.work("06:10")
    scene.bell.cancel(run.id, "not tonight")
    assert scene.bell.get(run.id).reason == "not tonight"
    assert scene.work("02:00:01", 8) == []


def test_no_start_is_told_of_a_run_that_is_put_off(scene: Scene) -> None:
    """`job.started` is told once for each attempt: it must be the one that really begins."""
    told: list[str] = []

    @scene.bell.on("job.started")
    def note(event: Event) -> None:
        told.append(event.data["name"])

    scene.bell.dispatch()  # which puts the trigger
    scene.put("plain")
    scene.tick()
    scene.work("06:10")
    scene.work("06:11")
    assert told == []
    scene.work("02:00:01", 8)
    scene.work("02:00:02", 8)
    assert told == ["plain"]


def test_a_window_that_cannot_be_read_fails_the_run(scene: Scene) -> None:
    """A zone that this machine does not know: the run says so, and no slot is lost."""
    scene.put("plain", retry=1)
    run = scene.tick()
    text = (run.options_text or "").replace('"UTC"', '"Mars/Olympus"')
    database = scene.bell.store.database  # type: ignore[attr-defined]
    database.write([_raw(f"UPDATE workbell_runs SET options = '{text}'")])
    scene.work("05:45")
    failed = scene.bell.get(run.id)
    assert (failed.status, failed.reason) == (Status.FAILED, "window")
    assert "Mars/Olympus" in (failed.error or "")


def _raw(text: str) -> Any:
    from workbell.stores.database import Statement

    return Statement("raw", {}, text=text)


class TestAgents:
    """No run is handed out outside its window."""

    @pytest.fixture
    def agent(self, scene: Scene) -> Agent:
        return scene.bell.agents.pair(scene.bell.agents.pairing("box").text, host="box", version="1").agent

    @pytest.mark.parametrize("outside", ["defer", "skip"])
    def test_a_poll(self, scene: Scene, agent: Agent, outside: str) -> None:
        scene.put("plain", target="box", outside=outside)
        run = scene.tick()
        other = scene.bell.enqueue("plain", target="box", priority=-1)
        scene.clock.tell(at("06:10"))
        handed = scene.bell.agents.working.poll(agent, "s1", capacity=5)
        assert [one.run.id for one in handed] == [other.id]
        now = scene.bell.get(run.id)
        if outside == "skip":
            assert (now.status, now.reason) == (Status.CANCELED, "window")
            return
        assert (now.status, now.scheduled_for, now.attempt) == (Status.SCHEDULED, at("02:00", 8), 0)
        scene.bell.agents.working.result(agent, other.id, handed[0].run.token, DONE, "s1")
        scene.clock.tell(at("02:00:01", 8))
        scene.bell.dispatch()
        (handed_again,) = scene.bell.agents.working.poll(agent, "s2")
        assert (handed_again.run.id, handed_again.run.attempt) == (run.id, 1)

    def test_a_take(self, scene: Scene, agent: Agent) -> None:
        scene.put("plain", target="box")
        run = scene.tick()
        scene.clock.tell(at("06:10"))
        answer = scene.bell.agents.working.take(agent, run.id, "s1")
        assert (answer.handed, answer.status) == (None, Status.SCHEDULED)
        assert scene.bell.get(run.id).scheduled_for == at("02:00", 8)

    def test_one_whose_answer_was_lost(self, scene: Scene, agent: Agent) -> None:
        """It was claimed inside the window, and the agent never got it; one that it holds is left alone."""
        scene.put("plain", target="box", overlap="allow", catch_up="all", cron="20,30 5 * * *")
        scene.tick()
        working = scene.bell.agents.working
        lost, held = (one.run for one in working.poll(agent, "s1", capacity=2))
        scene.clock.tell(at("06:10"))
        assert working.poll(agent, "s1", capacity=2, holding=[Held(held.id, held.token)]) == []
        assert scene.bell.get(lost.id).reason == PUT_OFF
        assert scene.bell.get(held.id).status is Status.RUNNING


def test_no_statement_more(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without a window costs what it cost, and one that starts in its window no more than that."""
    seen: list[str] = []
    watch_statements(lambda query, _rows: seen.append(query), monkeypatch.setattr)

    def statements_of(make: Callable[[], Any]) -> list[str]:
        """All statements of a worker that executes one run, without those that come by the clock."""
        make()
        seen.clear()
        (one,) = scene.bell.consume(seconds=60).results
        assert one.status is Status.SUCCEEDED
        return [query for query in seen if query not in AT_THEIR_PACE]

    def tick(window: tuple[str, str] | None) -> None:
        scene.put("plain", window=window, cron="* * * * *")
        scene.clock.tell(scene.clock.now() + timedelta(minutes=1))
        look(scene.bell, scene.clock.now())

    scene.clock.tell(at("05:30"))
    statements_of(lambda: scene.bell.enqueue("plain"))  # the first has more to do: jobs are put
    alone = statements_of(lambda: scene.bell.enqueue("plain"))
    assert alone == ["claim", "finish_well", *(["remove_live"] if "sqlite" in scene.bell.settings.url else [])]
    assert statements_of(lambda: tick(None)) == [*alone, "report"]
    assert statements_of(lambda: tick(WINDOW)) == [*alone, "report"]
