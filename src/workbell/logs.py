"""Logging for the command line: text on stderr, with the run that a line belongs to."""

from __future__ import annotations

import logging
import sys
from datetime import datetime

FACTS = ("job", "run_id", "attempt")


class TextFormatter(logging.Formatter):
    """`12:03:04 warning  message  job=send run_id=… attempt=2`, and the traceback below if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created).astimezone()
        facts = "".join(f"  {name}={getattr(record, name)}" for name in FACTS if hasattr(record, name))
        line = f"{time:%H:%M:%S} {record.levelname.lower():8} {record.getMessage()}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def set_up(level: str) -> None:
    """Log from this level on. Does nothing if the application has set up logging itself."""
    root = logging.getLogger()
    logging.getLogger("workbell").setLevel(level.upper())
    if not root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(TextFormatter())
        root.addHandler(handler)
