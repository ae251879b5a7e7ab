"""What this process and this machine are called: names that others can recognise later."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path


def process_name() -> str:
    """Which process this is, so that one that was started later can tell whether it still lives."""
    return f"{socket.gethostname()}/{os.getpid()}/{process_start(os.getpid())}"


def process_start(pid: int) -> str:
    """When a process started, in the kernel's own measure; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except OSError:
        return ""


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
