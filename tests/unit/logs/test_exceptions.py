"""Exceptions in log records: what is kept of them, and what is not."""

from __future__ import annotations

import asyncio
import linecache
import traceback
from pathlib import Path

import pytest

from workbell.logs.exceptions import exception_of, loggable
from workbell.model.cancel_snooze import RetryAfter
from workbell.model.error_text import describe_error, read_error

SECRET = "4111-1111"


def caught(card: str = SECRET) -> BaseException:
    def look_up(card: str) -> None:
        raise KeyError("order")

    try:
        try:
            look_up(card)
        except KeyError as error:
            raise ExceptionGroup("two", [ValueError("one"), error]) from error
    except ExceptionGroup as error:
        return error


def test_tracebacks_name_the_same_places_and_hold_no_variables() -> None:
    before = caught()
    places = [(one.filename, one.lineno, one.name, one.line) for one in traceback.extract_tb(before.__traceback__)]
    cause = before.__cause__
    assert cause is not None
    error = loggable(before)
    assert error is before
    after = [(one.filename, one.lineno, one.name, one.line) for one in traceback.extract_tb(error.__traceback__)]
    assert after == places
    assert [one.name for one in traceback.extract_tb(cause.__traceback__)] == ["caught", "look_up"]
    for one in (error, cause):
        trace = one.__traceback__
        while trace is not None:
            assert not trace.tb_frame.f_locals
            assert trace.tb_frame.f_globals["__name__"] == __name__
            trace = trace.tb_next
    assert "look_up(card)" in "".join(traceback.format_exception(error))


def test_the_error_behind_a_wait_is_the_one() -> None:
    error = caught()
    assert loggable(RetryAfter(error, 5)) is error


def test_a_deep_recursion_is_cut() -> None:
    def deeper(level: int) -> None:
        deeper(level + 1)

    with pytest.raises(RecursionError) as raised:
        deeper(0)
    assert len(traceback.extract_tb(loggable(raised.value).__traceback__)) == 30


def test_errors_that_refer_to_each_other_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert loggable(first) is first


def test_a_coroutine_that_waits_is_left_alone() -> None:
    """Its frame is in the traceback of an error that it has passed on, and it goes on."""

    async def main() -> list[str]:
        steps = []
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        go_on = asyncio.Event()

        async def serve() -> None:
            try:
                raise ValueError("for the other")
            except ValueError as error:
                passed.set_exception(error)
            await go_on.wait()
            steps.append("went on")

        task = asyncio.create_task(serve())
        try:
            await passed
        except ValueError as error:
            loggable(error)
        go_on.set()
        await task
        return steps

    assert asyncio.run(main()) == ["went on"]


def test_an_error_text_becomes_an_exception_of_that_name_and_place() -> None:
    text = describe_error(caught())
    error = exception_of(text)
    assert error is not None
    assert (type(error).__module__, type(error).__qualname__, str(error)) == (
        "builtins",
        "ExceptionGroup",
        read_error(text).message,
    )
    (frame,) = traceback.extract_tb(error.__traceback__)
    assert (frame.filename, frame.name) == (__file__, "caught")
    assert frame.line == 'raise ExceptionGroup("two", [ValueError("one"), error]) from error'


@pytest.mark.parametrize("text", ["", "The worker was killed by signal 9.", "job charge with isolate='process': no"])
def test_words_are_no_exception(text: str) -> None:
    assert exception_of(text) is None


def test_no_file_is_read_before_somebody_prints_it(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text("raise ValueError\n")
    text = f'ValueError: x\nTraceback of builtins.ValueError (most recent call last):\n> File "{file}", line 1, in f'
    error = exception_of(text)
    assert error is not None
    assert str(file) not in linecache.cache
