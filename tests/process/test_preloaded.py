"""What children of a worker load: nothing of Workbell that the process which they are forked from has not loaded, so
that they start at once and share its memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.command_line import command
from tests.support.processes import Site
from tests.support.waiting import until
from workbell import Workbell
from workbell.engine.handler_processes.process import PRELOADED, STORES
from workbell.process.platform import platform
from workbell.workers.child_process import PRELOAD

JOB = """import sys

on = "never.emitted"
{isolated}

def run() -> list[str]:
    return sorted(name for name in sys.modules if name.partition(".")[0] == "workbell")
"""
LOAD = """import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([*sys.modules]))
"""


def loaded_by(modules: Sequence[str]) -> set[str]:
    told = subprocess.run([sys.executable, "-c", LOAD, *modules], capture_output=True, timeout=60, check=True)
    return set(json.loads(told.stdout))


@pytest.mark.skipif(not platform().fork_server, reason="children are started from nothing")
def test_children_find_all_of_workbell_loaded(sqlite_url: str, tmp_path: Path) -> None:
    with Site(tmp_path, sqlite_url) as site, Workbell(sqlite_url) as bell:
        (site.gates / "workbell.toml").write_text('project = "modules"\n')
        jobs = site.gates / "jobs"
        jobs.mkdir()
        (jobs / "here.py").write_text(JOB.format(isolated=""))
        (jobs / "apart.py").write_text(JOB.format(isolated='isolate = "process"\n'))
        site.run_command(command("start"))
        until(lambda: {"here", "apart"} <= {job.name for job in bell.jobs.list()}, "the jobs to be declared", 60)
        here, apart = (set(bell.wait(bell.enqueue(job).id, timeout=60).result) for job in ("here", "apart"))
    assert "workbell.engine.worker_half" in here
    assert "workbell.engine.worker_half" not in apart
    assert here - loaded_by(PRELOAD) == set()
    assert apart - loaded_by([*PRELOADED, *STORES]) == set()
