"""Exit of an orphaned handler process: a pipe that only the worker holds open closes when the worker is gone.

The kernel itself kills the process, and whatever it started, when the pipe closes: also while a handler holds the
interpreter. Where the kernel offers no such thing, a thread waits for it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING

from workbell.process.platform import platform

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


HANGUP_WAIT = 0.2  # seconds until the pipe of a dead worker has closed


def hang_on(lifeline: Connection) -> None:
    """Exit when the other end of the pipe closes."""
    if platform().signal_on_hangup:
        with contextlib.suppress(OSError):
            _ask_the_kernel(lifeline.fileno())
    # Also where the kernel was asked: it does not signal a close that came before, and not every kernel signals at all.
    threading.Thread(target=_wait, args=[lifeline], name="workbell-lifeline", daemon=True).start()


def _ask_the_kernel(descriptor: int) -> None:
    """A signal for every event on the pipe, of which there is only one: that it closes."""
    import fcntl

    fcntl.fcntl(descriptor, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)


def end_with(lifeline: Connection) -> None:
    """Before a process ends because its worker is gone: kill what it started, if the kernel does not.

    All pipes of a dead worker close within moments, so the process may come to its end before the thread below does.
    """
    if not platform().signal_on_hangup and lifeline.poll(HANGUP_WAIT):
        _kill_all()


def _wait(lifeline: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    _kill_all()


def _kill_all() -> None:
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
