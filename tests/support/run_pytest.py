"""A test run of an application, with our plugin as pytest loads it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support import warm


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests in a folder; the temporary files of that run are in `temporary` there."""
    plugin = ["-p", "workbell.testing.plugin", "-p", "no:cacheprovider"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WORKBELL_", "PYTEST_"))}
    # The entry point, if the package is installed, would name the same module a second time.
    environment = kept | {"PYTHONPATH": str(warm.SOURCE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    arguments = ["-q", *plugin, "--basetemp", str(folder / "temporary"), *options]
    return warm.run("pytest", *arguments, folder=folder, environment=environment)
