"""The contract of a store, called by a third party on a URL: one command and no code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.third_party import DELEGATING, install
from tests.support.warm import SOURCE
from workbell.stores.opening import open_store

FORGETFUL = (
    DELEGATING.replace("SqliteStore(", "Forgetful(")
    + """

class Forgetful(SqliteStore):
    def find_runs(self, ids):
        return {}
"""
)


def run_contract(folder: Path, *arguments: str, code: str = DELEGATING) -> tuple[int, str]:
    """Exit code and output of a part of the contract, which is enough here."""
    site = install(folder / "site", code=code)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(site)])}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the entry point, if installed, would name ours twice
    command = [sys.executable, "-m", "pytest", "--pyargs", "workbell.testing.contracts", "-k", "as_it_was_made or tick"]
    command += ["-p", "workbell.testing.plugin", "-p", "no:cacheprovider", "--basetemp", str(folder / "temporary")]
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("url", ["renamed+sqlite:///{new}.db", "renamed+sqlite:///{folder}/kept_{new}.db", "memory://"])
def test_a_good_store_passes(url: str, tmp_path: Path) -> None:
    code, told = run_contract(tmp_path, "--workbell-store", url.replace("{folder}", str(tmp_path)))
    assert code == 0, told
    assert "passed" in told
    assert "skipped" not in told
    stores = list(tmp_path.rglob("*.db"))
    if "{folder}" in url:
        assert len(stores) > 1, "each test has an empty store"
    else:
        assert stores == [], "files with relative names are removed"


def test_a_bad_store_fails(tmp_path: Path) -> None:
    code, told = run_contract(tmp_path, "--workbell-store", "renamed+sqlite:///{new}.db", code=FORGETFUL)
    assert code == 1, told
    assert "FAILED" in told
    assert "test_a_run_is_found_as_it_was_made" in told


def test_a_store_with_something_in_it_is_refused(tmp_path: Path) -> None:
    """The contract must never be run on a store that somebody uses."""
    file = tmp_path / "live.db"
    code, told = run_contract(tmp_path, "--workbell-store", f"renamed+sqlite:///{file}")
    assert code == 4, told
    assert f"renamed+sqlite:///{file} is not empty; put {{new}} into the URL" in told
    with_work = open_store(f"sqlite:///{file}")
    assert sum(len(page.runs) for page in with_work.export()) <= 1, "only what the first test made"
    with_work.close()


def test_without_a_url_or_with_a_wrong_one(tmp_path: Path) -> None:
    code, told = run_contract(tmp_path)
    assert code == 4, told
    assert "--workbell-store URL" in told
    (tmp_path / "other").mkdir()
    code, told = run_contract(tmp_path / "other", "--workbell-store", "nowhere://me:secret@host")
    assert code == 4, told
    assert "'nowhere' names no store" in told
    assert "secret@" not in told
