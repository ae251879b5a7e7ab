"""Log lines for people: time, level, message, then the facts that say which run it is about."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from workbell.logs.facts import STACK_LIMIT, facts_of, message_of, shown, stack_of

BELOW = "error.stack"
SAID = ("error.type", "error.message")  # where the stack is shown as well, it ends with these
AS_EVER = {"queue": "default", "tenant": "default"}
VALUE_LIMIT = 500

_COLOURS = {"debug": "2", "info": "32", "warning": "33", "error": "31", "critical": "1;31"}
_DIM = "2"


class TextFormatter(logging.Formatter):
    """`12:03:04 info     run succeeded  run_id=…  job=send  attempt=2  duration_s=0.2`, and a traceback below.

    Defaults (the queue and the tenant named default) are left out, and of a worker's id only the end is shown.
    Nothing in a line can control the terminal or imitate another line.
    """

    def __init__(self, constant: dict[str, Any] | None = None, *, colours: bool = False) -> None:
        super().__init__()
        self._constant = constant or {}
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        facts = facts_of(record, self._constant)
        level = record.levelname.lower()
        stack = facts.pop(BELOW, None)
        if (traceback := stack_of(record)) is not None:
            stack = traceback
            facts = {name: value for name, value in facts.items() if name not in SAID}
        time = datetime.fromtimestamp(record.created).astimezone()
        fields = "".join(
            f"  {name}={_value(name, value)}" for name, value in facts.items() if not _as_ever(name, value)
        )
        line = f"{self._in(_DIM, f'{time:%H:%M:%S}')} {self._in(_COLOURS.get(level, ''), f'{level:8}')} "
        line += _harmless(message_of(record)) + self._in(_DIM, fields)
        if stack is not None:
            line += "\n    " + _harmless(shown(str(stack), STACK_LIMIT))
        return line

    def _in(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours and colour and text else text


def _as_ever(name: str, value: Any) -> bool:
    return name in AS_EVER and bool(AS_EVER[name] == value)


def _value(name: str, value: Any) -> str:
    if name == "worker_id":
        value = str(value).rpartition("/")[2]
    try:
        text = shown(str(value), VALUE_LIMIT).replace("\n", " ")
    except Exception:  # noqa: BLE001  whatever it is, it is not ours to trust
        return f"({type(value).__name__})"
    text = _harmless(text)
    return text if text and not any(letter in text for letter in ' ="') else '"' + text.replace('"', "'") + '"'


def _harmless(text: str) -> str:
    """Without control characters; further lines are indented, so that none passes for a log line of its own."""
    if text.isprintable():
        return text
    lines = ("".join(letter if letter.isprintable() else " " for letter in line) for line in text.split("\n"))
    return "\n    ".join(lines)
