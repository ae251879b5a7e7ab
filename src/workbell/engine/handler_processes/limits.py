"""Memory and CPU limits of a process while it executes a handler."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from workbell.handlers.process_isolation import Isolation
from workbell.process.platform import platform

if sys.platform != "win32":
    import resource

OOM_SCORE = "500"  # from -1000 to 1000: how readily the kernel kills a process when memory runs out


@contextlib.contextmanager
def limited(isolation: Isolation) -> Iterator[None]:
    """Set the limits of a handler; afterwards they are lifted again.

    Memory is what the process has for itself to write to. Counting all addresses, as is more usual, would count what
    libraries set aside and never touch, several times what is really used. Only the soft limits are set: the hard ones
    could not be raised again. The kernel counts the processor's time from the birth of the process, in whole seconds.
    """
    if sys.platform == "win32":  # it has nothing of the kind
        yield
        return
    with contextlib.ExitStack() as limits:
        if isolation.memory is not None:
            limits.enter_context(_limit(resource.RLIMIT_DATA, isolation.memory))
        if isolation.cpu is not None:
            limits.enter_context(_limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + isolation.cpu)))
        yield


@contextlib.contextmanager
def _limit(kind: int, value: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(kind)
    bounds = [bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(kind, (min([value, *bounds]), hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))


def die_first() -> None:
    """When the machine's memory runs out, this process is to be killed rather than its worker."""
    if not platform().proc:
        return
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)
