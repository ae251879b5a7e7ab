"""The command `workbell`, for tests: it does not outlive them, and neither do its children."""

from __future__ import annotations

from workbell.cli.main import main

from .worker_app import die_with_parent

if __name__ == "__main__":
    die_with_parent()
    main()
