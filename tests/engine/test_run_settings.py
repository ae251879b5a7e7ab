"""Options of runs on jobs, triggers and schedules: they reach every run, and what stands nearer to it counts (B1)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.event_scheduling import look as look_at_events
from tests.support.fresh_store import fresh_store
from tests.support.project_folder import load_folder
from tests.support.scheduling import DECLARED, live, look, runs_of, told
from workbell import Event, InvalidOption, Retry, Workbell
from workbell.engine.match_events import MatchEvents
from workbell.model.run import Run, Status
from workbell.model.run_defaults import NO_DEFAULTS, RUN_WORDS, RunDefaults, layered
from workbell.model.run_settings import READERS, SETTINGS
from workbell.process.identity import process_name
from workbell.stores.port import Store

NEXT = DECLARED + timedelta(seconds=30)  # the first tick of a schedule of every minute
USER = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"
ALL: dict[str, Any] = {
    "priority": 7,
    "target": "agent-1",
    "tag": "nightly",
    "replace_tag": True,
    "user_id": USER,
    "persistent": False,
    "auto_reschedule": 600,
    "remove_delay": 60,
    "expires": 3600,
}
OTHER: dict[str, Any] = {"priority": -3, "tag": "other", "user_id": 42, "remove_delay": 5, "target": "agent-2"}


def said_of(run: Run) -> dict[str, Any]:
    """What a run carries, in the words that it was said with."""
    assert run.expires_at is not None
    assert run.accepted_by == (None if run.persistent else process_name())
    return {
        "priority": run.priority,
        "target": run.target,
        "tag": run.tag,
        "replace_tag": True,
        "user_id": run.user_id,
        "persistent": run.persistent,
        "auto_reschedule": run.options.auto_reschedule,
        "remove_delay": run.options.remove_delay,
        "expires": (run.expires_at - run.scheduled_for).total_seconds(),
    }


def fan_out(bell: Workbell) -> None:
    look_at_events(bell.store, MatchEvents(bell.store, bell.registry, bell.runtime.subscriptions, lambda _: None, 1.0))


def heard(bell: Workbell) -> list[Run]:
    return [run for run in live(bell.store) if run.event is not None]


def processor(bell: Workbell, **options: Any) -> None:
    @bell.processor("hear", **options)
    def hear() -> None: ...

    bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, "default"))


def test_every_word_is_read_and_offered() -> None:
    assert (
        set(RUN_WORDS)
        == set(READERS)
        == {*SETTINGS, "queue", "retry", "timeout"}
        == {*ALL, *"queue retry timeout".split()}
    )


class TestLevels:
    def test_a_schedule(self, store: Store) -> None:
        bell, _ = told(store)
        made = bell.schedules.put("often", job="work", cron="* * * * *", **ALL)
        look(bell, NEXT)
        (run,) = runs_of(bell, "often")
        assert said_of(run) == ALL
        assert {word: made.as_dict()[word] for word in ALL} == ALL
        assert (run.options.reschedules_left, run.status) == (10, Status.QUEUED)

    def test_a_trigger(self, store: Store) -> None:
        bell, _ = told(store)
        processor(bell)
        made = bell.triggers.add("hearing", pattern="posts.*", processor="hear", queue="mail", timeout=9, **ALL)
        bell.emit("posts.created")
        fan_out(bell)
        (run,) = heard(bell)
        assert said_of(run) == ALL
        assert (run.queue, run.options.timeout, run.options.trigger) == ("mail", 9, made.id)
        shown = bell.triggers.get("hearing").as_dict()
        assert {word: shown[word] for word in ALL} == ALL

    @pytest.mark.parametrize("known", ["here", "in the store"])
    def test_a_job(self, store: Store, known: str) -> None:
        """Whatever makes the run: a call, a tick or an event; also where only the store knows the job."""
        bell, _ = told(store)

        @bell.job(name="nightly", cron="* * * * *", **ALL)
        def work() -> None: ...

        processor(bell, **ALL)
        bell.engine.put_code_schedules()
        bell.triggers.add("hearing", pattern="posts.*", processor="hear")
        other = bell if known == "here" else Workbell(store=store, settings=bell.settings)
        called = other.enqueue("nightly")
        assert said_of(called) == ALL
        assert said_of(bell.get(called.id)) == ALL
        look(other, NEXT)
        (ticked,) = runs_of(bell, "nightly")
        assert said_of(ticked) == ALL
        bell.emit("posts.created")
        fan_out(other)
        (run,) = heard(bell)
        assert said_of(run) == ALL

    def test_a_job_file(self, store: Store, tmp_path: Path) -> None:
        bell, _ = told(store)
        lines = [f"{word} = {value!r}" for word, value in ALL.items()]
        (tmp_path / "jobs").mkdir()
        text = "\n".join(['schedule = "* * * * *"', 'on = "posts.*"', *lines, "def run(ctx): ..."])
        (tmp_path / "jobs" / "nightly.py").write_text(text)
        change = load_folder(tmp_path)
        assert change.problems == []
        job = bell.engine.job_of(change.loaded[0])
        bell.registry.add(job)
        assert said_of(job.enqueue()) == ALL

    def test_a_run_comes_before_its_job(self, store: Store) -> None:
        bell, _ = told(store)

        @bell.job(**ALL)
        def nightly() -> None: ...

        run = nightly.options(**OTHER, expires=60).enqueue()
        assert said_of(run) == ALL | OTHER | {"expires": 60}
        assert nightly.options(tag=None).enqueue().tag is None  # said, that there is none

    def test_a_schedule_comes_before_its_job(self, store: Store) -> None:
        bell, _ = told(store)

        @bell.job(queue="slow", timeout=5, retry=2, **ALL)
        def nightly() -> None: ...

        own = OTHER | {"queue": "quick", "timeout": 8, "retry": 4}
        bell.schedules.put("often", job=nightly, cron="* * * * *", **own)
        look(bell, NEXT)
        (run,) = runs_of(bell, "often")
        assert said_of(run) == ALL | OTHER
        assert (run.queue, run.options.timeout, run.options.retry) == ("quick", 8, Retry(attempts=4))

    def test_a_trigger_comes_before_its_job(self, store: Store) -> None:
        bell, _ = told(store)
        processor(bell, retry=2, **ALL)
        bell.triggers.add("hearing", pattern="posts.*", processor="hear", **OTHER)
        bell.emit("posts.created")
        fan_out(bell)
        (run,) = heard(bell)
        assert said_of(run) == ALL | OTHER
        assert run.options.retry is None  # as the job does it, when it fails

    def test_what_says_nothing_leaves_a_run_as_it_was(self, store: Store) -> None:
        bell, _ = told(store)
        bell.schedules.put("often", job="work", cron="* * * * *")
        look(bell, NEXT)
        (run,) = runs_of(bell, "often")
        assert (run.options_text, run.tag, run.user_id, run.priority, run.persistent) == (None, None, 0, 0, True)

    def test_a_chain_of_a_scheduled_run_keeps_them(self, store: Store) -> None:
        bell, _ = told(store)
        bell.schedules.put("often", job="work", cron="* * * * *", retry=1, **ALL | {"expires": None})
        look(bell, NEXT)
        (run,) = runs_of(bell, "often")
        assert run.options.auto_reschedule == 600


class TestLayers:
    def test_word_by_word(self) -> None:
        first, then = RunDefaults(tag="a", priority=0), RunDefaults(tag="b", priority=5, persistent=False)
        assert layered(first, then) == RunDefaults(tag="a", priority=0, persistent=False)
        assert layered(first, NO_DEFAULTS) is first


class TestReplaceTag:
    def test_a_tick_ends_what_waits_with_its_tag(self, store: Store) -> None:
        """B10."""
        bell, _ = told(store)
        waiting, other = bell.enqueue("work", tag="nightly"), bell.enqueue("work", tag="else")
        bell.schedules.put("often", job="work", cron="* * * * *", tag="nightly", replace_tag=True, overlap="allow")
        look(bell, NEXT)
        (first,) = runs_of(bell, "often")
        ended = bell.get(waiting.id)
        assert (ended.status, ended.reason) == (Status.CANCELED, f"replaced by run {first.id} of the same tag")
        assert bell.get(other.id).status is Status.QUEUED
        look(bell, NEXT + timedelta(minutes=1))
        assert bell.get(first.id).status is Status.CANCELED

    def test_an_event_too(self, store: Store) -> None:
        bell, _ = told(store)
        processor(bell)
        bell.triggers.add("hearing", pattern="posts.*", processor="hear", tag="posts", replace_tag=True)
        for _ in range(3):
            bell.emit("posts.created")
        fan_out(bell)
        (run,) = heard(bell)
        ended = bell.runs(tag="posts", status="canceled")
        assert len(ended) == 2
        assert all(one.reason and one.reason.startswith("replaced by run") for one in ended)
        assert all(one.id < run.id for one in ended)

    @pytest.mark.parametrize("cause", ["tick", "event"])
    def test_a_tag_that_somebody_holds_delays_nothing_else(
        self, postgres_store: Store, postgres_url: str, cause: str
    ) -> None:
        """A caller's open transaction has the tag: what would replace it comes later, and all the rest at its time."""
        bell, clock = told(postgres_store)
        processor(bell)
        bell.schedules.put("held", job="work", cron="* * * * *", tag="mine", replace_tag=True)
        bell.schedules.put("free", job="work", cron="* * * * *", tag="yours", replace_tag=True)
        bell.triggers.add("held", pattern="posts.*", processor="hear", tag="mine", replace_tag=True)
        bell.triggers.add("free", pattern="pages.*", processor="hear", tag="yours", replace_tag=True)
        with psycopg.connect(postgres_url) as caller:
            bell.enqueue("work", tag="mine", replace_tag=True, connection=caller)
            if cause == "tick":
                look(bell, NEXT)
                assert (len(runs_of(bell, "held")), len(runs_of(bell, "free"))) == (0, 1)
            else:
                bell.emit("posts.created")
                bell.emit("pages.created")
                fan_out(bell)
                assert [run.tag for run in heard(bell)] == ["yours"]
        clock.advance(60)
        if cause == "tick":
            look(bell, NEXT + timedelta(seconds=20))
            assert [run.tag for run in runs_of(bell, "held")] == ["mine"]
        else:
            fan_out(bell)
            assert sorted(run.tag or "" for run in heard(bell)) == ["mine", "yours"]


REFUSED = [
    ({"priority": 101}, "priority: 101 is not a whole number from -100 to 100"),
    ({"tag": ""}, "tag '': use 1 to 200"),
    ({"user_id": -1}, "user_id: -1 is neither"),
    ({"persistent": "no"}, "persistent: expected True or False, got str"),
    ({"remove_delay": -1}, "remove_delay: -1 is not a span"),
    ({"expires": DECLARED}, "expires: here it is a span from when each run is due"),
    ({"expires": 0}, "expires: it is more than 0 seconds"),
]


class TestRefused:
    @pytest.mark.parametrize(("settings", "message"), REFUSED)
    def test_everywhere(self, settings: dict[str, Any], message: str) -> None:
        bell = Workbell(store=fresh_store())
        processor(bell)

        @bell.job
        def work() -> None: ...

        with pytest.raises(InvalidOption, match=f"job bad: {message}"):
            bell.job(name="bad", **settings)(lambda: None)
        with pytest.raises(InvalidOption, match=f"schedule bad: {message}"):
            bell.schedules.put("bad", job="work", every=5, **settings)
        with pytest.raises(InvalidOption, match=message):
            bell.triggers.add("bad", pattern="posts.*", processor="hear", **settings)
        assert (bell.registry.find("bad"), bell.schedules.list(), bell.triggers.list()) == (None, [], [])

    def test_a_tag_to_be_replaced_has_to_be_named(self) -> None:
        bell = Workbell(store=fresh_store())
        processor(bell)

        @bell.job(tag="named")
        def named() -> None: ...

        @bell.job
        def plain() -> None: ...

        bell.schedules.put("good", job=named, every=5, replace_tag=True)
        with pytest.raises(InvalidOption, match="schedule bad: replace_tag: there is no tag; give one with tag="):
            bell.schedules.put("bad", job=plain, every=5, replace_tag=True)
        with pytest.raises(InvalidOption, match="replace_tag: there is no tag"):
            bell.triggers.add("bad", pattern="posts.*", processor="hear", replace_tag=True)

    def test_nor_by_a_change_of_the_job(self) -> None:
        bell = Workbell(store=fresh_store())
        processor(bell)

        @bell.processor("tagged", tag="named")
        def tagged(event: Event) -> None: ...

        bell.triggers.add("hearing", pattern="posts.*", processor="tagged", replace_tag=True)
        with pytest.raises(InvalidOption, match="replace_tag: there is no tag"):
            bell.triggers.update("hearing", processor="hear")

    def test_a_trigger_is_changed_word_by_word(self) -> None:
        bell = Workbell(store=fresh_store())
        processor(bell)
        bell.triggers.add("hearing", pattern="posts.*", processor="hear", tag="a", priority=5)
        bell.triggers.update("hearing", priority=None, user_id=USER)
        options = bell.triggers.get("hearing").options
        assert options == RunDefaults(tag="a", user_id=USER)
