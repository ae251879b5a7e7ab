"""Functions that events start (C3, A12): what they take, what is refused, and that they stay plain functions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from workbell import Cancel, Context, Event, InvalidOption, JobsError, Retry, Run, Snooze, Status, Workbell
from workbell.handlers.context import detached
from workbell.model.event import DEPTH_LIMIT
from workbell.model.execution import Execution, ExecutionStatus
from workbell.testing import drain

ONCE = Retry(attempts=1)


def ran(bell: Workbell, data: Any = None) -> Run:
    """The one run that an event `posts.created` starts, ended."""
    bell.emit("posts.created", data)
    (run,) = drain(bell)
    return run


def take_all(ctx: Context, event: Event, execution: Execution) -> list[Any]:
    assert ctx.event is event
    assert (execution.id, execution.event_id) == (ctx.run.id, event.id)
    assert execution.status is ExecutionStatus.RUNNING
    return [event.type, event.data]


async def take_all_async(execution: Execution, event: Event, ctx: Context) -> list[Any]:
    return take_all(ctx, event, execution)


def take_by_name(ctx, event, execution):  # type: ignore[no-untyped-def]
    return take_all(ctx, event, execution)


def take_by_type(what: Event, where: Context, how: Execution) -> list[Any]:
    return take_all(where, what, how)


def take_by_position(ctx: Context, /, event: Event, execution: Execution) -> list[Any]:
    return take_all(ctx, event, execution)


def take_perhaps(ctx: Context, event: Event | None = None, *, execution: Execution | None = None) -> list[Any]:
    assert event is not None
    assert execution is not None
    return take_all(ctx, event, execution)


def take_event(event: Event) -> list[Any]:
    return [event.type, event.data]


def take_context(ctx: Context) -> list[Any]:
    assert ctx.event is not None
    return [ctx.event.type, ctx.event.data]


async def take_context_async(ctx: Context) -> list[Any]:
    return take_context(ctx)


def take_more(event: Event, times: int = 2, **rest: int) -> list[Any]:
    assert (times, rest) == (2, {})
    return [event.type, event.data]


@pytest.mark.parametrize(
    "function",
    [
        take_all,
        take_all_async,
        take_by_name,
        take_by_type,
        take_by_position,
        take_perhaps,
        take_event,
        take_context,
        take_context_async,
        take_more,
    ],
)
def test_it_is_given_what_it_takes(workbell_memory: Workbell, function: Callable[..., Any]) -> None:
    workbell_memory.on("posts.*")(function)
    run = ran(workbell_memory, {"id": 7})
    assert (run.error, run.result) == (None, ["posts.created", {"id": 7}])
    assert (run.job, run.event is not None) == (function.__name__, True)


def test_it_may_take_nothing(workbell_memory: Workbell) -> None:
    @workbell_memory.on("posts.*")
    def count() -> str:
        return "counted"

    assert ran(workbell_memory).result == "counted"
    assert count.enqueue().event is None  # anybody may ask for it
    assert [run.result for run in drain(workbell_memory)] == ["counted"]


def test_an_async_function_has_its_event_without_a_read_on_the_loop(
    workbell_memory: Workbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_on: list[int] = []
    find = workbell_memory.store.events.find

    def noted(ids: Any) -> Any:
        read_on.append(threading.get_ident())
        return find(ids)

    @workbell_memory.on("posts.*")
    async def look(ctx: Context) -> int:
        assert ctx.event is not None
        return threading.get_ident()

    monkeypatch.setattr(workbell_memory.store.events, "find", noted)
    loop = ran(workbell_memory).result
    assert len(read_on) == 1
    assert loop not in read_on


class TestOptions:
    def test_they_are_those_of_a_job(self, workbell_memory: Workbell) -> None:
        bell = workbell_memory

        @bell.on("posts.*", name="mail", queue="slow", retry=ONCE, timeout=5, description="Mails.", concurrency=2)
        def send(event: Event) -> None: ...

        job = bell.registry.find("mail")
        assert job is send
        assert (job.queue, job.retry, job.timeout, job.description) == ("slow", ONCE, 5, "Mails.")
        assert (job.limits.concurrency, job.patterns, job.processor) == (2, ("posts.*",), True)
        assert ran(bell).queue == "slow"
        (stored,) = bell.registry.declared_jobs(bell.store.clock, "default")
        assert stored.processor

    def test_above_a_job_it_adds_events(self, workbell_memory: Workbell) -> None:
        bell = workbell_memory

        @bell.on("posts.*")
        @bell.job(queue="slow", concurrency=3, concurrency_key="days")
        def tidy(ctx: Context, event: Event | None = None, days: int = 3) -> list[Any]:
            return [None if event is None else event.type, days]

        assert ran(bell).result == ["posts.created", 3]
        tidy.enqueue(days=5)
        assert [run.result for run in drain(bell)] == [[None, 5]]
        assert (tidy.queue, tidy.signature.arguments) == ("slow", ["days"])

    def test_several_are_one_job_with_several_triggers(self, workbell_memory: Workbell) -> None:
        """An event that matches two patterns starts two runs, because each `on` is a trigger of its own."""
        bell = workbell_memory

        @bell.on("*.created")
        @bell.on("posts.*")
        @bell.on("users.*")
        def note(event: Event) -> str:
            return event.type

        assert note.patterns == ("users.*", "posts.*", "*.created")
        bell.emit("posts.created")
        bell.emit("users.deleted")
        assert sorted(run.result for run in drain(bell)) == ["posts.created", "posts.created", "users.deleted"]
        assert len(bell.registry) == 1

    def test_above_a_processor_too(self, workbell_memory: Workbell) -> None:
        @workbell_memory.on("posts.*")
        @workbell_memory.processor("count")
        def count(event: Event) -> dict[str, str]:
            return {"type": event.type}

        assert ran(workbell_memory).result == {"type": "posts.created"}


class TestRefusals:
    @pytest.mark.parametrize(
        ("function", "words"),
        [
            (lambda event, to: None, "nothing for the parameter 'to'"),
            (lambda *events: None, "'events' cannot be given by name"),
        ],
    )
    def test_a_parameter_that_no_event_brings(
        self, workbell_memory: Workbell, function: Callable[..., Any], words: str
    ) -> None:
        with pytest.raises(JobsError, match=f"^job send: .*{words}"):
            workbell_memory.on("posts.*", name="send")(function)
        assert "send" not in workbell_memory.registry

    def test_an_event_of_another_type(self, workbell_memory: Workbell) -> None:
        def send(event: dict[str, Any]) -> None: ...

        with pytest.raises(JobsError, match=r"^job send: the parameter 'event' is an Event, and not a dict; .*data"):
            workbell_memory.on("posts.*")(send)

    def test_two_for_one_event(self, workbell_memory: Workbell) -> None:
        def send(one: Event, other: Event) -> None: ...

        with pytest.raises(JobsError, match=r"^job send: two of its parameters"):
            workbell_memory.on("posts.*")(send)

    @pytest.mark.parametrize("pattern", ["", "posts.", "po*", "**.created", "posts.*!", 5])
    def test_a_bad_pattern(self, workbell_memory: Workbell, pattern: Any) -> None:
        with pytest.raises(JobsError, match=r"^job take_event: The pattern"):
            workbell_memory.on(pattern)(take_event)
        assert len(workbell_memory.registry) == 0

    def test_a_pattern_given_twice(self, workbell_memory: Workbell) -> None:
        with pytest.raises(JobsError, match=r"^job take_event: the pattern 'posts\.\*' is given twice"):
            workbell_memory.on("posts.*")(workbell_memory.on("posts.*")(take_event))

    def test_options_for_a_job_that_is_one_already(self, workbell_memory: Workbell) -> None:
        with pytest.raises(JobsError, match=r"^job take_event: it is a job already; give its options"):
            workbell_memory.on("users.*", queue="slow")(workbell_memory.on("posts.*")(take_event))

    def test_other_decorators_above(self, workbell_memory: Workbell) -> None:
        job = workbell_memory.on("posts.*")(take_event)
        with pytest.raises(JobsError, match=r"^job take_event: it is a job already"):
            workbell_memory.job(job)
        with pytest.raises(JobsError, match=r"^job take_event: it is a job already"):
            workbell_memory.processor("other")(job)

    def test_a_schedule_brings_no_event(self, workbell_memory: Workbell) -> None:
        scheduled = workbell_memory.job(every=60, input={"event": None})(lambda event: None)
        with pytest.raises(InvalidOption, match=r"^job <lambda>: it takes an event, and only events start it"):
            workbell_memory.on("posts.*")(scheduled)
        job = workbell_memory.on("posts.*")(take_event)
        with pytest.raises(InvalidOption, match=r"^job take_event: .* bell.emit"):
            workbell_memory.schedules.put("often", job=job, every=60)

    def test_to_be_enqueued_without_an_event(self, workbell_memory: Workbell) -> None:
        job = workbell_memory.on("posts.*")(take_event)
        with pytest.raises(InvalidOption, match=r"^job take_event: it takes an event, .* bell\.emit\(type, data\)"):
            job.enqueue()
        with pytest.raises(InvalidOption, match=r"^job take_event: it takes an event"):
            workbell_memory.enqueue("take_event", {"event": {}})
        assert workbell_memory.runs() == []

    def test_a_run_without_an_event_fails_once(self, workbell_memory: Workbell) -> None:
        """One that was enqueued where the function is not known, or before it took an event."""
        bell = workbell_memory
        bell.job(name="take_event")(lambda: None).enqueue()
        bell.registry.replace([], ["take_event"])
        bell.on("posts.*")(take_event)
        (run,) = drain(bell)
        assert (run.status, run.attempt) == (Status.FAILED, 1)
        assert run.error is not None
        assert run.error.startswith("job take_event: this run was not started by an event")

    @pytest.mark.parametrize("function", [take_event, take_all_async])
    def test_an_event_that_is_gone(
        self, workbell_memory: Workbell, monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any]
    ) -> None:
        workbell_memory.on("posts.*")(function)
        monkeypatch.setattr(workbell_memory.store.events, "find", lambda ids: {})
        run = ran(workbell_memory)
        assert (run.status, run.attempt) == (Status.FAILED, 1)
        assert f"the event {run.event} that started it is gone" in (run.error or "")


class TestProcessors:
    def test_it_takes_event_and_execution(self, workbell_memory: Workbell) -> None:
        bell = workbell_memory

        @bell.processor("thumbnails", description="Makes them.")
        def make(event: Event, execution: Execution) -> dict[str, Any]:
            return {"event": event.id, "execution": execution.id, "trigger": execution.job_id}

        assert (make.name, make.description, make.processor, make.patterns) == ("thumbnails", "Makes them.", True, ())
        trigger = bell.triggers.add("images", pattern="posts.*", processor="thumbnails")
        run = ran(bell)
        assert run.result == {"event": run.event, "execution": run.id, "trigger": trigger.id}

    @pytest.mark.parametrize("value", [None, {}, {"a": 1}])
    def test_a_dict_or_nothing_is_kept(self, workbell_memory: Workbell, value: Any) -> None:
        workbell_memory.on("posts.*")(workbell_memory.processor("p")(lambda event, execution: value))
        assert (ran(workbell_memory).status, workbell_memory.runs()[0].result) == (Status.SUCCEEDED, value)

    @pytest.mark.parametrize("value", [0, "text", [{"a": 1}], True])
    @pytest.mark.parametrize("is_async", [False, True])
    def test_anything_else_fails_without_another_try(
        self, workbell_memory: Workbell, value: Any, is_async: bool
    ) -> None:
        async def later(event: Event) -> Any:
            return value

        function = later if is_async else (lambda event, execution: value)
        workbell_memory.on("posts.*")(workbell_memory.processor("p")(function))
        run = ran(workbell_memory)
        assert (run.status, run.attempt) == (Status.FAILED, 1)
        assert run.error is not None
        assert run.error.startswith(f"processor p: it returned {value!r} ({type(value).__name__}); ")

    def test_it_may_steer_its_run(self, workbell_memory: Workbell) -> None:
        answers: list[Any] = [Snooze(0), Cancel("enough")]
        workbell_memory.on("posts.*")(workbell_memory.processor("p")(lambda event: answers.pop(0)))
        run = ran(workbell_memory)
        assert (run.status, run.reason) == (Status.CANCELED, "enough")

    def test_it_needs_a_name(self, workbell_memory: Workbell) -> None:
        with pytest.raises(InvalidOption, match="give it a name"):
            workbell_memory.processor(take_event)  # type: ignore[arg-type]


class TestDirectCalls:
    @pytest.fixture
    def event(self, workbell_memory: Workbell) -> Event:
        return workbell_memory.emit("posts.created", {"id": 7})

    def test_with_an_event(self, workbell_memory: Workbell, event: Event) -> None:
        bell = workbell_memory
        handler = bell.on("posts.*")(take_event)
        assert handler(event) == handler(event=event) == ["posts.created", {"id": 7}]
        assert bell.on("posts.*", name="c")(lambda event, ctx: ctx.event is event)(event)
        assert bell.on("posts.*", name="d")(lambda ctx, event: ctx.run.id)(
            detached("d", "default", bell._services), event
        )

    def test_with_event_and_execution(self, workbell_memory: Workbell, event: Event) -> None:
        processor = workbell_memory.processor("p")(lambda event, execution: {"given": [event.id, execution]})
        assert processor(event, 5) == {"given": [event.id, 5]}

    @pytest.mark.anyio
    async def test_async(self, workbell_memory: Workbell, event: Event) -> None:
        @workbell_memory.on("posts.*")
        async def look(ctx: Context, event: Event) -> bool:
            return ctx.event is event

        assert await look(event)


class TestEmitting:
    def test_a_handler_tells_more(self, workbell_memory: Workbell) -> None:
        """What it emits belongs to its run, and comes one deeper than its own event."""
        bell = workbell_memory

        @bell.on("posts.created")
        def first(ctx: Context) -> str:
            return ctx.emit("mail.wanted", {"to": "a@b.c"}, subject="a", key="k").id

        @bell.on("mail.wanted")
        async def second(ctx: Context, event: Event) -> Any:
            await ctx.aemit("mail.sent")
            return [event.data, event.subject, event.key, event.depth, event.cause]

        bell.emit("posts.created")
        one, two = drain(bell)
        assert two.event == one.result
        assert two.result == [{"to": "a@b.c"}, "a", "k", 1, one.id]
        (sent,) = bell.store.events.list("default", type="mail.sent", before=None, limit=5)
        assert (sent.depth, sent.cause, sent.tenant) == (2, two.id, "default")

    def test_of_another_run_there_is_no_event(self, workbell_memory: Workbell) -> None:
        workbell_memory.job(name="plain")(lambda ctx: ctx.event is None).enqueue()
        assert [run.result for run in drain(workbell_memory)] == [True]


class TestChains:
    def test_a_thread_of_the_handler_with_its_context(self, workbell_memory: Workbell) -> None:
        """C2: what it tells or asks for there is traced back to the run, so that a chain has an end."""
        bell = workbell_memory

        @bell.job
        def work() -> None:
            return None

        @bell.on("posts.created")
        def again(ctx: Context) -> None:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(ctx.emit, "posts.created").result()
                pool.submit(ctx.enqueue, "work").result()

        first = bell.emit("posts.created")
        ended = drain(bell)
        depths = {event.id: event.depth for event in bell.events.list()}
        assert sorted(depths.values()) == list(range(DEPTH_LIMIT + 1))
        by_job = {name: [run for run in ended if run.job == name] for name in ("again", "work")}
        assert [len(runs) for runs in by_job.values()] == [DEPTH_LIMIT, DEPTH_LIMIT]
        assert sorted(run.options.depth for run in by_job["work"]) == list(range(DEPTH_LIMIT))
        causes = {event.cause for event in bell.events.list() if event.id != first.id}
        assert causes == {run.id for run in by_job["again"]}

    @pytest.mark.anyio
    async def test_of_a_direct_call_there_is_no_run(self, workbell_memory: Workbell) -> None:
        bell = workbell_memory

        @bell.job
        async def tell(ctx: Context) -> list[Event]:
            return [ctx.emit("posts.created"), await ctx.aemit("posts.created")]

        assert [(event.cause, event.depth) for event in await tell()] == [(None, 0)] * 2
