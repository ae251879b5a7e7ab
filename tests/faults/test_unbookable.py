"""Whatever a handler returns or raises is booked, with an error that helps, and the worker goes on (A11)."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from workbell import Cancel, Context, Retry, Run, Snooze, Status, Workbell
from workbell.model.json_text import ERROR_LIMIT
from workbell.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that are too large are kept as files below the current folder."""
    monkeypatch.chdir(tmp_path)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even its message can be had")


class Outside(BaseException):
    """Not an Exception, as some libraries have them."""


class Treacherous:
    """Pretends to be a pydantic model."""

    def model_dump(self, mode: str) -> Any:
        raise KeyError("no such field")


@dataclasses.dataclass
class Broken:
    """Its input was fine when it was enqueued."""

    number: int

    def __post_init__(self) -> None:
        if CHANGED:
            raise RuntimeError("the code has changed since")


CHANGED: list[bool] = []


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


def endless() -> Any:
    return endless()


def raises(error: BaseException | Callable[[], Any]) -> Callable[[], Any]:
    def handler() -> Any:
        if isinstance(error, BaseException):
            raise error
        return error()

    return handler


# What a handler does, and a word that the stored error must have.
FAILING: dict[str, tuple[Callable[[], Any], str]] = {
    "returns an object": (lambda: object(), "cannot be written as JSON"),
    "returns a set of objects": (lambda: {"x": {object()}}, "cannot be written as JSON"),
    "returns a lone surrogate": (lambda: {"name": "\ud800"}, "surrogates"),
    "returns itself": (lambda: loop(), "cannot be written as JSON"),
    "returns deep nesting": (lambda: nested(100), "nested deeper"),
    "returns very deep nesting": (lambda: nested(50_000), "cannot be written as JSON"),
    "returns too much": (lambda: "x" * 300_000, "the limit is"),
    "returns a bad model": (lambda: Treacherous(), "no such field"),
    "returns a bad delay": (lambda: Snooze(delay="soon"), "timedelta"),
    "returns an endless delay": (lambda: Snooze(delay=1e300), "OverflowError"),
    "returns a delay of ages": (lambda: Snooze(delay=1e11), "100 years"),
    "raises NUL": (raises(ValueError("a\x00b")), "ValueError: a\N{REPLACEMENT CHARACTER}b"),
    "raises surrogates": (raises(ValueError("a\udcffb")), "ValueError: a?b"),
    "raises 50 MB": (raises(ValueError("x" * 50_000_000)), "characters left out"),
    "raises the unspeakable": (raises(Unspeakable()), "Unspeakable: (its message could not be read)"),
    "exits": (raises(lambda: sys.exit(3)), "SystemExit: 3"),
    "interrupts": (raises(KeyboardInterrupt()), "KeyboardInterrupt"),
    "cancels itself": (raises(asyncio.CancelledError()), "CancelledError"),
    "raises a BaseException": (raises(Outside("beyond")), "Outside: beyond"),
    "raises GeneratorExit": (raises(GeneratorExit()), "GeneratorExit"),
    "recurses": (raises(endless), "RecursionError"),
    "stops an iteration": (raises(StopIteration("over")), "StopIteration"),
}


def loop() -> list[Any]:
    itself: list[Any] = []
    itself.append(itself)
    return itself


# What can be kept is kept: JSON has no NaN and PostgreSQL no NUL, so they are replaced.
ENDING: dict[str, tuple[Callable[[], Any], Callable[[Run], bool]]] = {
    "NaN": (lambda: {"x": float("nan")}, lambda run: run.result == {"x": None}),
    "NUL in a result": (lambda: "a\x00b", lambda run: run.result == "a\x00b"),
    "no text as a reason": (lambda: Cancel(reason=42), lambda run: run.reason == "42"),
    "NUL in a reason": (lambda: Cancel("a\x00b"), lambda run: run.reason == "a\N{REPLACEMENT CHARACTER}b"),
}

DOES = {case: does for case, (does, _) in (FAILING | ENDING).items()}


@asynccontextmanager
async def one_slot(url: str) -> AsyncIterator[Workbell]:
    """A working Workbell with a single slot: a handler that takes it down would be noticed by the next run."""
    with Workbell(settings=Settings(url=url, poll=0.05, grace=5)) as bell:

        @bell.job
        async def normal() -> str:
            return "well"

        @bell.job(retry=Retry(attempts=1))
        def plain(case: str) -> Any:
            return DOES[case]()

        @bell.job(retry=Retry(attempts=1))
        async def asynchronous(case: str) -> Any:
            return DOES[case]()

        async with bell.running(concurrency=1):
            yield bell


async def ended(bell: Workbell, job: str, input: dict[str, Any]) -> Run:
    """What came of a run; and an ordinary one after it must end well."""
    run = await bell.aenqueue(job, input)
    outcome = await bell.await_(run.id, timeout=60)
    after = await bell.aenqueue("normal")
    assert (await bell.await_(after.id, timeout=60)).result == "well"
    return outcome


@pytest.mark.parametrize("kind", ["asynchronous", "plain"])
async def test_booked_as_failed(store_url: str, kind: str) -> None:
    wrong = {}
    async with one_slot(store_url) as bell:
        for case, (_, word) in FAILING.items():
            run = await ended(bell, kind, {"case": case})
            error = run.error or ""
            spent = (run.attempt, run.failures, run.losses) == (1, 1, 0)
            if run.status is not Status.FAILED or word not in error or len(error) > ERROR_LIMIT + 200 or not spent:
                wrong[case] = (run.status, run.attempt, run.failures, error[:300])
    assert wrong == {}


async def test_booked_as_it_is(store_url: str) -> None:
    wrong = {}
    async with one_slot(store_url) as bell:
        for case, (_, fits) in ENDING.items():
            run = await ended(bell, "plain", {"case": case})
            if not fits(run):
                wrong[case] = (run.status, run.result, run.reason)
    assert wrong == {}


async def test_reason_of_a_snooze_that_no_store_takes(store_url: str) -> None:
    async with one_slot(store_url) as bell:

        @bell.job
        def twice(ctx: Context) -> Any:
            return Snooze(0, "a\x00\ud800b") if ctx.run.attempt == 1 else "done"

        run = await ended(bell, "twice", {})
    assert (run.status, run.result, run.attempt) == (Status.SUCCEEDED, "done", 2)


async def test_input_that_no_longer_fits(store_url: str) -> None:
    """Checked when it was enqueued, and again here; whatever that raises is the run's failure."""
    async with one_slot(store_url) as bell:

        @bell.job(retry=Retry(attempts=1))
        def reads_plain(given: Broken) -> None: ...

        @bell.job(retry=Retry(attempts=1))
        async def reads_async(given: Broken) -> None: ...

        for job in (reads_plain, reads_async):
            request = job.request(given=Broken(1))
            CHANGED.append(True)
            try:
                made = await bell.aenqueue_many([request])
                run = await bell.await_(made[0].id, timeout=60)
                await ended(bell, "normal", {})
            finally:
                CHANGED.clear()
            assert (run.status, run.reason) == (Status.FAILED, "input")
            assert "the code has changed since" in (run.error or "")


async def test_argument_named_like_the_context(store_url: str) -> None:
    """Open arguments can have any name, also one that the call cannot take."""
    async with one_slot(store_url) as bell:

        @bell.job(retry=Retry(attempts=1))
        def open_plain(ctx: Context, **more: Any) -> None: ...

        @bell.job(retry=Retry(attempts=1))
        async def open_async(ctx: Context, **more: Any) -> None: ...

        for job in ("open_plain", "open_async"):
            run = await ended(bell, job, {"ctx": 1})
            assert run.status is Status.FAILED
            assert "ctx" in (run.error or "")
