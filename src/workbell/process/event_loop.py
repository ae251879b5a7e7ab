"""Event loops: whether one runs in this thread, and a warning for verbs that would block it."""

from __future__ import annotations

import sys
import warnings

from workbell.model.error_text import is_workbells


def is_in_a_loop() -> bool:
    """Whether this is async code: another event loop cannot run inside its own."""
    if "asyncio" not in sys.modules:
        return False
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def warn_of_blocking(verb: str, instead: str) -> None:
    """Warn where async code calls a verb that waits. No error: a notebook has a loop too, and may well wait."""
    if not is_in_a_loop():
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and is_workbells(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    text = f"{verb} blocks the event loop that it is called on, and everything else on it; use {instead}"
    warnings.warn(text, RuntimeWarning, stacklevel=level)
