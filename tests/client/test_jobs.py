"""Jobs as data: the verbs of `bell.jobs`, and the runs that are made of definitions (D1, D2)."""

from __future__ import annotations

import sqlite3
import threading
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.client.conftest import take
from tests.support.inside.features import Materialise, definitions
from tests.support.inside.stores import Store
from tests.support.inside.values import INPUT_LIMIT as LIMIT
from tests.support.inside.values import WORKER_LOST_AFTER as LOST_AFTER
from tests.support.inside.values import Settings, is_id, shown_url
from tests.support.statements import watch_statements
from tests.unit.makers import worker_of
from workbell import (
    Event,
    InvalidInput,
    InvalidOption,
    Job,
    JobDisabled,
    JobExists,
    JobInUse,
    JobsError,
    NotFound,
    PreconditionFailed,
    Retry,
    Run,
    StoreError,
    UnknownJob,
    UnknownProcessor,
    Workbell,
    WorkbellError,
)
from workbell.testing import drain

EU: dict[str, Any] = {"handler": "email", "input": {"region": "eu", "cc": {"name": "ada", "copies": 2}}}
REFUSED: list[tuple[dict[str, Any], type[WorkbellError], str]] = [
    ({"handler": "chained"}, InvalidOption, "chained is a definition itself; name the job that has the code, email"),
    ({"handler": "webhook-delivery"}, InvalidOption, "a job of Workbell itself"),
    ({"handler": ""}, InvalidOption, "handler ''"),
    ({"handler": 7}, InvalidOption, "expected a text"),
    ({"input": [1]}, InvalidInput, "must be a dict"),
    ({"input": {"colour": 1}}, InvalidInput, "no argument 'colour'; the arguments are to, region, cc"),
    ({"input": {"cc": float("nan")}}, InvalidInput, "JSON cannot carry"),
    ({"input": {"cc": {"name": "x" * LIMIT}}}, InvalidInput, "the limit is"),
    ({"enabled": "no"}, InvalidOption, "enabled is True or False"),
    ({"queue": " x"}, InvalidOption, "queue ' x'"),
    ({"timeout": 0}, InvalidOption, "job email-eu: timeout"),
    ({"retry": "often"}, InvalidOption, "job email-eu: retry"),
    ({"concurrency": 0}, InvalidOption, "job email-eu: concurrency"),
    ({"concurrency": 2, "concurrency_key": "colour"}, InvalidOption, "no argument 'colour'"),
    ({"rate": "lots"}, InvalidOption, "job email-eu: "),
    ({"priority": 101}, InvalidOption, "job email-eu: priority"),
    ({"replace_tag": True}, InvalidOption, "there is no tag"),
    ({"description": 7}, InvalidOption, "description is a text"),
    ({"alert_url": "ftp://x"}, WorkbellError, "job email-eu: alert_url"),
    ({"retires": 3}, InvalidOption, "no option 'retires'.*retry"),
]


class Copy(msgspec.Struct):
    name: str
    copies: int = 1


@pytest.fixture(autouse=True)
def email(bell: Workbell) -> Any:
    @bell.job(queue="mail", timeout=99, retry=9)
    def email(to: str, region: str = "us", cc: Copy | None = None) -> list[Any]:
        return [to, region, cc]

    return email


def other_process(bell: Workbell) -> Workbell:
    """A program on the same store, without the code."""
    return Workbell(store=bell.store, settings=Settings())


@pytest.mark.anyio
async def test_the_whole_life_of_a_definition(bell: Workbell) -> None:
    jobs = bell.jobs
    made = await jobs.aput("email-eu", **EU)
    assert is_id(made.id)
    assert (made.source, made.version, made.input) == ("api", 1, EU["input"])
    assert await jobs.aget("email-eu") == made
    assert [(job.name, job.source) for job in await jobs.alist()] == [("email", "code"), ("email-eu", "api")]
    assert not (await jobs.adisable("email-eu")).enabled
    changed = await jobs.aenable("email-eu")
    assert (changed.id, changed.created_at, changed.version) == (made.id, made.created_at, 3)
    await jobs.adelete("email-eu")
    with pytest.raises(NotFound, match="There is no job 'email-eu' of tenant default; there are email"):
        await jobs.aget("email-eu")


def test_every_option_of_a_declared_job(bell: Workbell) -> None:
    made = bell.jobs.put(
        "email-eu",
        **EU,
        description="Mails to Europe",
        queue="eu",
        retry=Retry(attempts=3, delay=5),
        timeout=timedelta(seconds=7),  # type: ignore[arg-type]
        concurrency=2,
        concurrency_key="to",
        rate="100/m",
        priority=4,
        tag="t",
        replace_tag=True,
        user_id="ada",
        remove_delay=60,
        expires=30,
        alert_url="https://93.184.216.34/alert/secret",
    )
    assert bell.store.jobs.find("default", "email-eu") == made
    assert (made.queue, made.timeout, made.priority, made.options.user_id) == ("eu", 7.0, 4, "ada")
    assert made.retry == Retry(attempts=3, delay=5)
    assert made.limits == (2, "to", "100/m", None)
    run = bell.enqueue("email-eu", {"to": "x@y.z"})
    assert (run.queue, run.priority, run.tag, run.user_id, run.lane.key) == ("eu", 4, "t", "ada", "x@y.z")
    assert "secret" not in repr(made)


def test_put_again_replaces_all_of_it_and_the_same_changes_nothing(bell: Workbell) -> None:
    first = bell.jobs.put("email-eu", **EU, queue="eu", timeout=5, priority=0, alert_url="https://93.184.216.34/a/b")
    shown = shown_url(first.alert_url)
    assert bell.jobs.put("email-eu", **EU, queue="eu", timeout=5, alert_url=shown) == first
    second = bell.jobs.put("email-eu", handler="email", input={"region": "at"})
    assert (second.id, second.created_at, second.version) == (first.id, first.created_at, 2)
    assert (second.input, second.queue, second.timeout, second.alert_url) == ({"region": "at"}, "default", None, None)


@pytest.mark.anyio
async def test_update_changes_what_is_named_and_leaves_the_rest(bell: Workbell) -> None:
    url = "https://93.184.216.34/a/b"
    whole = EU | {"queue": "eu", "retry": 4, "rate": "7/m", "rate_key": "to", "tag": "t", "alert_url": url}
    made = bell.jobs.put("email-eu", **whole, description="Mails to Europe")
    second = bell.jobs.update("email-eu", timeout=9)
    assert second == msgspec.structs.replace(made, timeout=9.0, version=2, updated_at=second.updated_at)
    assert bell.jobs.update("email-eu", timeout=9) == second
    assert await bell.jobs.aupdate("email-eu") == second
    third = bell.jobs.update("email-eu", input={"region": "at"}, retry=None, rate=None, rate_key=None, tag=None)
    assert (third.input, third.retry, third.rate, third.rate_key, third.options.tag) == (
        {"region": "at"},
        None,
        None,
        None,
        None,
    )
    assert (third.queue, third.timeout, third.alert_url, third.version) == ("eu", 9.0, made.alert_url, 3)
    last = bell.jobs.update("email-eu", input=None, queue=None, description=None, alert_url=None, enabled=False)
    assert (last.input_text, last.queue, last.description, last.alert_url) == (None, "default", "", None)
    assert not last.enabled
    assert not bell.jobs.update("email-eu", enabled=None).enabled, "as it is, like in `put`"


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        *REFUSED,
        ({"handler": None}, InvalidOption, "handler: expected a text"),
        ({"rate_key": "to"}, InvalidOption, "rate"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_used_changes_nothing(
    bell: Workbell, settings: dict[str, Any], error: type[WorkbellError], says: str
) -> None:
    bell.jobs.put("chained", handler="email")
    made = bell.jobs.put("email-eu", **EU)
    with pytest.raises(error, match=says):
        bell.jobs.update("email-eu", **settings)
    assert bell.store.jobs.find("default", "email-eu") == made


def test_only_definitions_can_be_changed(bell: Workbell) -> None:
    with pytest.raises(InvalidOption, match="job email: code declares it, so it is changed there"):
        bell.jobs.update("email", timeout=9)
    with pytest.raises(NotFound, match="There is no job 'email-eu' of tenant default; there are email"):
        bell.jobs.update("email-eu", timeout=9)


def test_a_change_of_something_else_asks_nothing_of_the_code(bell: Workbell) -> None:
    """A definition whose handler has lost an argument can still be given another timeout, and be switched off."""
    bell.jobs.put("email-eu", **EU, concurrency=2, concurrency_key="to")
    later = other_process(bell)

    @later.job
    def email(subject: str) -> None: ...

    assert later.jobs.update("email-eu", timeout=9).input == EU["input"]
    assert not later.jobs.disable("email-eu").enabled
    with pytest.raises(InvalidOption, match="concurrency_key: the job has no argument 'to'"):
        later.jobs.update("email-eu", input={})
    with pytest.raises(InvalidInput, match="no argument 'cc'"):
        later.jobs.update("email-eu", handler="email", concurrency_key=None)


def test_enabled_stays_unless_it_is_said(bell: Workbell) -> None:
    """A script that puts definitions at every deploy does not undo what an operator switched off."""
    bell.jobs.put("email-eu", **EU)
    bell.jobs.disable("email-eu")
    assert not bell.jobs.put("email-eu", **EU, queue="eu").enabled
    assert bell.jobs.put("email-eu", **EU, enabled=True).enabled


@pytest.mark.parametrize(("settings", "error", "says"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_used_leaves_nothing_behind(
    bell: Workbell, settings: dict[str, Any], error: type[WorkbellError], says: str
) -> None:
    bell.jobs.put("chained", handler="email")
    with pytest.raises(error, match=says):
        bell.jobs.put("email-eu", **(EU | settings))
    assert bell.store.jobs.find("default", "email-eu") is None


@pytest.mark.parametrize("name", ["", " x", "x" * 201, 7])
def test_a_name_that_cannot_be_used(bell: Workbell, name: Any) -> None:
    with pytest.raises(JobsError):
        bell.jobs.put(name, **EU)


def test_guards(bell: Workbell) -> None:
    made = bell.jobs.put("email-eu", **EU, expected=0)
    for stale in (0, 2):
        with pytest.raises(PreconditionFailed, match="somebody else has changed it"):
            bell.jobs.put("email-eu", handler="email", expected=stale)
    changed = bell.jobs.put("email-eu", handler="email", expected=1)
    for verb in (bell.jobs.delete, bell.jobs.enable, bell.jobs.disable, bell.jobs.update):
        with pytest.raises(PreconditionFailed):
            verb("email-eu", expected=made.version)
    bell.jobs.delete("email-eu", expected=changed.version)


class TestMerge:
    def test_the_input_is_merged_onto_the_template(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        plain = bell.enqueue("email-eu", {"to": "a"})
        assert plain.input == {"to": "a", **EU["input"]}
        deep = bell.enqueue("email-eu", {"to": "a", "region": "at", "cc": {"copies": 7}})
        assert deep.input == {"to": "a", "region": "at", "cc": {"name": "ada", "copies": 7}}
        less = bell.enqueue("email-eu", {"to": "a", "cc": None, "region": None})
        assert less.input == {"to": "a"}
        assert [run.job for run in (plain, deep, less)] == ["email-eu"] * 3
        ended = {run.id: run.result for run in drain(bell)}
        assert ended[plain.id] == ["a", "eu", {"name": "ada", "copies": 2}]
        assert ended[less.id] == ["a", "us", None]

    def test_objects_of_the_handlers_types_are_merged_as_json(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", handler="email", input={"cc": {"copies": 2}})
        run = bell.enqueue("email-eu", {"to": "a", "cc": Copy("bob", 3)})
        assert run.input == {"to": "a", "cc": {"name": "bob", "copies": 3}}

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({}, "job email-eu: the argument 'to' is missing"),
            ({"to": 7}, "job email-eu: the argument 'to': expected str"),
            ({"to": "a", "cc": {"copies": "many"}}, "job email-eu: the argument 'cc.copies'"),
            ({"to": "a", "colour": "red"}, "job email-eu: there is no argument 'colour'"),
            ({"to": b"a"}, "got bytes"),
            ({"to": "x" * (LIMIT - 20)}, "the limit is"),
            ([], "must be a dict"),
        ],
        ids=str,
    )
    def test_the_whole_input_is_checked_where_the_handler_is_known(self, bell: Workbell, given: Any, says: str) -> None:
        bell.jobs.put("email-eu", **EU)
        with pytest.raises(InvalidInput, match=says):
            bell.enqueue("email-eu", given)
        assert bell.runs() == []

    def test_elsewhere_its_size_is_checked_and_the_merge_is_the_same(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        web = other_process(bell)
        assert web.enqueue("email-eu", {"to": "a", "cc": None}).input == {"to": "a", "region": "eu"}
        with pytest.raises(InvalidInput, match=r"job email-eu: .*the limit is"):
            web.enqueue("email-eu", {"to": "x" * (LIMIT - 20)})
        web.runtime.close()

    def test_a_template_alone_is_an_input(self, bell: Workbell) -> None:
        bell.jobs.put("all", handler="email", input={"to": "all@b.c"})
        assert bell.enqueue("all").input == {"to": "all@b.c"}

    def test_many_at_once_and_by_request(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        bell.jobs.put("email-at", handler="email", input={"region": "at"})
        named = bell.request("email-at", {"to": "c"}, priority=3)
        runs = bell.enqueue_many([("email-eu", {"to": "a"}), ("email-at", {"to": "b"}), named])
        assert [run.input["region"] for run in runs] == ["eu", "at", "at"]
        assert runs[2].priority == 3

    @pytest.mark.anyio
    async def test_async(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        assert (await bell.aenqueue("email-eu", {"to": "a"})).input["region"] == "eu"
        (run,) = await bell.aenqueue_many([("email-eu", {"to": "a"})])
        assert run.input["region"] == "eu"

    def test_a_retry_keeps_the_runs_own_input(self, bell: Workbell) -> None:
        """No second merge: what the caller took out of the template does not come back."""
        bell.jobs.put("email-eu", **EU)
        run = bell.enqueue("email-eu", {"to": "a", "cc": None})
        drain(bell)
        bell.jobs.put("email-eu", handler="email", input={"region": "at", "cc": {"name": "x"}})
        again = bell.retry(run.id)
        assert again.input == run.input == {"to": "a", "region": "eu"}
        bulk = bell.bulk("retry", job="email-eu")
        drain(bell)
        assert bell.get(bulk.id).status.final
        assert {tuple(sorted(one.input)) for one in bell.runs(job="email-eu")} == {("region", "to")}

    def test_a_change_is_for_runs_made_later(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        first = bell.enqueue("email-eu", {"to": "a"})
        bell.jobs.put("email-eu", handler="email", input={"region": "at"}, queue="later")
        second = bell.enqueue("email-eu", {"to": "a"})
        assert (first.input["region"], second.input["region"]) == ("eu", "at")
        assert (first.queue, second.queue) == ("default", "later")

    def test_in_the_callers_transaction(self, sqlite_url: str) -> None:
        bell = Workbell(sqlite_url)
        bell.job(name="email")(lambda to, region="us": None)
        bell.jobs.put("email-eu", handler="email", input={"region": "eu"})
        connection = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))
        with connection:
            run = bell.enqueue("email-eu", {"to": "a"}, connection=connection)
        connection.close()
        assert bell.get(run.id).input == {"region": "eu", "to": "a"}
        bell.close()


class TestSchedulesAndTriggers:
    def test_a_tick_merges_by_the_template_of_then(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        schedule = bell.schedules.put("nightly", job="email-eu", every=60, input={"to": "a", "cc": None})
        assert schedule.input == {"to": "a", "cc": None}
        bell.jobs.put("email-eu", handler="email", input={"region": "at", "cc": {"name": "x"}}, queue="later")
        again = bell.schedules.update("nightly", every=120)
        assert again.input == {"to": "a", "cc": None}
        (run,) = self._tick(bell)
        assert (run.input, run.queue) == ({"to": "a", "region": "at"}, "later")

    def test_the_whole_input_of_a_schedule_is_checked(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        with pytest.raises(InvalidInput, match="the argument 'to' is missing"):
            bell.schedules.put("nightly", job="email-eu", every=60)

    def test_a_tick_of_a_disabled_job_is_skipped(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        bell.schedules.put("nightly", job="email-eu", every=60, input={"to": "a"})
        bell.jobs.disable("email-eu")
        assert self._tick(bell) == []
        (tick,) = bell.schedules.ticks("nightly")
        assert (tick.outcome, tick.reason) == ("skipped", "job email-eu is disabled")
        found = bell.schedules.get("nightly")
        assert found.enabled
        assert found.next_run_at is not None
        bell.jobs.enable("email-eu")
        assert len(self._tick(bell)) == 1

    def _tick(self, bell: Workbell) -> list[Run]:
        """What is made at the schedule's next time."""
        at = bell.schedules.get("nightly").next_run_at
        assert at is not None
        Materialise(bell.store, bell.registry, lambda _: None, 1.0).fire_due(at)
        return bell.runs(job="email-eu")

    def test_an_event_gives_the_template_to_the_handler(self, bell: Workbell) -> None:
        @bell.processor("shrink")
        def shrink(event: Event, width: int = 100) -> dict[str, Any]:
            return {"width": width, "id": event.data["id"]}

        bell.jobs.put("shrink-small", handler="shrink", input={"width": 20})
        bell.triggers.add("small", pattern="photos.*", processor="shrink-small")
        assert [*bell.triggers.processors()] == ["shrink", "shrink-small"]
        bell.emit("photos.added", {"id": 7})
        (run,) = drain(bell)
        assert (run.job, run.result) == ("shrink-small", {"width": 20, "id": 7})
        bell.jobs.disable("shrink-small")
        event = bell.emit("photos.added", {"id": 8})
        assert drain(bell) == []
        (match,) = bell.events.matches(event.id)
        assert (match.outcome, match.reason) == ("disabled", "job shrink-small is disabled")

    def test_a_handler_without_an_event_is_no_processor(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        with pytest.raises(UnknownProcessor, match="takes no event"):
            bell.triggers.add("mails", pattern="posts.*", processor="email-eu")

    def test_a_handler_that_needs_an_event_is_not_enqueued(self, bell: Workbell) -> None:
        @bell.processor("shrink")
        def shrink(event: Event, width: int = 100) -> None: ...

        bell.jobs.put("shrink-small", handler=shrink, input={"width": 20})
        with pytest.raises(InvalidOption, match="job shrink-small: it takes an event"):
            bell.enqueue("shrink-small")


class TestNames:
    def test_code_of_this_process_keeps_its_name(self, bell: Workbell) -> None:
        with pytest.raises(JobExists, match="job email: code declares a job of this name"):
            bell.jobs.put("email", handler="other")

    def test_code_of_another_process_keeps_its_name(self, bell: Workbell) -> None:
        bell.runtime.declare_jobs()
        web = other_process(bell)
        with pytest.raises(JobExists, match="job email: code declares"):
            web.jobs.put("email", handler="other")
        assert web.jobs.get("email").handler.endswith("email")
        for switch in (web.jobs.enable, web.jobs.disable):
            with pytest.raises(InvalidOption, match=r"code declares it.*bell\.pause"):
                switch("email")
        web.runtime.close()

    def test_what_is_left_of_code_that_is_gone_can_be_deleted(self, bell: Workbell) -> None:
        bell.runtime.declare_jobs()
        with pytest.raises(JobExists, match="the code of this program declares it"):
            bell.jobs.delete("email")
        web = other_process(bell)
        web.jobs.delete("email")
        assert web.jobs.put("email", handler="mail2").source == "api"
        web.runtime.close()

    def test_code_of_a_living_worker_keeps_its_name_for_every_tenant(self, bell: Workbell) -> None:
        """A worker executes the runs of all tenants by its code: a definition of that name would do nothing."""
        bell.store.workers.put(worker_of("email", now=bell.store.clock.now()))
        for_b = other_process(bell).for_tenant("b")
        with pytest.raises(JobExists, match="job email: code declares a job of this name"):
            for_b.jobs.put("email", handler="sms")
        assert for_b.jobs.list() == []

    def test_built_in_names(self, bell: Workbell) -> None:
        with pytest.raises(JobExists, match="Workbell itself"):
            bell.jobs.put("bulk-action", handler="email")

    def test_a_handler_does_not_become_a_definition(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", handler="later")
        with pytest.raises(JobInUse, match="it is the handler of email-eu"):
            bell.jobs.put("later", handler="email")

    def test_code_that_comes_later_wins(self, bell: Workbell, caplog: pytest.LogCaptureFixture) -> None:
        made = bell.jobs.put("email-eu", **EU)

        @bell.job(name="email-eu")
        def email_eu(to: str) -> str:
            return f"code for {to}"

        bell.runtime.declare_jobs()
        assert "job email-eu: code declares it now, and replaces the definition" in caplog.text
        found = bell.jobs.get("email-eu")
        assert (found.id, found.source, found.input_text) == (made.id, "code", None)
        web = other_process(bell)
        run = web.enqueue("email-eu", {"to": "a"})
        assert run.input == {"to": "a"}
        web.runtime.close()
        assert [one.result for one in drain(bell)] == ["code for a"]

    def test_tenants_have_their_own(self, bell: Workbell) -> None:
        other = bell.for_tenant("b")
        bell.jobs.put("email-eu", **EU)
        with pytest.raises(UnknownJob):
            other.enqueue("email-eu", {"to": "a"})
        other.jobs.put("email-eu", handler="email", input={"region": "b"}, timeout=3)
        runs = [
            bell.enqueue("email-eu", {"to": "a"}),
            other.enqueue("email-eu", {"to": "a"}),
            bell.enqueue("email-eu", {"to": "a"}, tenant="b"),
        ]
        assert [run.input["region"] for run in runs] == ["eu", "b", "b"]
        assert len(drain(bell)) == 3
        other.jobs.delete("email-eu")
        assert bell.jobs.get("email-eu").input == EU["input"]


class TestCodeElsewhere:
    """D10: jobs that a program in another language executes."""

    def test_a_job_that_is_its_own_handler(self, bell: Workbell) -> None:
        made = bell.jobs.put("greet", handler="greet", input={"greeting": "Hello"}, queue="js", retry=2)
        assert (made.handler, made.is_elsewhere, bell.jobs.get("greet")) == ("greet", True, made)
        assert bell.jobs.put("greet", handler="greet", input={"greeting": "Hello"}, queue="js", retry=2) == made
        assert bell.jobs.put("greet", handler="greet", queue="js").version == 2
        web = other_process(bell)
        run = web.enqueue("greet", {"name": "Ada"})
        assert (run.job, run.queue, run.input) == ("greet", "js", {"name": "Ada"})
        assert drain(bell) == []
        now = bell.store.clock.now()
        why = bell.why(run.id)
        assert "Job 'greet' is its own handler, so its code is in another language, and no worker" in why
        assert "It waits, and nothing is spent meanwhile" in why
        bell.store.workers.put(worker_of("email", now=now))
        assert bell.why(run.id) == why
        bell.store.workers.put(worker_of("greet", now=now, id="theirs"))
        assert "first in its lane" in bell.why(run.id)
        web.schedules.put("hourly", job="greet", every=3600, input={"name": "Bob"})
        assert web.schedules.run("hourly").input == {"name": "Bob"}
        bell.jobs.disable("greet")
        with pytest.raises(JobDisabled):
            bell.enqueue("greet", {"name": "Ada"})
        with pytest.raises(InvalidOption, match="greet is a definition itself; its code is elsewhere"):
            bell.jobs.put("greet-eu", handler="greet")
        web.runtime.close()

    def test_code_of_that_name_takes_it_over(self, bell: Workbell) -> None:
        bell.jobs.put("greet", handler="greet")
        run = bell.enqueue("greet", {"name": "Ada"})
        bell.job(name="greet")(lambda name: f"Hello, {name}")
        bell.runtime.declare_jobs()
        assert [one.result for one in drain(bell)] == ["Hello, Ada"]
        assert (bell.get(run.id).result, bell.jobs.get("greet").is_elsewhere) == ("Hello, Ada", False)

    def test_what_a_living_worker_has_can_be_enqueued(self, bell: Workbell) -> None:
        """A consumer that is in the list of workers, and stores no jobs."""
        now = bell.store.clock.now()
        bell.store.workers.put(worker_of("greet", now=now, id="theirs", seen_at=now - LOST_AFTER * 2))
        with pytest.raises(UnknownJob):
            bell.enqueue("greet", {"name": "Ada"})
        bell.store.workers.put(worker_of("greet", now=now, id="theirs"))
        run = bell.enqueue("greet", {"name": "Ada"})
        assert (run.job, run.queue, run.input) == ("greet", "default", {"name": "Ada"})
        assert "first in its lane" in bell.why(run.id)
        with pytest.raises(UnknownJob, match="no job 'gret'"):
            bell.enqueue("gret", {"name": "Ada"})

    def test_what_a_worker_of_another_tenant_declares_keeps_its_terms(self, bell: Workbell) -> None:
        program, now = other_process(bell), bell.store.clock.now()
        program.job(name="resize", queue="images", concurrency=1, concurrency_key="user")(lambda user: None)
        program.runtime.declare_jobs()
        bell.store.workers.put(worker_of("resize", now=now))
        run = bell.for_tenant("acme").enqueue("resize", {"user": "ada"})
        assert (run.tenant, run.queue, run.lane.key) == ("acme", "images", "ada")
        program.runtime.close()


class TestDisabledAndDeleted:
    def test_an_enqueue_is_refused_and_what_waits_waits(self, bell: Workbell) -> None:
        bell.jobs.put("email-eu", **EU)
        run = bell.enqueue("email-eu", {"to": "a"})
        bell.jobs.disable("email-eu")
        with pytest.raises(JobDisabled, match=r"job email-eu: it is disabled.*bell\.jobs\.enable\('email-eu'\)"):
            bell.enqueue("email-eu", {"to": "a"})
        assert drain(bell) == []
        assert "Job 'email-eu' is disabled; `workbell jobs enable email-eu`" in bell.why(run.id)
        bell.jobs.enable("email-eu")
        assert [one.id for one in drain(bell)] == [run.id]

    def test_a_deleted_definition_leaves_its_runs_waiting(self, bell: Workbell) -> None:
        made = bell.jobs.put("email-eu", **EU)
        run = bell.enqueue("email-eu", {"to": "a"})
        bell.jobs.delete("email-eu")
        assert drain(bell) == []
        assert "No worker is running; start one: `workbell start`." in bell.why(run.id)
        bell.store.workers.put(worker_of("email", now=bell.store.clock.now()))
        assert "There is no job 'email-eu' in the store: its definition was deleted" in bell.why(run.id)
        assert "nothing is spent" in bell.why(run.id)
        assert bell.get(run.id).attempt == 0
        with pytest.raises(UnknownJob):
            bell.enqueue("email-eu", {"to": "a"})
        again = bell.jobs.put("email-eu", handler="email")
        assert again.id != made.id
        assert [one.result for one in drain(bell)] == [["a", "eu", {"name": "ada", "copies": 2}]]

    def test_one_that_is_still_named_is_not_deleted(self, bell: Workbell) -> None:
        @bell.processor("shrink")
        def shrink(event: Event) -> None: ...

        bell.jobs.put("email-eu", **EU)
        bell.jobs.put("shrink-small", handler="shrink")
        bell.schedules.put("nightly", job="email-eu", every=60, input={"to": "a"})
        bell.triggers.add("small", pattern="photos.*", processor="shrink-small")
        with pytest.raises(JobInUse, match="job email-eu: schedule nightly would still start it"):
            bell.jobs.delete("email-eu")
        with pytest.raises(JobInUse, match="job shrink-small: trigger small would still start it"):
            bell.jobs.delete("shrink-small")
        bell.schedules.delete("nightly")
        bell.jobs.delete("email-eu")

    def test_a_handler_that_nobody_has(self, bell: Workbell) -> None:
        """It may come later; until then the runs wait, and say what for."""
        bell.jobs.put("email-eu", handler="later", input={"x": 1})
        run = bell.enqueue("email-eu", {"y": 2})
        assert run.input == {"x": 1, "y": 2}
        assert drain(bell) == []
        assert "Its handler is job 'later'. No worker is running" in bell.why(run.id)

        @bell.job
        def later(x: int, y: int) -> int:
            return x + y

        assert [one.result for one in drain(bell)] == [3]


class TestSeenByOthers:
    def test_a_change_is_seen_within_a_second(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        """And without one, an enqueue reads nothing."""
        web = other_process(bell)
        bell.jobs.put("email-eu", **EU)
        assert web.enqueue("email-eu", {"to": "a"}).input["region"] == "eu"
        bell.jobs.put("email-eu", handler="email", input={"region": "at"})
        monkeypatch.setattr(definitions, "CACHED_FOR", 0.0)  # the second is over
        assert web.enqueue("email-eu", {"to": "a"}).input["region"] == "at"
        monkeypatch.setattr(definitions, "CACHED_FOR", 60.0)
        monkeypatch.setattr(web.store.definitions, "version", None)
        monkeypatch.setattr(web.store.jobs, "find", None)
        assert web.enqueue("email-eu", {"to": "a"}).input["region"] == "at"
        web.runtime.close()

    def test_a_new_one_is_known_at_once(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(definitions, "CACHED_FOR", 60.0)
        web = other_process(bell)
        with pytest.raises(UnknownJob):
            web.enqueue("email-eu", {"to": "a"})
        bell.jobs.put("email-eu", **EU)
        assert web.enqueue("email-eu", {"to": "a"}).input["region"] == "eu"
        web.runtime.close()

    def test_code_of_this_process_reads_no_definitions(
        self, bell: Workbell, email: Any, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(store.definitions, "version", None)
        email.enqueue(to="a")
        bell.enqueue("email", {"to": "a"})
        assert len(take(bell)) == 2


def test_a_definition_is_found_by_what_it_says(bell: Workbell) -> None:
    """A job of code has the id and times that the store has; before that, none."""
    assert bell.jobs.get("email").id == ""
    bell.runtime.declare_jobs()
    found = bell.jobs.get("email")
    stored = bell.store.jobs.find("default", "email")
    assert isinstance(stored, Job)
    assert (found.id, found.created_at, found.timeout) == (stored.id, stored.created_at, 99)


def test_many_that_put_and_delete_at_once(bell: Workbell) -> None:
    """Each verb does all of it or says why not, and what is left at the end is what somebody put."""
    gate, wrong = threading.Barrier(6), []

    def work(number: int) -> None:
        gate.wait(30)
        for turn in range(5):
            try:
                if number == 0:
                    bell.jobs.delete("email-eu")
                else:
                    bell.jobs.put("email-eu", handler="email", input={"region": f"{number}-{turn}"})
            except (NotFound, StoreError):  # deleted already; or others changed it again and again
                pass
            except WorkbellError as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    made = bell.jobs.put("email-eu", handler="email", input={"region": "last"})
    assert bell.store.definitions.list() == [made]
    assert bell.enqueue("email-eu", {"to": "a"}).input == {"to": "a", "region": "last"}


@pytest.mark.parametrize("verb", ["get", "enable", "disable", "delete"])
@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000, "", 7, None])
def test_a_name_that_no_job_can_have_is_not_found(bell: Workbell, verb: str, name: Any) -> None:
    with pytest.raises(NotFound, match="job"):
        getattr(bell.jobs, verb)(name)


def test_an_enqueue_by_name_reads_no_definitions_unless_it_is_of_one(
    bell: Workbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job is read, as ever; definitions are cached once one was met."""
    monkeypatch.setattr(definitions, "CACHED_FOR", 60)
    bell.runtime.declare_jobs()
    bell.jobs.put("email-eu", **EU)
    other = other_process(bell)
    read: list[str] = []
    watch_statements(lambda query, _: read.append(query), monkeypatch.setattr)

    def reads_of(job: str) -> list[str]:
        read.clear()
        other.enqueue(job, {"to": "a"})
        return [query for query in read if query.startswith(("find_job", "definitions"))]

    assert reads_of("email") == ["find_job"]
    assert reads_of("email") == ["find_job"]
    assert reads_of("email-eu") == ["find_job", "definitions_version", "definitions"]
    assert reads_of("email-eu") == []


def test_one_job_is_read_and_not_all(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    bell.jobs.put("email-eu", **EU)
    read: list[str] = []
    watch_statements(lambda query, _: read.append(query), monkeypatch.setattr)
    bell.jobs.disable("email-eu")
    assert "list_jobs" not in read


@pytest.mark.anyio
async def test_recent_runs_of_each_job(bell: Workbell) -> None:
    """Jobs by name, each with its newest finished runs; nothing of another tenant."""
    sent = [bell.enqueue("email", {"to": str(number)}) for number in range(3)]
    bell.for_tenant("other").enqueue("email", {"to": "theirs"})
    drain(bell)
    bell.enqueue("email", {"to": "waiting"})
    found = {one.job: one for one in bell.jobs.recent(limit=2)}
    assert list(found) == [job.name for job in bell.jobs.list()]
    email = found["email"]
    assert [run.id for run in email.runs] == [sent[2].id, sent[1].id]
    assert (email.count, email.failed, email.since is not None) == (3, 0, True)
    assert [one.job for one in await bell.jobs.arecent("email")] == ["email"]
    (unknown,) = bell.jobs.recent("nothing")
    assert (unknown.runs, unknown.count, unknown.p95) == ((), 0, None)
    for limit in (0, 101):
        with pytest.raises(InvalidOption, match=f"limit: {limit} is not from 1 to 100"):
            bell.jobs.recent(limit=limit)
