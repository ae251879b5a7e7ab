"""The end of a process whose worker is gone: where the kernel does not help, it kills what it started by itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.processes import state
from tests.support.waiting import until

PROGRAM = """
import multiprocessing, os, subprocess, sys
from workbell.engine.handler_processes.orphan_exit import end_with

os.setsid()
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL)
ours, workers = multiprocessing.Pipe()
if sys.argv[1] == "gone":
    workers.close()
print(other.pid, flush=True)
end_with(ours)
"""


def is_alive(pid: int) -> bool:
    try:
        return state(pid) not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("worker", ["gone", "there"])
def test_without_help_of_the_kernel(worker: str) -> None:
    environment = os.environ | {"WORKBELL_PLATFORM": "plain"}
    ended = subprocess.run([sys.executable, "-c", PROGRAM, worker], env=environment, stdout=subprocess.PIPE, timeout=60)
    other = int(ended.stdout)
    if worker == "gone":
        until(lambda: not is_alive(other), "what it started to be killed")
    else:  # the worker buries it, with all of its group
        assert ended.returncode == 0
        assert is_alive(other)
        os.kill(other, 9)
