"""Jobs in processes of their own: what they may do, and that poison ends alone, without touching its neighbours."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.processes import Site, kill, state
from tests.support.waiting import until
from workbell import Run, Status, Workbell
from workbell.process.platform import platform

APP = "isolated_app"


class Scene(NamedTuple):
    site: Site
    bell: Workbell

    def end_of(self, job: str, **arguments: object) -> Run:
        return self.bell.wait(self.bell.enqueue(job, arguments).id, timeout=60)

    def begin(self, job: str, **arguments: object) -> tuple[Run, int]:
        """A run whose handler has begun, and the process it is in."""
        run = self.bell.enqueue(job, arguments)
        return run, self.site.await_start(run.id)["pid"]

    def attempts(self, run: Run) -> list[tuple[str, str | None]]:
        return [(attempt.status.value, attempt.error) for attempt in self.bell.attempts(run.id)]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """One worker for all tests that leave it alive; which each of them does."""
    folder = tmp_path_factory.mktemp("isolated")
    url = f"sqlite:///{folder / 'workbell.db'}"
    with Site(folder, url, DATABASE=f"sqlite:///{folder / 'app.db'}") as site, Workbell(url) as bell:
        worker = site.start(program=APP)
        site.await_ready(worker)
        yield Scene(site, bell)
        assert worker.poll() is None, "the worker has ended"


def test_a_definition_runs_in_the_process_of_its_handler(scene: Scene) -> None:
    """By its own name, and with its own timeout, which the process knows too."""
    scene.bell.jobs.put("pid-eu", handler="pid", input={"number": 7})
    run = scene.end_of("pid-eu")
    assert (run.status, run.job, run.result["number"]) == (Status.SUCCEEDED, "pid-eu", 7)
    scene.bell.jobs.put("waits-eu", handler="waits_for_ever", timeout=0.7, retry=1)
    waited = scene.end_of("waits-eu")
    assert (waited.reason, waited.job) == ("timeout", "waits-eu")
    assert "waits-eu did not return within 0.7 s" in (waited.error or "")


def is_alive(pid: int) -> bool:
    try:
        return state(pid) != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_gone(*pids: int) -> None:
    until(lambda: not any(is_alive(pid) for pid in pids), f"the processes {pids} to be gone")


@contextmanager
def no_longer_than_here(*pids: int) -> Iterator[None]:
    """Should the test fail, it leaves nobody behind either."""
    try:
        yield
    finally:
        for pid in pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


# What they may do


def test_an_event_reaches_a_process_of_its_own(scene: Scene) -> None:
    """C3: plain and async; what the first one emits starts the second."""
    event = scene.bell.emit("posts.created", {"id": 7})

    def run_of(job: str) -> Run:
        (run,) = until(lambda: scene.bell.runs(job=job), f"a run of {job}")
        return scene.bell.wait(run.id, timeout=60)

    plain, later = run_of("hears"), run_of("hears_async")
    worker = scene.site.started_here[0].pid
    assert (plain.event, plain.result[1:3]) == (event.id, ["posts.created", {"id": 7}])
    assert later.result[1:] == [plain.result[3], {"post": 7}, 1]
    assert worker not in (plain.result[0], later.result[0])


def test_a_process_of_its_own_is_kept_for_the_next_run(scene: Scene) -> None:
    first, second, third = scene.end_of("pid"), scene.end_of("pid", number=2), scene.end_of("async_pid")
    worker = scene.site.started_here[0].pid
    assert first.result["pid"] == second.result["pid"] == third.result != worker
    assert first.result["group"] == first.result["pid"]
    assert second.result["number"] == 2


def test_errors_are_decided_as_anywhere(scene: Scene) -> None:
    run = scene.end_of("fails_first")
    assert (run.status, run.result) == (Status.SUCCEEDED, 2)
    assert [status for status, _ in scene.attempts(run)] == ["failed", "succeeded"]
    run = scene.end_of("fails_for_good")
    assert (run.status, run.attempt, run.reason) == (Status.FAILED, 1, "error")
    assert run.error is not None
    assert run.error.startswith("KeyError: 'no other try'\n")
    assert "in fails_for_good" in run.error
    assert "\nCaused by: ValueError: the reason" in run.error
    assert run.error_type == "builtins.KeyError"
    run = scene.end_of("calls_exit")
    assert (run.status, run.reason, run.crashes) == (Status.FAILED, "error", 0)


def test_the_context_works_inside(scene: Scene) -> None:
    run = scene.end_of("tells")
    assert run.status is Status.SUCCEEDED, run.error
    assert run.progress == {"done": 2, "total": 2, "message": "done"}
    assert [line.message for line in scene.bell.logs(run.id)] == ["a line from inside"]
    assert scene.bell.wait(run.result, timeout=30).result["number"] == 5
    pid = scene.site.await_start(run.id)["pid"]
    with sqlite3.connect(scene.site.log.with_name("app.db")) as database:
        assert database.execute("SELECT pid FROM written").fetchall() == [(pid,)]
    assert "user_id=7" in scene.site.await_event("message")["text"]
    assert scene.site.await_event("message")["pid"] == scene.site.started_here[0].pid
    (stored,) = scene.bell.notifications.list(7)
    assert stored.data == {"from": "inside"}
    assert repr(stored.id) in scene.site.await_event("message")["text"]


def test_as_many_at_once_as_the_worker_has_slots(tmp_path: Path, sqlite_url: str) -> None:
    """And the rest waits for its turn."""
    with Site(tmp_path, sqlite_url, CONCURRENCY="2") as site, Workbell(sqlite_url) as bell:
        site.await_ready(site.start(program=APP))
        runs = [bell.enqueue("held", {"gate": "all"}) for _ in range(5)]
        until(lambda: len(site.starts()) == 2, "two to begin")
        assert len({event["pid"] for event in site.starts()}) == 2
        site.open_gate("all")
        assert len({bell.wait(run.id, timeout=30).result for run in runs}) == 2


# Poison


@pytest.mark.parametrize("job", ["loops", "loops_on_the_loop"])
def test_time_over_is_really_the_end(scene: Scene, job: str) -> None:
    run = scene.end_of(job)
    assert (run.status, run.reason) == (Status.FAILED, "timeout")
    assert not is_alive(scene.site.await_start(run.id)["pid"])


def test_an_async_handler_out_of_time_ends_by_itself(scene: Scene) -> None:
    run = scene.end_of("waits_for_ever")
    assert (run.status, run.reason) == (Status.FAILED, "timeout")
    assert scene.end_of("async_pid").result == scene.site.await_start(run.id)["pid"]


@pytest.mark.parametrize(
    ("job", "how"), [("exits", "exited with code 3"), ("segfaults", "was killed by signal 11 (SIGSEGV)")]
)
def test_three_deaths_are_the_end(scene: Scene, job: str, how: str) -> None:
    beside, _ = scene.begin("neighbour", gate=job)
    alone, _ = scene.begin("held", gate=job)
    run = scene.end_of(job)
    error = f"The process of this run {how}."
    assert (run.status, run.reason, run.error, run.crashes) == (Status.FAILED, "crashed", error, 3)
    assert scene.attempts(run) == [("lost", error), ("lost", error), ("failed", error)]
    assert len({event["pid"] for event in scene.site.starts(run.id)}) == 3
    scene.site.open_gate(job)
    for other in (beside, alone):
        ended = scene.bell.wait(other.id, timeout=30)
        assert (ended.status, ended.attempt) == (Status.SUCCEEDED, 1)


def test_memory_has_an_end(scene: Scene) -> None:
    """Each try has all of its allowance, and what is within it succeeds."""
    run = scene.end_of("eats_memory")
    assert (run.status, run.reason, run.failures) == (Status.FAILED, "memory", 2)
    assert run.error is not None
    assert run.error.startswith("MemoryError")
    assert scene.end_of("is_frugal", size=60_000_000).result == 60_000_000


def test_the_processors_time_has_an_end(scene: Scene) -> None:
    run = scene.end_of("computes")
    assert (run.status, run.reason, run.crashes) == (Status.FAILED, "cpu", 0)
    assert not is_alive(scene.site.await_start(run.id)["pid"])


def test_the_processors_time_is_each_runs_own(scene: Scene) -> None:
    """A process that has used more than the limit in earlier runs."""
    used = 0.0
    while used < 2.1:
        run = scene.end_of("computes_a_little")
        assert run.status is Status.SUCCEEDED, run.error
        used = run.result


def test_a_cancel_kills_and_what_the_handler_started_with_it(scene: Scene) -> None:
    run, pid = scene.begin("starts_another", gate="never")
    other = scene.site.await_event("another")["other"]
    assert is_alive(other)
    scene.bell.cancel(run.id, "not needed")
    ended = scene.bell.wait(run.id, timeout=30)
    assert (ended.status, ended.reason) == (Status.CANCELED, "not needed")
    await_gone(pid, other)


def test_signals_to_every_process_of_a_service_stop_no_handler(scene: Scene) -> None:
    run, pid = scene.begin("held", gate="deaf")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(pid, number)
    if platform().fork_server:
        os.kill(server_of(pid), signal.SIGTERM)
    scene.site.open_gate("deaf")
    ended = scene.bell.wait(run.id, timeout=30)
    assert (ended.status, ended.attempt) == (Status.SUCCEEDED, 1)


def server_of(pid: int) -> int:
    """The process it was forked from; the worker itself, if there is no fork server."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


# The end of the worker


def test_a_killed_worker_leaves_nobody_behind(tmp_path: Path, sql_store_url: str) -> None:
    """Also where a handler lets no other thread of its process work, if the kernel helps; and another worker does the
    work again."""
    with Site(tmp_path, sql_store_url, LEASE="1") as site, Workbell(sql_store_url) as bell:
        worker = site.start(program=APP)
        site.await_ready(worker)
        scene = Scene(site, bell)
        if platform().signal_on_hangup:
            _, first = scene.begin("holds_the_interpreter")
        else:
            _, first = scene.begin("held", gate="never")
        run, second = scene.begin("starts_another", gate="open")
        other, server = site.await_event("another")["other"], server_of(first)
        with no_longer_than_here(first, second, other):
            kill(worker)
            await_gone(first, second, other, server)
        site.open_gate("open")
        site.start(program=APP)
        ended = bell.wait(run.id, timeout=60)
        assert (ended.status, ended.attempt, ended.crashes) == (Status.SUCCEEDED, 2, 0)
        left = [event["other"] for event in site.events() if event["kind"] == "another"]
    with no_longer_than_here(*left):  # of a process that was idle
        await_gone(*left)


def test_a_stopping_worker_lets_them_end_and_hands_the_rest_back(tmp_path: Path, sqlite_url: str) -> None:
    settings = {"GRACE": "3", "CONCURRENCY": "2", "LEASE": "60"}
    with Site(tmp_path, sqlite_url, **settings) as site, Workbell(sqlite_url) as bell:
        worker = site.start(program=APP)
        site.await_ready(worker)
        scene = Scene(site, bell)
        (ends, first), (stays, second) = scene.begin("held", gate="open"), scene.begin("held", gate="shut")
        server = server_of(first)
        worker.send_signal(signal.SIGTERM)
        site.await_event("stopping")
        site.open_gate("open")
        assert worker.wait(30) == 0
        assert bell.get(ends.id).status is Status.SUCCEEDED
        back = bell.get(stays.id)
        assert (back.status, back.attempt, back.failures, back.losses) == (Status.QUEUED, 1, 0, 0)
        assert scene.attempts(back) == [("released", None)]
        await_gone(first, second, server)
