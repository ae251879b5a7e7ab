"""Event loops: whether one runs in this thread."""

from __future__ import annotations

import asyncio


def is_in_a_loop() -> bool:
    """Whether this is async code: another event loop cannot run inside its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
