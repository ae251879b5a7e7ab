"""`ctx.logger`: which lines are kept with the run, what they say, and that they are logged as ever (F6)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.unit.makers import run_in
from workbell.handlers.run_logger import LETTERS, LINES, RunLogger, log
from workbell.model.log_line import LogLine
from workbell.model.run import Status

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
RUN = run_in(Status.RUNNING, attempt=2, token=7)


class Kept(list[LogLine]):
    """Where the lines go."""

    def keep(self, token: int, line: LogLine) -> None:
        assert token == RUN.token
        self.append(line)

    @property
    def texts(self) -> list[str]:
        return [line.message for line in self]


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def logger(kept: Kept) -> RunLogger:
    return RunLogger(RUN, kept.keep, lambda: NOW)


@pytest.fixture
def level() -> Iterator[None]:
    before = log.level
    log.setLevel(logging.WARNING)
    yield
    log.setLevel(before)


def test_a_line_carries_its_run_attempt_number_time_and_level(logger: RunLogger, kept: Kept) -> None:
    logger.info("%d of %s", 3, "four")
    logger.error("too bad")
    assert kept == [
        LogLine(RUN.id, 2, 0, NOW, "INFO", "3 of four"),
        LogLine(RUN.id, 2, 1, NOW, "ERROR", "too bad"),
    ]


@pytest.mark.usefixtures("level")
def test_info_is_kept_even_where_nobody_logs_it(
    logger: RunLogger, kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    logger.info("kept")
    logger.debug("not kept")
    assert kept.texts == ["kept"]
    assert caplog.records == [], "the logging system is asked as ever"
    assert logger.isEnabledFor(logging.INFO)
    assert not logger.isEnabledFor(logging.DEBUG)


@pytest.mark.usefixtures("level")
def test_debug_is_kept_if_it_is_logged(logger: RunLogger, kept: Kept) -> None:
    log.setLevel(logging.DEBUG)
    logger.debug("kept")
    assert [(line.level, line.message) for line in kept] == [("DEBUG", "kept")]


def test_lines_are_logged_as_ever(logger: RunLogger, caplog: pytest.LogCaptureFixture) -> None:
    """With the place of the caller, not ours, and the arguments apart from the message."""
    with caplog.at_level(logging.INFO):
        logger.info("%d of %d", 3, 4, extra={"colour": "red"})
        logger.log(logging.INFO, "again")
    first, second = caplog.records
    assert (first.msg, first.args, first.getMessage()) == ("%d of %d", (3, 4), "3 of 4")
    assert first.__dict__["run_id"] == RUN.id
    assert first.__dict__["colour"] == "red"
    for record in (first, second):
        assert (record.filename, record.funcName) == ("test_run_logger.py", "test_lines_are_logged_as_ever")


def test_an_error_is_kept_with_its_traceback(logger: RunLogger, kept: Kept) -> None:
    try:
        raise ValueError("no such thing")
    except ValueError as error:
        logger.exception("it failed")
        logger.warning("it failed", exc_info=error)
        logger.warning("it failed", exc_info=False)
    traceback, same, plain = kept.texts
    assert traceback.startswith("it failed\nTraceback (most recent call last):\n")
    assert traceback.endswith("ValueError: no such thing")
    assert same == traceback
    assert plain == "it failed"


def test_arguments_by_name(logger: RunLogger, kept: Kept) -> None:
    logger.info("%(a)s and %(b)s", {"a": 1, "b": 2})
    assert kept.texts == ["1 and 2"]


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("message", "arguments"), [("%d", ("x",)), ("%s %s", ("one",)), ("100%", ("x",)), (Unspeakable(), ())]
)
def test_a_line_that_cannot_be_formatted_is_kept_all_the_same(
    message: object, arguments: tuple[object, ...], logger: RunLogger, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logger.info(message, *arguments)
    assert len(kept) == 1
    assert kept[0].message


def test_a_line_is_cut_and_cleaned(logger: RunLogger, kept: Kept) -> None:
    logger.info("a\x00b\ud800")
    logger.info("x" * 5000)
    assert "\x00" not in kept.texts[0]
    kept.texts[0].encode()
    assert len(kept.texts[1]) <= LETTERS
    assert "characters left out" in kept.texts[1]


def test_there_is_a_last_line(logger: RunLogger, kept: Kept) -> None:
    for number in range(LINES + 50):
        logger.info("%d", number)
    assert len(kept) == LINES + 1
    assert [line.line for line in kept] == list(range(LINES + 1))
    assert kept.texts[-2:] == ["999", "What follows is left out: 1,000 log lines of an attempt are stored."]


@pytest.mark.usefixtures("level")
def test_without_a_place_to_keep_them_lines_are_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    """As when a handler is called directly."""
    logger = RunLogger(RUN, None, lambda: NOW)
    logger.info("nobody hears it")
    logger.warning("heard")
    assert [record.message for record in caplog.records] == ["heard"]
    assert not logger.isEnabledFor(logging.INFO)
