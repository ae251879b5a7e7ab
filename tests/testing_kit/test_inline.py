"""inline: an enqueue executes, with input and result as JSON on their way."""

from __future__ import annotations

import asyncio

import pytest

from workbell import InvalidInput, Retry, Status, Workbell
from workbell.testing import inline


def test_enqueue_answers_with_the_ended_run(workbell_memory: Workbell) -> None:
    @workbell_memory.job
    def double(numbers: list[int]) -> list[int]:
        return [number * 2 for number in numbers]

    with inline(workbell_memory) as bell:
        run = double.enqueue((1, 2))
        assert (run.status, run.result) == (Status.SUCCEEDED, [2, 4])
        many = bell.enqueue_many([double.request([1]), double.request([2])])
        assert [run.result for run in many] == [[2], [4]]
        assert bell.enqueue("double", {"numbers": [5]}).result == [10]
    assert double.enqueue([1]).status is Status.QUEUED
    assert workbell_memory.runs(status="queued")


def test_async_callers_and_handlers(workbell_memory: Workbell) -> None:
    @workbell_memory.job
    async def double(number: int) -> int:
        await asyncio.sleep(0)
        return number * 2

    async def call() -> object:
        with inline(workbell_memory):
            return (await double.aenqueue(4)).result

    assert asyncio.run(call()) == 8


def test_a_result_that_is_no_json_fails_as_with_a_worker(workbell_memory: Workbell) -> None:
    @workbell_memory.job
    def bad() -> object:
        return object()

    @workbell_memory.job
    def takes(value: int) -> None: ...

    with inline(workbell_memory):
        run = bad.enqueue()
        assert (run.status, run.reason) == (Status.FAILED, "result")
        with pytest.raises(InvalidInput):
            takes.enqueue(object())  # type: ignore[arg-type]


def test_what_handlers_enqueue_is_executed_too(workbell_memory: Workbell) -> None:
    order = []

    @workbell_memory.job
    def parent() -> None:
        child.enqueue()
        order.append("parent")

    @workbell_memory.job
    async def child() -> None:
        order.append("child")

    with inline(workbell_memory):
        parent.enqueue()
    assert order == ["parent", "child"]


def test_delayed_runs_wait(workbell_memory: Workbell) -> None:
    @workbell_memory.job
    def later() -> None: ...

    with inline(workbell_memory):
        assert later.options(delay=60).enqueue().status is Status.SCHEDULED


def test_errors_are_booked_or_raised(workbell_memory: Workbell) -> None:
    @workbell_memory.job(retry=Retry(attempts=1))
    def broken() -> None:
        raise LookupError("gone")

    with inline(workbell_memory):
        assert broken.enqueue().status is Status.FAILED
    with inline(workbell_memory, raise_errors=True), pytest.raises(LookupError, match="gone"):
        broken.enqueue()
    assert [run.status for run in workbell_memory.runs()] == [Status.FAILED] * 2


def test_other_tenants_are_inline_too(workbell_memory: Workbell) -> None:
    @workbell_memory.job
    def hello() -> str:
        return "hello"

    other = workbell_memory.for_tenant("other")
    with inline(workbell_memory):
        run = other.enqueue("hello")
    assert other.get(run.id).result == "hello"
    other.close()
