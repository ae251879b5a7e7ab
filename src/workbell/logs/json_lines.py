"""Log lines for programs: one JSON object on one line for each record, whatever it was given."""

from __future__ import annotations

import json
import logging
import math
from datetime import UTC, datetime
from typing import Any

import msgspec

from workbell.logs.facts import STACK_LIMIT, facts_of, message_of, shown, stack_of
from workbell.logs.secrets import without_secrets

OWN = ("ts", "level", "event", "logger")
LIMIT = 64_000  # bytes of a line beyond which its parts are cut
TEXT_LIMIT = 2_000
ITEMS = 50
DEPTH = 4


class JsonFormatter(logging.Formatter):
    """`{"ts": …, "level": "info", "event": "run succeeded", "logger": …, "run_id": …, "job": …, "duration_s": …}`.

    `ascii_only` is for streams that cannot take every letter.
    """

    def __init__(self, constant: dict[str, Any] | None = None, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._constant = constant or {}
        self._ascii_only = ascii_only

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": _time(record.created),
            "level": record.levelname.lower(),
            "event": message_of(record),
            "logger": record.name,
        }
        for name, value in facts_of(record, self._constant).items():
            key = f"extra.{name}" if name in OWN else name
            if isinstance(value, str):
                value = shown(value, STACK_LIMIT if name == "error.stack" else TEXT_LIMIT)
            line[key] = value
        if (stack := stack_of(record)) is not None:
            line["error.stack"] = stack
        return without_secrets(self._written(line))  # also those deep in what was given as `extra`

    def _written(self, line: dict[str, Any]) -> str:
        try:
            data = _encoder.encode(line)
            if len(data) <= LIMIT:
                if data.isascii():
                    return data.decode()
                if not self._ascii_only:
                    return _on_one_line(data.decode())
        except Exception:  # noqa: BLE001, S110  odd values are made plain, one by one
            pass
        text = json.dumps(_plain(line, DEPTH + 1), ensure_ascii=self._ascii_only, separators=(",", ":"))
        return text if self._ascii_only else _on_one_line(text)


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat(timespec='milliseconds')[:-6]}Z"


def _on_one_line(text: str) -> str:
    """JSON escapes the ends of lines that it knows; some readers know more of them."""
    for end in "\x85\u2028\u2029":
        if end in text:
            text = text.replace(end, f"\\u{ord(end):04x}")
    return text


def _described(value: Any) -> str:
    try:
        return shown(repr(value), TEXT_LIMIT)
    except Exception:  # noqa: BLE001  see facts.py
        return f"({type(value).__name__} that cannot be shown)"


_encoder = msgspec.json.Encoder(enc_hook=_described)


def _plain(value: Any, depth: int) -> Any:
    """The same in values that JSON has, cut to a bearable size."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return shown(value, STACK_LIMIT)
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**64 else _described(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict | list | tuple | set | frozenset):
        if depth == 0:
            return "…"
        if isinstance(value, dict):
            return {_key(key): _plain(item, depth - 1) for key, item in list(value.items())[:ITEMS]}
        return [_plain(item, depth - 1) for item in list(value)[:ITEMS]]
    return _described(value)


def _key(value: Any) -> str:
    return shown(value, 100) if isinstance(value, str) else _described(value)
