"""Identity and state of processes: names that other processes can check later, title, memory, time zone."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext


def process_name() -> str:
    """Name of this process (host, pid, start time), by which other processes check whether it lives."""
    return f"{socket.gethostname()}/{os.getpid()}/{_own_start()}"


@cache
def _own_start() -> str:
    """Read once: every run with options carries the name of the process that made it, and the read takes 30 µs."""
    return process_start(os.getpid())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_own_start.cache_clear)


def process_start(pid: int) -> str:
    """Start time of a process in the kernel's clock ticks; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""


STOPPED = frozenset("Tt")  # states of a stopped process


def process_state(pid: int) -> str:
    """State of a process as the kernel's letter (T: stopped, t: stopped by a debugger); empty if it is hidden."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def process_title(pid: int) -> str:
    """Process title, as `ps` and `top` show it; not the arguments, which may hold secrets. Empty if it is hidden."""
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def is_gone(name: str) -> bool:
    """Whether the process of this name (see `process_name`) was on this machine and has ended.

    Containers may share a host name and not see each other's processes. Then the answer is wrong, so act on it
    only with another sign.
    """
    host, _, rest = name.partition("/")
    pid, _, rest = rest.partition("/")
    started = rest.partition("/")[0]
    if host != socket.gethostname() or not pid.isdecimal() or not started.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False  # another user's, and it may be hidden from us in /proc
    return process_start(int(pid)) not in ("", started)


def is_running(pid: int) -> bool:
    """Whether a process lives and is not stopped; without /proc, whether it lives."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    except OSError:
        return False
    else:
        return state not in "TtZXx"
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def memory_in_use() -> int:
    """Resident memory of this process in bytes; 0 without /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def name_process(name: str) -> None:
    """Set the process title for `ps` and `top`, 15 characters at most."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name[:15])


def program_name() -> str:
    """Name of the main script, the default for the project's name."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(main).stem if main else "interactive"


def timezone_name() -> str:
    """IANA name of the machine's time zone; UTC if it has none."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if named and "/" in named and not named.startswith("/"):
        return named
    try:
        target = str(Path("/etc/localtime").resolve(strict=True))
    except OSError:
        return "UTC"
    _, found, name = target.partition("zoneinfo/")
    return name.removeprefix("posix/") if found and name not in ("Etc/UTC", "UTC", "Universal") else "UTC"


def forkserver_context() -> ForkServerContext:
    """Processes by Python's fork server, whose socket only this user reaches.

    Python 3.11.0 listens on an abstract socket, where any user of the machine could have it run code (CVE-2022-42919).
    """
    import multiprocessing.util

    if sys.version_info < (3, 11, 1):
        multiprocessing.util.abstract_sockets_supported = False  # type: ignore[misc]
    return multiprocessing.get_context("forkserver")
