"""Platform: what this operating system offers beyond what all have, in one place. `WORKBELL_PLATFORM=plain` uses none.

Each part that could use more asks here, and has another way for where there is less. With `plain` that other way can be
tried, and tested, on Linux.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from workbell.errors import SettingsError

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

VARIABLE = "WORKBELL_PLATFORM"
AUTO, PLAIN = "auto", "plain"


class Platform(NamedTuple):
    inotify: bool  # changes of a file as events; else it is polled
    folder_events: bool  # changes below a folder as events, by watchfiles; else times are compared
    flock: bool  # locks of files that are granted in turn; else SQLite's own locks alone
    open_file_locks: bool  # locks that belong to an open file; else nobody sees who has a SQLite file open
    proc: bool  # processes and their locks as files below /proc; else `ps`
    fork_server: bool  # processes forked from a small one; else started from nothing
    signal_on_hangup: bool  # the kernel kills when a pipe closes; else a thread waits for it
    tcp_info: bool  # whether a peer has closed a connection
    boot_clock: bool  # a clock that runs on while the machine is suspended; else the monotonic clock, which may stop


NOTHING = Platform(*[False] * len(Platform._fields))


def platform() -> Platform:
    """Features of this system that may be used; the environment can leave them out."""
    return _platform(os.environ.get(VARIABLE) or AUTO)


@cache
def _platform(wanted: str) -> Platform:
    if wanted == PLAIN:
        return NOTHING
    if wanted != AUTO:
        raise SettingsError(f"{VARIABLE}: {wanted!r} is none of {AUTO}, {PLAIN}; unset it, or give one of them.")
    is_linux = sys.platform == "linux"
    return Platform(
        inotify=is_linux,
        folder_events=True,
        flock=find_spec("fcntl") is not None,
        open_file_locks=is_linux and _has_open_file_locks(),  # elsewhere `struct flock` has another layout
        proc=is_linux and Path("/proc/self/stat").exists(),
        fork_server=is_linux,
        signal_on_hangup=is_linux,
        tcp_info=hasattr(socket, "TCP_INFO"),
        boot_clock=_boot_clock_id() is not None,
    )


def boot_clock() -> Callable[[], float]:
    """Seconds of a monotonic clock that runs on while the machine is suspended, where the system has one."""
    clock_id = _boot_clock_id() if platform().boot_clock else None
    return time.monotonic if clock_id is None else partial(time.clock_gettime, clock_id)


def _boot_clock_id() -> int | None:
    # On macOS `time.monotonic` stops during sleep, and CLOCK_MONOTONIC does not. On Windows `time.monotonic` runs on.
    return getattr(time, {"linux": "CLOCK_BOOTTIME", "darwin": "CLOCK_MONOTONIC"}.get(sys.platform, ""), None)


def _has_open_file_locks() -> bool:
    if find_spec("fcntl") is None:
        return False
    import fcntl

    return hasattr(fcntl, "F_OFD_SETLK")


def process_context(preload: Sequence[str]) -> BaseContext:
    """How processes are started: forked from a small one that has loaded these modules, or else from nothing.

    Never a plain fork: the locks of threads, and connections, must not be in two processes.
    """
    import multiprocessing

    if not platform().fork_server:
        return multiprocessing.get_context("spawn")
    if sys.version_info < (3, 11, 1):
        import multiprocessing.util

        # It listens on an abstract socket, where any user of the machine could have it run code (CVE-2022-42919).
        multiprocessing.util.abstract_sockets_supported = False  # type: ignore[misc]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    return context
