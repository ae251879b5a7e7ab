"""The command line called within this process, in a folder of its own: quick, and without leaving anything loaded."""

from __future__ import annotations

import fcntl
import logging
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.command_line import Answer, command, environment
from tests.support.command_scene import APP, TOML, Scene, fill
from tests.support.inside.cli import main
from tests.support.inside.stores import Store
from tests.support.inside.values import Settings
from workbell import Workbell


class Folder:
    """A user's folder, and the command called in it."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.path = path
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def call(self, *arguments: str, typed: str = "") -> Answer:
        self._monkeypatch.setattr(sys, "argv", ["workbell", *arguments])
        self._monkeypatch.setattr(sys, "stdin", StringIO(typed))
        self._capsys.readouterr()
        tenant = os.environ.get("WORKBELL_TENANT")
        try:
            code = main.run()
        finally:
            self._unload(tenant)
        told = self._capsys.readouterr()
        return Answer(code, told.out, told.err)

    def _unload(self, tenant: str | None) -> None:
        """As if the process had ended: the next call loads the user's code anew."""
        os.environ.pop("WORKBELL_URL", None)  # set for an app by --url
        os.environ.pop("WORKBELL_TENANT", None)  # and by --tenant
        if tenant is not None:
            os.environ["WORKBELL_TENANT"] = tenant
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(self.path)):
                del sys.modules[name]

    def ask(self, *arguments: str) -> Any:
        """What a command says with --json."""
        answer = self.call(*arguments, "--json")
        assert answer.code == 0, answer
        return msgspec.json.decode(answer.out)

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Folder]:
    for name in [name for name in os.environ if name.startswith(("WORKBELL_", "NO_COLOR", "COLUMNS"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    level = logging.getLogger("workbell").level
    yield Folder(tmp_path, monkeypatch, capsys)
    logging.getLogger("workbell").setLevel(level)


@pytest.fixture
def scene(folder: Folder) -> Scene:
    """A project with an app, and the same things in two tenants; their ids by tenant."""
    folder.write("workbell.toml", TOML)
    folder.write("shop.py", APP)
    return {tenant: fill(tenant) for tenant in ("default", "acme")}


@pytest.fixture
def bell(sql_store: Store) -> Iterator[Workbell]:
    """A store of each SQL engine with the job `send`."""
    made = Workbell(store=sql_store, settings=Settings())

    @made.job
    def send(to: str) -> None: ...

    yield made
    made.runtime.close()


def on_terminal(folder: Folder, *arguments: str, width: int = 80) -> tuple[subprocess.Popen[bytes], int]:
    """A command on a terminal of its own; its other end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    extra = {"TERM": "xterm", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    started = subprocess.Popen(
        command(*arguments), cwd=folder.path, env=environment(**extra), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    return started, ours


def lines_on_terminal(folder: Folder, *arguments: str, width: int = 80) -> list[str]:
    """The lines that a command prints on a terminal, without their colours."""
    started, end = on_terminal(folder, *arguments, width=width)
    seen = b""
    try:
        while part := _read(end):
            seen += part
        assert started.wait(30) == 0
    finally:
        started.kill()
        started.wait(30)
        os.close(end)
    return re.sub(r"\x1b\[[0-9;]*m", "", seen.decode()).splitlines()


def _read(end: int) -> bytes:
    try:
        return os.read(end, 4096)
    except OSError:  # the other end is closed
        return b""
