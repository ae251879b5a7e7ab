"""The page about a queue of your own, followed: its code as an installed package, found as the page says."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, all_blocks, text_of
from tests.support import warm
from tests.support.third_party import install
from tests.support.warm import SOURCE
from workbell import Workbell
from workbell.testing import drain

PAGE = text_of(DOCS / "how-to" / "own-queue.md")
SETTING, ENTRY_POINT = (block.text for block in all_blocks(PAGE) if block.language == "toml")
(CODE,) = (block.text for block in all_blocks(PAGE) if block.language == "python")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    found = re.search(r'^(\w+) = "(\w+):open_url"$', ENTRY_POINT, re.MULTILINE)
    assert found, ENTRY_POINT
    site = install(tmp_path / "site", found[2], CODE, found[1], "workbell.queues")
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    yield site
    sys.modules.pop(found[2], None)


@pytest.mark.parametrize("by_file", [True, False])
def test_it_carries_runs(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_file: bool) -> None:
    if by_file:
        Path("workbell.toml").write_text(SETTING, "utf-8")
    else:
        monkeypatch.setenv("WORKBELL_QUEUE_URL", SETTING.split('"')[1])
    bell = Workbell(f"sqlite:///{tmp_path}/workbell.db")

    @bell.job
    def add(a: int, b: int) -> int:
        return a + b

    run = add.enqueue(1, 2)
    assert run.id in str(importlib.import_module("my_queue").waiting)
    drain(bell)
    assert bell.get(run.id).result == 3


def test_it_passes_the_contract(site: Path, tmp_path: Path) -> None:
    (command,) = re.findall(r"^pytest --pyargs (\S+) --workbell-queue '(\S+)'$", PAGE, re.MULTILINE)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(SOURCE), str(site)]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    words = [
        "--pyargs",
        command[0],
        "--workbell-queue",
        command[1],
        "-p",
        "workbell.testing.plugin",
        "-p",
        "no:cacheprovider",
    ]
    done = warm.run("pytest", *words, folder=tmp_path, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.findall(r"(\d+) passed", done.stdout)[-1]) >= 5
