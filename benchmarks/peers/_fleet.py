"""Workbell's own supervisor with worker processes, in place of one `bell.run()` for each."""

import os
import sys
from pathlib import Path


def supervise(app: str, processes: int) -> None:
    """Become `workbell worker --processes N`; the children load the module that the harness loads."""
    here = Path(__file__).resolve().parent
    os.environ["PYTHONPATH"] = os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])
    os.environ["WORKBELL_LOG_LEVEL"] = "warning"
    command = ["-m", "workbell", "worker", "--app", f"{app}:bell", "--processes", str(processes)]
    os.execv(sys.executable, [sys.executable, *command])
