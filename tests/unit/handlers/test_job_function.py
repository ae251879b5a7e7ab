"""The options of `@bell.job`, `@bell.on` and `@bell.processor`: right types are taken, wrong ones refused at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Context, InvalidInput, InvalidOption, JobsError, Retry, Workbell, WorkbellError

MakeDecorator = Callable[..., Callable[[Callable[..., Any]], Any]]


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell(store=fresh_store()) as bell:
        yield bell


@pytest.fixture(params=["job", "on", "processor"])
def decorator(request: pytest.FixtureRequest, bell: Workbell) -> MakeDecorator:
    match request.param:
        case "job":
            return bell.job
        case "on":
            return partial(bell.on, "posts.*")
        case _:
            return partial(bell.processor, "work")


def work(ctx: Context) -> None: ...


POLICIES: list[tuple[Any, Retry]] = [
    (3, Retry(attempts=3)),
    (1, Retry(attempts=1)),
    (Retry(attempts=5, delay=2), Retry(attempts=5, delay=2)),
    ({"max_retries": 3}, Retry(attempts=4, delay=2, factor=1, cap=86400, jitter=0)),
    (
        {"max_retries": 0, "backoff_ms": 500, "backoff_type": "exponential"},
        Retry(attempts=1, delay=0.5, factor=2, cap=86400, jitter=0),
    ),
]


@pytest.mark.parametrize(("given", "policy"), POLICIES)
def test_a_retry_policy(decorator: MakeDecorator, bell: Workbell, given: Any, policy: Retry) -> None:
    assert decorator(retry=given)(work).retry == policy
    run = bell.enqueue("work", retry=given)  # the same when it is said of one run
    assert run.retry == policy
    assert bell.schedules.put("work", job="work", every=60, retry=given).options.retry == policy


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"retry": True}, "job work: retry: expected a Retry, a number of attempts or a dict, got bool"),
    ({"retry": "3"}, "job work: retry: expected a Retry, a number of attempts or a dict, got str; write retry=3"),
    ({"retry": 0}, "job work: retry: attempts must be a whole number of 1 or more, got 0"),
    ({"retry": 2.5}, "job work: retry: expected a Retry, a number of attempts or a dict, got float"),
    ({"retry": {"attempts": 3}}, "job work: retry: .*'attempts'; its words are max_retries, backoff_ms"),
    ({"timeout": 0}, "job work: timeout: it is more than 0 seconds; leave it out for none"),
    ({"timeout": timedelta(0)}, "job work: timeout: it is more than 0 seconds"),
    ({"timeout": -1}, "job work: timeout: -1 is not a span"),
    ({"timeout": "30"}, "job work: timeout: expected seconds or a timedelta, got str"),
    ({"timeout": True}, "job work: timeout: expected seconds or a timedelta, got bool"),
    ({"priority": 101}, "job work: priority: 101 is not a whole number from -100 to 100"),
    ({"priority": "high"}, "job work: priority: 'high' is not a whole number"),
    ({"queue": 3}, "job work: queue: expected a text, got int"),
    ({"queue": " x"}, "job work: queue ' x': use 1 to 200 printable characters"),
    ({"concurrency": 0}, "job work: concurrency: 0 is not a whole number from 1"),
    ({"concurrency": True}, "job work: concurrency: True is not a whole number"),
    ({"rate": 100}, "job work: rate: 100 cannot be read"),
    ({"isolate": True}, "job work: isolate: True is not known"),
    ({"isolate": "process", "memory_limit": 1.5}, "job work: memory_limit: expected bytes"),
    ({"cpu_limit": 3}, "job work: cpu_limit: only a process of its own can be limited"),
    ({"description": 3}, "job work: description: expected a text, got int"),
    ({"alert_url": 3}, "job work: alert_url: expected a text"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_a_value_that_cannot_be_used(
    decorator: MakeDecorator, bell: Workbell, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(WorkbellError, match=message):
        decorator(**options)(work)
    assert bell.registry.find("work") is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_retries": 3}, r"job work: there is no option 'max_retries'; did you mean retry=\? The options are "),
        ({"retries": 3}, r"job work: there is no option 'retries'; did you mean retry=\?"),
        ({"timout": 3}, r"job work: there is no option 'timout'; did you mean timeout=\?"),
        ({"concurency": 3}, r"did you mean concurrency=\? The options are .*concurrency, .*isolate, .*name, .*rate"),
        ({"color": "red"}, r"job work: there is no option 'color'; the options are alert_url, anchor, at"),
        ({"priority": 500}, "job work: priority: 500 is not a whole number from -100 to 100"),
        ({"overlap": "allow"}, "job work: overlap is about the runs of a schedule, and this job has none; give cron="),
        ({"cron": "* * * * *", "every": 5}, "job work: cron and every both say when it runs; give one of them"),
        ({"cron": None}, "job work: cron=None does not say when it runs; give it a value, or leave it out"),
        ({"every": None, "timezone": "UTC"}, "job work: every=None does not say when it runs"),
        ({"cron": "61 * * * *"}, "^job work: cron '61 .*': minute: '61' is out of bounds"),
        ({"every": 5, "overlap": "never"}, "^job work: overlap: 'never' is none of skip"),
        ({"every": 5, "input": {"to": 3}}, "^job work: there is no argument 'to'"),
        ({"cron": "* * * * *", "every": 5, "color": 1}, "job work: there is no option 'color'"),
        ({"name": ""}, "job '': use 1 to 200 printable"),
        ({"name": 3}, "job: expected a text, got int"),
    ],
)
def test_what_a_job_has_no_word_for(bell: Workbell, options: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkbellError, match=message):
        bell.job(**options)(work)


def test_an_option_that_is_misspelt_for_a_handler(bell: Workbell) -> None:
    with pytest.raises(InvalidOption, match=r"there is no option 'timout'; did you mean timeout=\?"):
        bell.on("posts.*", timout=3)  # type: ignore[call-arg]
    with pytest.raises(InvalidOption, match=r"there is no option 'max_retries'; did you mean retry=\?"):
        bell.processor("work", max_retries=3)  # type: ignore[call-arg]


def test_a_pattern_is_left_out(bell: Workbell) -> None:
    with pytest.raises(InvalidOption, match=r'on: give it a pattern, as in @bell\.on\("posts\.\*"\)'):

        @bell.on
        def hears() -> None: ...


def numbers() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("mail", r"job: expected a function, got str; write @bell.job\(name='mail'\)"),
        (3, r"job: expected a function, got int; write @bell.job above a function"),
        (partial(work, None), "job: expected a function, got partial; write @bell.job above a function"),
        (type("Work", (), {}), "job: expected a function, got a class; write @bell.job above a function"),
        (numbers, "job numbers: it has a yield in it and would never be executed; return what it is to leave behind"),
    ],
)
def test_what_is_no_function(bell: Workbell, given: Any, message: str) -> None:
    with pytest.raises(JobsError, match=message):
        bell.job(given)


def test_a_schedule_says_what_is_wrong_with_its_own_settings(bell: Workbell) -> None:
    bell.job(work)
    with pytest.raises(InvalidOption, match=r"unknown setting 'overlp'; did you mean overlap=\? The settings are"):
        bell.schedules.put("work", job="work", every=5, overlp="allow")  # type: ignore[call-arg]


def test_a_timeout_of_nothing(bell: Workbell) -> None:
    bell.job(work)
    message = "timeout: it is more than 0 seconds; leave it out for none"
    with pytest.raises(InvalidOption, match=message):
        bell.enqueue("work", timeout=0)
    with pytest.raises(InvalidOption, match=message):
        bell.schedules.put("work", job="work", every=5, timeout=0)


@pytest.mark.parametrize("word", ["delay", "apply_async", "defer", "send"])
def test_a_call_that_other_libraries_have(bell: Workbell, word: str) -> None:
    job = bell.job(work)
    message = rf"job work has no '{word}'; use work\.enqueue\(…\), or work\.options\(delay=60\)\.enqueue\(…\) for later"
    with pytest.raises(AttributeError, match=message):
        getattr(job, word)
    with pytest.raises(AttributeError, match=r"job work has no 'colour'$"):
        _ = job.colour  # type: ignore[attr-defined]
    assert not hasattr(job, "colour")


def test_an_option_among_the_arguments(bell: Workbell) -> None:
    job = bell.job(work)
    with pytest.raises(
        InvalidInput, match=r"no argument 'delay'; .* of the run: work\.options\(delay=…\)\.enqueue\(…\)\.$"
    ):
        job.enqueue(delay=5)  # type: ignore[call-arg]
    with pytest.raises(InvalidInput, match=r"there is no argument 'delya'; it takes none\.$"):
        job.enqueue(delya=5)  # type: ignore[call-arg]
