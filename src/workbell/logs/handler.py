"""Log setup of a process: its level and its format."""

from __future__ import annotations

import logging
import os
import sys
from typing import TextIO

from workbell.logs.json_lines import JsonFormatter
from workbell.logs.text_lines import TextFormatter

AUTO, TEXT, JSON = FORMATS = ("auto", "text", "json")


class OurHandler(logging.StreamHandler[TextIO]):
    """A class of its own, so that it is known again: what the application has set up is left alone."""


def set_up(level: str, log_format: str = AUTO, *, worker_id: str | None = None) -> None:
    """Log from this level on, to stderr: `text`, `json`, or by itself text on a terminal and JSON otherwise.

    `worker_id` is added to every line of this process that does not carry one. If the application has set up logging
    itself, its handlers stay as they are, and only the level is set.
    """
    logging.getLogger("workbell").setLevel(level.upper())
    root = logging.getLogger()
    ours = [handler for handler in root.handlers if isinstance(handler, OurHandler)]
    if root.handlers and not ours:
        return
    handler = ours[0] if ours else OurHandler(sys.stderr)
    handler.setFormatter(make_formatter(handler.stream, log_format, worker_id))
    if not ours:
        root.addHandler(handler)


def make_formatter(stream: TextIO, log_format: str, worker_id: str | None = None) -> logging.Formatter:
    """The formatter for what is written to this stream."""
    constant = {} if worker_id is None else {"worker_id": worker_id}
    terminal = stream.isatty()
    if log_format == JSON or (log_format == AUTO and not terminal):
        return JsonFormatter(constant, ascii_only=not (stream.encoding or "").lower().startswith("utf"))
    colours = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return TextFormatter(constant, colours=colours)
