"""Imports cost what is used: which packages are loaded by what a program does first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

OWN = "workbell."
# Drivers, the web, and what draws or watches: each belongs to a part that most programs do not use.
FOREIGN = "click cryptography httpcore2 httpx2 psycopg redis rich starlette uvicorn watchfiles websockets".split()
# Ours: the half that executes, the faces, and the parts of `bell` that were not asked for.
ROOMS = "agent_program agents boot bulk cli django doctor engine_host files http job_files outgoing remote".split()
ROOMS += "testing webhooks wire workers".split()
NAMES = [*FOREIGN, *(OWN + room for room in ROOMS)]
DUTIES = [OWN + name for name in ("engine.engine", "engine.worker_half", "engine.consume_round", "engine.due_round")]

ENQUEUE = """
from workbell import Context, Retry, Workbell

bell = Workbell("sqlite:///here.db")

@bell.job(retry=Retry(3))
def greet(ctx: Context, name: str) -> str:
    return name

run = greet.enqueue("Ada")
bell.get(run.id), bell.cancel(run.id)
bell.close()
"""
HELP = """
from workbell.cli.main import run
assert run(ARGUMENTS) == 0
"""
STORES = [OWN + "app", OWN + "engine", OWN + "stores", OWN + "model"]
ASGI = """
from workbell import Workbell
Workbell("memory://").asgi()
"""
SERVERS = "gunicorn h11 httptools hypercorn uvicorn uvloop websockets wsproto".split()

WORK = """
import asyncio, sys
from workbell import Workbell

bell = Workbell("sqlite:///here.db")

@bell.job
def greet(name: str) -> str:
    return name

async def main():
    async with bell.running():
        before = set(sys.modules)
        runs = [await greet.aenqueue("Ada") for _ in range(20)]
        for run in runs:
            await bell.await_(run.id, timeout=60)
        print(sorted(name for name in sys.modules.keys() - before))

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("program", "never"),
    [
        ("import workbell", [*NAMES, *DUTIES, "asyncio", "typing", "msgspec", OWN + "app", OWN + "model"]),
        ("import workbell; dir(workbell)", [*NAMES, *DUTIES, OWN + "app"]),
        ("from workbell import Workbell", [*NAMES, *DUTIES, "asyncio", "sqlite3", OWN + "timing", OWN + "queues"]),
        (ENQUEUE, [*NAMES, *DUTIES, "asyncio", OWN + "timing", OWN + "queues"]),
        ("from workbell import Client", [*FOREIGN, *DUTIES, OWN + "app", OWN + "http", OWN + "stores.sqlite"]),
        (HELP.replace("ARGUMENTS", "['--help']"), [*FOREIGN[1:], *STORES, OWN + "http"]),
        (HELP.replace("ARGUMENTS", "['runs', '--help']"), [*FOREIGN[1:], *STORES, OWN + "http"]),
        (HELP.replace("ARGUMENTS", "['--version']"), [*FOREIGN[1:], *STORES, OWN + "http"]),
        (ASGI, [*SERVERS, "click", "httpx2", "psycopg", "rich", OWN + "engine_host", OWN + "http.server"]),
    ],
    ids=["package", "names", "Workbell", "enqueue", "Client", "help", "help-of-a-group", "version", "asgi"],
)
def test_what_is_not_used_is_not_loaded(program: str, never: list[str], tmp_path: Path) -> None:
    ending = "\nimport json, sys; print('loaded', json.dumps([*sys.modules]))"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WORKBELL_")}
    told = subprocess.run(
        [sys.executable, "-c", program + ending], cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=60
    )
    assert told.returncode == 0, told.stderr
    loaded = json.loads(told.stdout.rpartition("loaded ")[2])
    assert [name for name in loaded if any(name == one or name.startswith(f"{one}.") for one in never)] == []


def test_an_engine_loads_nothing_while_it_works(tmp_path: Path) -> None:
    """All that the way of a run needs is there when it begins: the first runs wait for no import."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WORKBELL_")}
    told = subprocess.run(
        [sys.executable, "-c", WORK], cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=60
    )
    assert (told.stdout, told.returncode) == ("[]\n", 0), told.stderr
