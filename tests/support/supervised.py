"""The command `workbell`, for tests: it does not outlive them, and neither do its children."""

from __future__ import annotations

from pathlib import Path

from workbell.cli.main import main
from workbell.process.platform import platform

from .worker_app import die_with_parent

if not platform().proc:  # children load this too: the tests find them by their titles, which Workbell cannot set there
    from workbell.workers import child

    child.name_process = lambda name: Path("/proc/self/comm").write_text(name[:15])

if __name__ == "__main__":
    die_with_parent()
    main()
