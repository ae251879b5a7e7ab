"""What this process and this machine are called: names that others can recognise later."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext


def process_name() -> str:
    """Which process this is, so that one that was started later can tell whether it still lives."""
    return f"{socket.gethostname()}/{os.getpid()}/{process_start(os.getpid())}"


def process_start(pid: int) -> str:
    """When a process started, in the kernel's own measure; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""


STOPPED = frozenset("Tt")  # states of a process that does not go on by itself


def process_state(pid: int) -> str:
    """The kernel's letter for what a process does (T: stopped, t: held by a debugger); empty if it does not tell."""
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

    Containers may share a name of the machine and not see each other's processes: then this is wrong, so more than this
    is needed to act upon it.
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
    """Whether a process lives and is not stopped; where the system does not tell, whether it lives."""
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
    """Bytes of memory that this process occupies; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def name_process(name: str) -> None:
    """What `ps` and `top` call this process; the system keeps 15 characters of it."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name[:15])


def program_name() -> str:
    """What was started: the name of the main script, where no project names itself."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(main).stem if main else "interactive"


def timezone_name() -> str:
    """The machine's own time zone by its name; UTC if it has none."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if named and "/" in named and not named.startswith("/"):
        return named
    try:
        place = str(Path("/etc/localtime").resolve(strict=True))
    except OSError:
        return "UTC"
    _, found, name = place.partition("zoneinfo/")
    return name.removeprefix("posix/") if found and name not in ("Etc/UTC", "UTC", "Universal") else "UTC"


def forkserver_context() -> ForkServerContext:
    """Processes by Python's fork server, whose socket only this user reaches.

    Python 3.11.0 listens on an abstract socket, where any user of the machine could have it run code (CVE-2022-42919).
    """
    import multiprocessing.util

    if sys.version_info < (3, 11, 1):
        multiprocessing.util.abstract_sockets_supported = False  # type: ignore[misc]
    return multiprocessing.get_context("forkserver")
