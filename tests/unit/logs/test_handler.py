"""Setting up the logs of a process: the shape follows from the stream and the setting; others' handlers stay."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from workbell.logs import set_up
from workbell.logs.handler import make_formatter
from workbell.logs.json_lines import JsonFormatter
from workbell.logs.text_lines import TextFormatter


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def fresh_root() -> Iterator[logging.Logger]:
    """The root logger as in a fresh process; within a test, because pytest adds handlers of its own to each."""
    root, ours = logging.getLogger(), logging.getLogger("workbell")
    kept, level = list(root.handlers), ours.level
    root.handlers[:] = []
    try:
        yield root
    finally:
        root.handlers[:] = kept
        ours.setLevel(level)


@pytest.mark.parametrize(
    ("log_format", "terminal", "kind"),
    [
        ("auto", True, TextFormatter),
        ("auto", False, JsonFormatter),
        ("text", False, TextFormatter),
        ("json", True, JsonFormatter),
    ],
)
def test_the_shape(log_format: str, terminal: bool, kind: type) -> None:
    assert type(make_formatter(Terminal() if terminal else io.StringIO(), log_format)) is kind


@pytest.mark.parametrize(
    ("stream", "environment", "coloured"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colours(
    stream: io.StringIO, environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    formatter = make_formatter(stream, "text")
    assert ("\x1b" in formatter.format(logging.makeLogRecord({"levelname": "INFO"}))) is coloured


def test_a_second_time_changes_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_root() as root:
        set_up("info", "json")
        set_up("debug", "text", worker_id="host/w1")
        assert len(root.handlers) == 1
        logging.getLogger("workbell.engine").debug("here")
    assert capsys.readouterr().err.endswith("debug    here  worker_id=w1\n")


def test_the_handlers_of_the_application_stay() -> None:
    with fresh_root() as root:
        theirs = logging.NullHandler()
        root.addHandler(theirs)
        set_up("error", "json")
        assert root.handlers == [theirs]
        assert logging.getLogger("workbell").level == logging.ERROR
