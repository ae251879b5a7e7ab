"""The command line called within this process, in a folder of its own: quick, and without leaving anything loaded."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.command_line import Answer
from workbell import Workbell
from workbell.cli import main
from workbell.settings import Settings
from workbell.stores.port import Store


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
        try:
            code = main.run()
        finally:
            self._unload()
        told = self._capsys.readouterr()
        return Answer(code, told.out, told.err)

    def _unload(self) -> None:
        """As if the process had ended: the next call loads the user's code anew."""
        os.environ.pop("WORKBELL_URL", None)  # set for an app by --url
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
def bell(sql_store: Store) -> Iterator[Workbell]:
    """A store of each SQL engine with the job `send`."""
    made = Workbell(store=sql_store, settings=Settings())

    @made.job
    def send(to: str) -> None: ...

    yield made
    made.runtime.close()
