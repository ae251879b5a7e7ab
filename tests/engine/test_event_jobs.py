"""Jobs that events start, in engines that run (C1-C4, A12): declared at the start, found by events stored before it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.environment import settings_in_environment
from tests.support.fresh_store import fresh_store
from tests.support.project_folder import ProjectFolder
from tests.support.waiting import until
from workbell import Context, Event, InvalidOption, Retry, Run, Status, Workbell
from workbell.model.clock import ManualClock
from workbell.settings import load
from workbell.testing import drain

HANDLER = "def run(ctx, event):\n    return [event.type, ctx.event.data]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    folder = ProjectFolder(tmp_path / "demo")
    folder.write("workbell.toml", 'timezone = "UTC"\n')
    monkeypatch.chdir(folder.folder)
    for name in settings_in_environment():
        monkeypatch.delenv(name)
    return folder


def make_bell(project: ProjectFolder, url: str | None = None, store: Any = None) -> Workbell:
    settings = load({"url": url}, environment={}, file=project.folder / "workbell.toml")
    return Workbell(settings=settings, store=store)


@pytest.fixture
def bell(project: ProjectFolder, clock: ManualClock) -> Iterator[Workbell]:
    with make_bell(project, store=fresh_store(clock)) as bell:
        yield bell


def there(bell: Workbell) -> dict[str, tuple[str, str]]:
    return {
        trigger.name: (trigger.pattern, trigger.source) for trigger in bell.store.subscribers.list_triggers("default")
    }


def runs(bell: Workbell, event: str, data: Any = None) -> list[Run]:
    bell.emit(event, data)
    return drain(bell)


class TestRunning:
    @pytest.mark.anyio
    async def test_an_event_from_before_the_start_is_heard(self, store_url: str, project: ProjectFolder) -> None:
        with make_bell(project, store_url) as bell:
            before = await bell.aemit("posts.created", {"id": 1})

            @bell.on("posts.*")
            async def note(event: Event) -> Any:
                return event.data

            @bell.processor("count")
            def count(event: Event, execution: Any) -> dict[str, Any]:
                return {"counted": event.data["id"], "attempt": execution.attempt_number}

            def succeeded() -> int:
                return len(bell.runs(status="succeeded"))

            async with bell.running():
                await asyncio.to_thread(until, lambda: succeeded() == 1, "the event from before")
                bell.triggers.add("counting", pattern="posts.created", processor=count)
                after = await bell.aemit("posts.created", {"id": 2})
                await asyncio.to_thread(until, lambda: succeeded() == 3, "both runs of the event from now")
            results = {(run.event, run.job): run.result for run in bell.runs()}
            assert results[before.id, "note"] == {"id": 1}
            assert results[after.id, "note"] == {"id": 2}
            assert results[after.id, "count"] == {"counted": 2, "attempt": 1}
            (known,) = [job for job in bell.store.jobs.list("default") if job.name == "note"]
            assert known.processor

    def test_the_priority_of_the_code_counts(self, bell: Workbell, project: ProjectFolder) -> None:
        @bell.on("posts.*", priority=5)
        def hear() -> None: ...

        @bell.processor("counts", priority=-5)
        def count(event: Event) -> None: ...

        bell.triggers.add("counted", pattern="posts.*", processor="counts")
        project.write("jobs/file.py", 'on = "posts.*"\npriority = 7\n' + HANDLER)
        bell.engine.load()
        assert {run.job: run.priority for run in runs(bell, "posts.created")} == {"hear": 5, "counts": -5, "file": 7}

    def test_the_retry_of_the_code_counts(self, bell: Workbell) -> None:
        @bell.on("posts.*", retry=Retry(attempts=2, delay=0, jitter=0))
        def fail(event: Event) -> None:
            raise ValueError("no")

        (run,) = runs(bell, "posts.created")
        assert (run.status, run.attempt) == (Status.FAILED, 2)


class TestDeclared:
    def test_by_code_when_an_engine_starts(self, bell: Workbell) -> None:
        @bell.on("posts.*", description="Notes.\nAnd more.")
        def note() -> None: ...

        assert there(bell) == {}
        bell.engine.start()
        assert there(bell) == {"note": ("posts.*", "code:demo")}
        assert bell.triggers.get("note").description == "Notes."

    def test_a_worker_leaves_it_to_the_scheduler(self, bell: Workbell, project: ProjectFolder) -> None:
        project.write("jobs/mail.py", 'on = "posts.*"\n' + HANDLER)
        bell.on("posts.*")(lambda: None)
        bell.engine.declares_schedules = False
        bell.engine.start()
        assert there(bell) == {}
        assert "mail" in bell.registry

    def test_again_and_again(self, bell: Workbell, clock: ManualClock, project: ProjectFolder) -> None:
        """What this process wants is never retired, also if an operator removed it; what it no longer wants is."""
        project.write("jobs/mail.py", 'on = "posts.*"\n' + HANDLER)
        bell.on("users.*", name="note")(lambda: None)
        bell.on("users.*", name="old")(lambda: None)
        bell.engine.start()
        bell.registry.replace([], ["old"])
        bell.triggers.delete("note")
        for _ in range(11):
            clock.advance(60)
            bell.engine.declare_again()
        assert there(bell) == {"mail": ("posts.*", "file:demo"), "note": ("users.*", "code:demo")}

    def test_what_cannot_be_put_is_told_once(self, bell: Workbell, caplog: pytest.LogCaptureFixture) -> None:
        bell.processor("other")(lambda: None)
        for name in ("note", "note:users.*"):
            bell.triggers.add(name, pattern="posts.*", processor="other")
        bell.on("users.*", name="note")(lambda: None)
        bell.engine.start()
        bell.engine.declare_again()
        assert [line for line in caplog.messages if "rename" in line] == [
            "job note: no trigger for users.* could be made, because the names note and note:users.* are taken by "
            "others; rename one of those, or the job"
        ]

    def test_an_operator_s_word_stays(self, bell: Workbell) -> None:
        bell.on("posts.*", name="note")(lambda: None)
        bell.engine.start()
        bell.triggers.disable("note")
        bell.engine.start()
        bell.engine.declare_again()
        assert not bell.triggers.get("note").enabled
        assert runs(bell, "posts.created") == []


class TestFiles:
    def test_not_in_the_place_of_a_job_of_workbell(self, bell: Workbell, project: ProjectFolder) -> None:
        """C8: a file of that name would get all deliveries, and seem to make them."""
        project.write("jobs/webhook-delivery.py", 'schedule = "0 3 * * *"\ndef run(ctx):\n    pass\n')
        bell.engine.reload()
        (problem,) = bell.engine.problems
        assert "rename the file" in problem.message
        found = bell.registry.find("webhook-delivery")
        assert found is not None
        assert found.handler.startswith("workbell")

    def test_an_event_starts_the_file(self, bell: Workbell, project: ProjectFolder) -> None:
        project.write("jobs/mail.py", 'on = ["posts.*", "users.created"]\n' + HANDLER)
        bell.engine.load()
        assert there(bell) == {"mail": ("posts.*", "file:demo"), "mail:users.created": ("users.created", "file:demo")}
        assert bell.schedules.list() == []
        assert [run.result for run in runs(bell, "posts.created", 5)] == [["posts.created", 5]]
        (listed,) = bell.engine.list()
        assert listed == ("mail", None, "jobs/mail.py", None, ("posts.*", "users.created"))
        with pytest.raises(InvalidOption, match=r"^job mail: it takes an event"):
            bell.enqueue("mail")

    def test_a_schedule_besides(self, bell: Workbell, project: ProjectFolder, clock: ManualClock) -> None:
        text = 'schedule = "0 * * * *"\non = "posts.*"\ndef run(event=None):\n    return event and event.type\n'
        project.write("jobs/both.py", text)
        bell.engine.load()
        assert [run.result for run in runs(bell, "posts.created")] == ["posts.created"]
        clock.advance(hours=1)
        (tick,) = drain(bell)
        assert (tick.result, tick.schedule) == (None, bell.schedules.get("both").id)

    def test_a_reload_takes_over_at_once(self, bell: Workbell, project: ProjectFolder) -> None:
        project.write("jobs/mail.py", 'on = ["posts.*", "users.*"]\n' + HANDLER)
        project.write("jobs/note.py", 'on = "posts.*"\n' + HANDLER)
        bell.engine.load()
        bell.triggers.disable("mail")
        project.write("jobs/mail.py", 'on = "orders.*"\n' + HANDLER)
        project.remove("jobs/note.py")
        bell.engine.reload()
        assert there(bell) == {"mail": ("orders.*", "file:demo")}
        assert not bell.triggers.get("mail").enabled
        project.write("jobs/mail.py", 'schedule = "0 * * * *"\ndef run():\n    return "tick"\n')
        bell.engine.reload()
        assert there(bell) == {}
        bell.enqueue("mail")
        assert [run.result for run in drain(bell)] == ["tick"]
        project.write("jobs/mail.py", 'on = "orders.*"\n' + HANDLER)
        bell.engine.reload()
        schedule = bell.schedules.get("mail")
        assert (schedule.enabled, schedule.reason) == (False, "its job file has a schedule no longer")
        assert bell.engine.list()[0].next_run_at is None

    def test_switched_off_in_the_file_and_on_again(self, bell: Workbell, project: ProjectFolder) -> None:
        project.write("jobs/mail.py", 'on = "posts.*"\n' + HANDLER)
        bell.engine.load()
        project.write("jobs/mail.py", 'on = "posts.*"\nenabled = False\n' + HANDLER)
        bell.engine.reload()
        assert (there(bell), runs(bell, "posts.created")) == ({}, [])
        project.write("jobs/mail.py", 'on = "posts.*"\n' + HANDLER)
        bell.engine.reload()
        assert len(runs(bell, "posts.created")) == 1
        project.write("jobs/mail.py", 'on = "posts.*"\nenabled = False\n' + HANDLER)
        with make_bell(project, store=bell.store) as later:  # which does not know how it was before
            later.engine.start()
            assert there(later) == {}

    def test_a_broken_file_keeps_its_trigger(self, bell: Workbell, project: ProjectFolder, clock: ManualClock) -> None:
        project.write("jobs/mail.py", 'on = "posts.*"\n' + HANDLER)
        bell.engine.load()
        project.write("jobs/mail.py", 'on = "posts\ndef run(:\n')
        bell.engine.reload()
        assert len(runs(bell, "posts.created")) == 1  # by its last good version
        with make_bell(project, store=bell.store) as later:  # which knows no good version
            clock.advance(minutes=30)
            later.engine.start()
            assert there(later) == {"mail": ("posts.*", "file:demo")}
            later.emit("posts.created")
            assert drain(later) == []
            project.write("jobs/mail.py", 'on = "posts.*"\n' + HANDLER)
            later.engine.reload()
            assert len(drain(later)) == 1


def test_another_tenant_s_events_start_its_own_runs(bell: Workbell) -> None:
    """A trigger belongs to a tenant; what a handler emits belongs to the tenant of its run."""

    @bell.processor("note")
    def note(ctx: Context, event: Event) -> dict[str, str]:
        return {"tenant": event.tenant, "emitted": ctx.emit("notes.made").tenant}

    other = bell.for_tenant("other")
    other.triggers.add("noting", pattern="posts.*", processor="note")
    other.emit("posts.created")
    bell.emit("posts.created")
    (run,) = drain(bell)
    assert (run.tenant, run.result) == ("other", {"tenant": "other", "emitted": "other"})
