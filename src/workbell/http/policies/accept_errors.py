"""Accept errors (out of file descriptors), logged once a minute: asyncio retries every second and logs each failure.

With 2,048 connections waiting that were 65,267 lines, 40 MB, within ten seconds.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import Any

from workbell.logs.rate_limit import RateLimitedMessage

log = logging.getLogger("workbell.http")

SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Accepting:
    """Takes this one error out of what an event loop reports; all else goes where it went before."""

    def __init__(self) -> None:
        self._seldom = RateLimitedMessage(
            log,
            logging.ERROR,
            "new connections wait: the process is out of file descriptors; raise its limit (ulimit -n, LimitNOFILE) "
            "or find out what keeps so many files open",
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: Any = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._before = loop, loop.get_exception_handler()
        loop.set_exception_handler(self._on_error)

    def end(self) -> None:
        if self._loop is not None and self._loop.get_exception_handler() == self._on_error:
            self._loop.set_exception_handler(self._before)

    def _on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in SHORT_OF and "socket" in context:
            self._seldom.log(loop.time())
        elif self._before is not None:
            self._before(loop, context)
        else:
            loop.default_exception_handler(context)
