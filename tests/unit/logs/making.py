"""Log records, made by hand."""

from __future__ import annotations

import logging
import sys
from typing import Any


def record(message: Any = "hello", *args: Any, error: BaseException | None = None, **extra: Any) -> logging.LogRecord:
    """What the logging system hands to a formatter."""
    exc_info = None
    if error is not None:
        try:
            raise error
        except BaseException:
            exc_info = sys.exc_info()
    made = logging.LogRecord("workbell.test", logging.INFO, __file__, 1, message, args, exc_info)
    made.created = 1_900_000_000.25
    made.__dict__.update(extra)
    return made


class Unshowable:
    """Nothing about it works."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__
