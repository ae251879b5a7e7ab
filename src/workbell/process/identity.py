"""Identity and state of processes: names that other processes can check later, title, memory, time zone."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from workbell.process.platform import platform

PS_DEADLINE = 5.0  # seconds


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
    """Start time of a process in the kernel's clock ticks; empty if there is no such process, or no /proc."""
    return _stat(pid, 19)


STOPPED = frozenset("Tt")  # states of a stopped process
DEAD = frozenset("ZXx")  # and of one that has ended


def process_state(pid: int) -> str:
    """State of a process as the kernel's letter (T: stopped, t: stopped by a debugger); empty if it is hidden."""
    return process_states([pid])[pid]


def process_states(pids: Sequence[int]) -> dict[int, str]:
    """States of processes, as `process_state`."""
    if platform().proc:
        return {pid: _stat(pid, 0) for pid in pids}
    found = dict.fromkeys(pids, "")
    for line in _ps("pid=,state=", pids):
        pid, _, state = line.strip().partition(" ")
        if pid.isdecimal() and int(pid) in found:
            found[int(pid)] = state.strip()[:1]
    return found


def process_title(pid: int) -> str:
    """Process title, as `ps` and `top` show it; not the arguments, which may hold secrets. Empty if it is hidden."""
    if not platform().proc:
        return next(iter(_ps("comm=", [pid])), "").strip()
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _stat(pid: int, field: int) -> str:
    """A field behind the name in the kernel's line about a process; empty if there is none."""
    if not platform().proc:
        return ""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[field]
    except OSError:
        return ""


def _ps(columns: str, pids: Sequence[int]) -> list[str]:
    """Lines of POSIX's `ps` about processes: for systems without /proc, as it is a program to start."""
    if not pids:
        return []
    import subprocess

    command = ["ps", "-o", columns, "-p", ",".join(map(str, pids))]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PS_DEADLINE)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return []
    return answer.stdout.splitlines()


def is_gone(name: str) -> bool:
    """Whether the process of this name (see `process_name`) was on this machine and has ended.

    Containers may share a host name and not see each other's processes. Then the answer is wrong, so act on it
    only with another sign. Where its start is not known, a process that has its number counts as the one of this name.
    """
    host, _, rest = name.partition("/")
    pid, _, rest = rest.partition("/")
    started = rest.partition("/")[0]
    if host != socket.gethostname() or not pid.isdecimal() or (started and not started.isdecimal()):
        return False
    if not process_exists(int(pid)):
        return True
    return bool(started) and process_start(int(pid)) not in ("", started)


def process_exists(pid: int) -> bool:
    """Whether a process has this number, also one that has ended and was not waited for."""
    if os.name != "posix":  # there 0 is no question, but Ctrl-C
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def running_of(pids: Sequence[int]) -> list[int]:
    """Those of these processes that live and are not stopped."""
    states = process_states(pids)
    # Where neither /proc nor `ps` says anything, all that can be known is whether there is one.
    return [pid for pid in pids if states[pid] not in STOPPED | DEAD and (states[pid] or _is_hidden(pid))]


def _is_hidden(pid: int) -> bool:
    return not platform().proc and process_exists(pid)


def memory_in_use() -> int:
    """Resident memory of this process in bytes; without /proc, the most that it ever was."""
    if not platform().proc:
        return _peak_memory()
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _peak_memory() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def name_process(name: str) -> None:
    """Set the process title for `ps` and `top`, 15 characters at most; without /proc it stays what it is."""
    if platform().proc:
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
