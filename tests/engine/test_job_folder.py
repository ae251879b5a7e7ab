"""The engine of a project's folder (A1-A3, A7-A10): its files as jobs with schedules, reloaded, listed, listened to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.environment import settings_in_environment
from tests.support.project_folder import ProjectFolder
from tests.support.waiting import until
from workbell import InvalidOption, Retry, Workbell
from workbell.errors import JobsError
from workbell.notices.listeners import LifecycleEvent
from workbell.settings import load
from workbell.testing import drain


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    folder = ProjectFolder(tmp_path / "demo")
    folder.write("workbell.toml", 'timezone = "Europe/Paris"\n')
    monkeypatch.chdir(folder.folder)
    for name in settings_in_environment():
        monkeypatch.delenv(name)
    return folder


def make_bell(url: str, project: ProjectFolder) -> Workbell:
    return Workbell(settings=load({"url": url}, environment={}, file=project.folder / "workbell.toml"))


@pytest.fixture
def bell(project: ProjectFolder, store_url: str) -> Iterator[Workbell]:
    with make_bell(store_url, project) as bell:
        yield bell


class TestLoading:
    def test_a_file_is_a_job_with_a_schedule(self, bell: Workbell, project: ProjectFolder) -> None:
        project.job("reports/weekly.py", "return 'done'", 'queue = "slow"\ninput = {}\n')
        change = bell.engine.load()
        assert [file.name for file in change.added] == ["weekly"]
        (listed,) = bell.engine.list()
        assert listed[:3] == ("weekly", "0 * * * *", "jobs/reports/weekly.py")
        schedule = bell.schedules.get("weekly")
        assert (schedule.job, schedule.expression, schedule.timezone) == ("weekly", "0 * * * *", "Europe/Paris")
        assert (schedule.source, listed.next_run_at) == ("file:demo", schedule.next_run_at)
        job = bell.registry.find("weekly")
        assert job is not None
        assert job.retry == Retry(attempts=3, delay=5, factor=1, jitter=0)

    def test_runs_are_listed_as_completed_and_failed(self, bell: Workbell, project: ProjectFolder) -> None:
        project.job("good.py")
        project.job("bad.py", "raise ValueError('no')", "from workbell import Retry\nretry = Retry(attempts=1)\n")
        bell.engine.load()
        for name in ("good", "bad", "good"):
            bell.enqueue(name)
        drain(bell)
        assert [run.status for run in bell.engine.get_runs("good")] == ["completed", "completed"]
        (failed,) = bell.engine.get_runs("bad")
        assert (failed.status, failed.attempt) == ("failed", 1)
        assert "ValueError: no" in (failed.error or "")
        assert failed.ended_at >= failed.started_at

    def test_load_loads_the_good_ones_and_names_the_bad(self, bell: Workbell, project: ProjectFolder) -> None:
        """A4, A9: with file, line and reason of each; a reload and a start say it and go on (A10)."""
        project.job("good.py", "return 1")
        project.write("jobs/bad.py", 'schedule = "61 * * * *"\ndef run(ctx): ...\n')
        project.write("jobs/worse.py", "def run(:\n")
        with pytest.raises(JobsError) as caught:
            bell.engine.load()
        told = str(caught.value)
        assert "jobs/bad.py:1: cron" in told
        assert "minute" in told
        assert "jobs/worse.py:1: it cannot be read as Python" in told
        bell.enqueue("good")
        assert [run.result for run in drain(bell)] == [1]
        assert bell.schedules.get("good").enabled
        bell.engine.start()
        assert len(bell.engine.problems) == 2

    def test_no_folder_is_no_error(self, bell: Workbell) -> None:
        assert bell.engine.load().loaded == []
        assert (bell.engine.list(), list(bell.engine.problems)) == ([], [])

    def test_a_name_that_the_app_has_is_a_problem(self, bell: Workbell, project: ProjectFolder) -> None:
        @bell.job
        def report() -> str:
            return "of the app"

        project.job("report.py")
        bell.engine.reload()
        (problem,) = bell.engine.problems
        assert "'report' is declared by" in problem.message
        assert bell.registry.find("report") is report
        assert bell.schedules.list() == []

    def test_loaded_again_nothing_changes(self, bell: Workbell, project: ProjectFolder, store_url: str) -> None:
        """A weekly job must not begin anew with every restart."""
        project.job("weekly.py")
        bell.engine.load()
        before = bell.schedules.get("weekly")
        bell.engine.reload()
        with make_bell(store_url, project) as later:
            later.engine.load()
            assert later.schedules.get("weekly") == before


class TestReloading:
    def test_an_edit_changes_job_and_schedule(self, bell: Workbell, project: ProjectFolder) -> None:
        project.job("hello.py", "return 1")
        bell.engine.load()
        project.write("jobs/hello.py", 'schedule = "30 4 * * *"\ndef run():\n    return 2\n')
        change = bell.engine.reload()
        assert [file.name for file in change.changed] == ["hello"]
        assert bell.schedules.get("hello").expression == "30 4 * * *"
        bell.enqueue("hello")
        assert [run.result for run in drain(bell)] == [2]

    def test_a_broken_file_keeps_its_last_good_version(self, bell: Workbell, project: ProjectFolder) -> None:
        project.job("hello.py", "return 1")
        bell.engine.load()
        before = bell.schedules.get("hello")
        project.write("jobs/hello.py", 'schedule = "0 * * *"\ndef run(:\n')
        change = bell.engine.reload()
        assert [file.name for file in change.loaded] == ["hello"]
        assert [(problem.path, problem.line) for problem in bell.engine.problems] == [("jobs/hello.py", 2)]
        assert bell.schedules.get("hello") == before
        bell.enqueue("hello")
        assert [run.result for run in drain(bell)] == [1]

    def test_a_file_that_is_gone_switches_its_schedule_off(self, bell: Workbell, project: ProjectFolder) -> None:
        project.job("hello.py")
        project.job("other.py")
        bell.engine.load()
        project.remove("jobs/hello.py")
        bell.engine.reload()
        gone = bell.schedules.get("hello")
        assert (gone.enabled, gone.next_run_at) == (False, None)
        assert gone.reason == "its job file is gone from the project 'demo'"
        assert bell.registry.find("hello") is None
        assert bell.schedules.get("other").enabled
        project.job("hello.py")
        bell.engine.reload()
        assert (bell.schedules.get("hello").enabled, bell.schedules.get("hello").reason) == (True, None)

    def test_what_was_broken_from_the_start_stays_on(
        self, bell: Workbell, project: ProjectFolder, store_url: str
    ) -> None:
        """A file that cannot be read is not one that is gone."""
        project.job("hello.py")
        bell.engine.load()
        project.write("jobs/hello.py", "def run(:\n")
        with make_bell(store_url, project) as later:
            later.engine.reload()
            assert later.schedules.get("hello").enabled

    def test_a_pause_outlives_a_reload(self, bell: Workbell, project: ProjectFolder) -> None:
        project.job("hello.py")
        bell.engine.load()
        bell.schedules.pause("hello")
        project.write("jobs/hello.py", 'schedule = "30 4 * * *"\ndef run():\n    return 2\n')
        bell.engine.reload()
        paused = bell.schedules.get("hello")
        assert (paused.paused, paused.reason, paused.expression) == (True, "paused", "30 4 * * *")
        assert paused.next_run_at is None

    def test_a_listener_hears_of_changes(self, bell: Workbell, project: ProjectFolder) -> None:
        heard: list[list[str]] = []
        bell.engine.on_change(lambda change: heard.append([file.name for file in change.added]))
        bell.engine.load()
        project.job("hello.py")
        bell.engine.reload()
        assert heard == [[], ["hello"]]


class TestCodeSchedules:
    def test_removed_from_code_is_switched_off_and_back(self, project: ProjectFolder, sql_store_url: str) -> None:
        for round_, cron in enumerate(["0 3 * * *", None, "0 3 * * *"]):
            with make_bell(sql_store_url, project) as bell:
                if cron is not None:
                    bell.job(cron=cron)(nightly)
                bell.engine.start()
                schedule = bell.schedules.get("nightly")
                assert schedule.enabled == (cron is not None), round_
                wanted = None if cron else "the code of 'demo' no longer declares it"
                assert schedule.reason == wanted

    def test_an_older_process_does_not_switch_it_off_for_good(self, project: ProjectFolder, sql_store_url: str) -> None:
        with make_bell(sql_store_url, project) as new, make_bell(sql_store_url, project) as old:
            new.job(cron="0 3 * * *")(nightly)
            new.engine.start()
            old.engine.start()
            assert not new.schedules.get("nightly").enabled
            new.engine.declare_again()
            assert new.schedules.get("nightly").enabled

    def test_a_bad_expression_is_refused_where_it_stands(self, bell: Workbell) -> None:
        with pytest.raises(Exception, match=r"^job nightly: .*61"):
            bell.job(cron="61 3 * * *")(nightly)
        assert bell.registry.find("nightly") is None


def nightly() -> None: ...


@pytest.mark.anyio
class TestRunning:
    async def test_shutdown_lets_a_running_handler_end(self, bell: Workbell) -> None:
        begun, go = threading.Event(), threading.Event()

        @bell.job
        def slow() -> str:
            begun.set()
            go.wait(30)
            return "ended"

        async with bell.running():
            run = await slow.aenqueue()
            await asyncio.to_thread(begun.wait, 30)
            stopping = asyncio.ensure_future(asyncio.to_thread(bell.engine.shutdown))
            go.set()
            await asyncio.wait_for(stopping, 30)
            assert (await bell.aget(run.id)).result == "ended"

    async def test_a_save_is_seen_by_the_watch(self, bell: Workbell, project: ProjectFolder) -> None:
        project.job("hello.py", "return 1")
        bell.engine.load()
        bell.engine.watch()
        try:
            project.job("hello.py", "return 2")
            await asyncio.to_thread(until, lambda: result_of(bell, "hello") == 2, "the new version")
            project.remove("jobs/hello.py")
            await asyncio.to_thread(until, lambda: not bell.schedules.get("hello").enabled, "the end of its schedule")
        finally:
            bell.engine.unwatch()

    async def test_listeners_hear_how_jobs_fare(self, bell: Workbell, project: ProjectFolder) -> None:
        retry = "from workbell import Retry\nretry = Retry(attempts=2, delay=0)\n"
        project.job("bad.py", "raise ValueError('no')", retry)
        project.job("good.py")
        heard: list[LifecycleEvent] = []
        ended = threading.Semaphore(0)

        def hear(event: LifecycleEvent) -> None:
            heard.append(event)
            if event.type != "job.started":
                ended.release()
            raise RuntimeError("a listener's own trouble")

        stop = bell.listen("job.*", hear)
        async with bell.running():
            await bell.aenqueue("bad")
            await bell.aenqueue("good")
            assert await asyncio.to_thread(ended.acquire, timeout=30)
            assert await asyncio.to_thread(ended.acquire, timeout=30)
        stop()
        types = {name: [event.type for event in heard if event.name == name] for name in ("bad", "good")}
        assert types == {
            "bad": ["job.started", "job.started", "job.failed"],
            "good": ["job.started", "job.completed"],
        }
        failed = next(event for event in heard if event.type == "job.failed")
        assert (failed.file_path, failed.schedule, failed.attempt) == ("jobs/bad.py", "0 * * * *", 2)
        assert "ValueError: no" in (failed.error or "")
        completed = next(event for event in heard if event.type == "job.completed")
        assert completed.duration_ms is not None
        assert completed.duration_ms >= 0
        assert "error" not in completed.as_dict()

    async def test_listeners_hear_of_the_end_of_a_chain(self, bell: Workbell, project: ProjectFolder) -> None:
        """B8: of the last run alone, and not of the failures before."""
        project.job("bad.py", "raise ValueError('no')", "retry = 1\nauto_reschedule = 0\n")
        heard: list[LifecycleEvent] = []
        ended = threading.Event()
        bell.runtime.reschedules = 2

        def hear(event: LifecycleEvent) -> None:
            heard.append(event)
            ended.set()

        stop = bell.listen("run.*", hear)
        async with bell.running():
            first = await bell.aenqueue("bad")
            assert await asyncio.to_thread(ended.wait, 30)
        stop()
        (event,) = heard
        assert (event.type, event.reason) == ("run.chain_ended", "error; the last run of its chain")
        assert event.run_id != first.id
        assert len(bell.runs(job="bad")) == 3

    async def test_a_pattern_that_matches_nothing_is_refused(self, bell: Workbell) -> None:
        with pytest.raises(InvalidOption, match=r"'jobs\.done' matches none of job\.started"):
            bell.listen("jobs.done", print)


def result_of(bell: Workbell, name: str) -> object:
    job = bell.registry.find(name)
    return None if job is None else job()
