"""The client is loaded when it is asked for, and says what it lacks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import workbell
from workbell import MissingPackage

NOTHING_OF_THE_WEB = """
import sys, workbell
web = {"httpx2", "httpcore2", "fastapi", "starlette", "uvicorn", "pydantic", "websockets"} & set(sys.modules)
assert not web, web
assert "Client" in workbell.__all__
assert workbell.Client is workbell.Client
assert "httpx2" not in sys.modules  # not before there is one
try:
    workbell.Clients
except AttributeError as error:
    assert "Clients" in str(error)
else:
    raise AssertionError
"""


def test_importing_workbell_loads_nothing_of_the_web() -> None:
    done = subprocess.run([sys.executable, "-c", NOTHING_OF_THE_WEB], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


MOUNTED = """
import asyncio, sys
sys.modules.update(dict.fromkeys(["uvicorn", "websockets", "h11"]))  # as if they were not installed
from workbell import Workbell

app, said = Workbell("memory://").asgi(), []

async def receive():
    return {"type": "http.request"}

async def send(message):
    said.append(message)

scope = {"type": "http", "method": "GET", "path": "/healthz", "query_string": b"", "headers": []}
asyncio.run(app(scope, receive, send))
assert said[0]["status"] == 200, said
"""


def test_a_mounted_application_needs_starlette_alone() -> None:
    """The server that it is mounted in may be another one than uvicorn."""
    done = subprocess.run([sys.executable, "-c", MOUNTED], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_without_httpx2_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "workbell.remote.pool", raising=False)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingPackage, match=r"pip install 'workbell\[client\]'"):
        workbell.Client("https://bells.example.com", "wb_x")


def test_client_and_agent_share_the_one_file_that_knows_httpx2() -> None:
    package = Path(workbell.__file__).parent
    files = [file for folder in ("remote", "agent_program") for file in (package / folder).rglob("*.py")]
    knowing = [
        file for file in files if re.search(r"^\s*(?:import|from) httpx2", file.read_text("utf-8"), re.MULTILINE)
    ]
    assert knowing == [package / "remote" / "pool.py"]
