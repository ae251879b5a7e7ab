"""`ctx.logger`: log lines of a run, passed to the logging system and stored with the run."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Mapping, MutableMapping
from datetime import datetime
from typing import Any

from workbell.logs.facts import message_of, run_facts, stack_of
from workbell.model.json_text import clean_text
from workbell.model.log_line import LogLine
from workbell.model.run import Run

log = logging.getLogger("workbell.job")

LINES = 1000  # of an attempt
LETTERS = 2000  # of a line
LEVEL_LETTERS = 20

SaveLine = Callable[[int, LogLine], None]  # the token of the lease, and a log line written under it


class RunLogger(logging.LoggerAdapter[logging.Logger]):
    """Logger that adds the facts of a run to every line, and saves the line with the run.

    Lines from INFO on are always saved; those below only if the logging system is enabled for them.
    """

    def __init__(self, run: Run, save: SaveLine | None, now: Callable[[], datetime]) -> None:
        super().__init__(log, run_facts(run))
        self._run = run
        self._save = save
        self._now = now
        self._numbers = itertools.count()  # an atomic counter: a handler may have threads

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802  the name is the standard library's
        return (self._save is not None and level >= logging.INFO) or super().isEnabledFor(level)

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if not self.isEnabledFor(level):
            return
        if self._save is not None:
            self._save_line(self._save, level, msg, args, kwargs.get("exc_info"))
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1  # the location of our caller
        super().log(level, msg, *args, **kwargs)

    def _save_line(self, save: SaveLine, level: int, msg: object, args: Any, error: Any) -> None:
        number = next(self._numbers)
        if number > LINES:
            return
        name = clean_text(logging.getLevelName(level), LEVEL_LETTERS)
        if number == LINES:
            text = f"What follows is left out: {LINES:,} log lines of an attempt are stored."
        else:
            text = _text(level, msg, args, error)
        save(self._run.token, LogLine(self._run.id, self._run.attempt, number, self._now(), name, text))


def _text(level: int, msg: object, args: Any, error: Any) -> str:
    """The message with the traceback below it, never too long, and without secrets."""
    if len(args) == 1 and isinstance(args[0], Mapping) and args[0]:
        args = args[0]  # as the logging system has it: the arguments by name
    record = logging.LogRecord("", level, "", 0, msg, args, _error_of(error))
    stack = stack_of(record)
    message = message_of(record)
    return clean_text(message if stack is None else f"{message}\n{stack}", LETTERS)


def _error_of(given: Any) -> Any:
    """The argument `exc_info` as a log record has it."""
    if isinstance(given, BaseException):
        return type(given), given, given.__traceback__
    if given and not isinstance(given, tuple):
        return sys.exc_info()
    return given or None
