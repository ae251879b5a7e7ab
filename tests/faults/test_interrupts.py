"""Ctrl-C in a program that enqueues from several threads: real signals, at random moments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support import interrupted_app
from workbell.app import open_store

SOAK = bool(os.environ.get("WORKBELL_SOAK"))
INTERRUPTS = 2000 if SOAK else 60


def test_ctrl_c_in_an_enqueue_is_the_callers_alone(sql_store_url: str) -> None:
    """It stops nobody for ever, and what other threads were told is true: no error, and each run is there."""
    command = [sys.executable, str(Path(interrupted_app.__file__)), sql_store_url, str(INTERRUPTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + INTERRUPTS / 10, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["stuck"] == 0
    assert told["errors"] == []
    assert told["hits"] > INTERRUPTS / 10
    assert told["after"] is not None
    assert len(set(told["made"])) == len(told["made"])
    store = open_store(sql_store_url)
    try:
        assert set(store.runs.find(told["made"])) == set(told["made"])
    finally:
        store.close()
