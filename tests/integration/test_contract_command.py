"""The contracts of stores and queues, called by a third party on a URL: one command and no code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.folder_queue import FOLDER_QUEUE
from tests.support.third_party import DELEGATING, install, install_queue

CONTRACTS = "workbell.testing.contracts"
FORGETFUL = (
    DELEGATING.replace("SqliteStore(", "Forgetful(")
    + """

class Forgetful(SqliteStore):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.runs.find = lambda ids: {}
"""
)


def run_contract(
    folder: Path, *arguments: str, code: str = DELEGATING, contract: str = "workbell.testing.contracts.core"
) -> tuple[int, str]:
    """Exit code and output of a part of the contract, which is enough here."""
    site = install(folder / "site", code=code)
    return run_pytest(folder, site, contract, "-k", "as_it_was_made or tick or guard", *arguments)


def run_pytest(folder: Path, site: Path, *arguments: str) -> tuple[int, str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(warm.SOURCE), str(site)])}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the entry point, if installed, would name ours twice
    options = ["-p", "workbell.testing.plugin", "-p", "no:cacheprovider", "--basetemp", str(folder / "temporary")]
    done = warm.run("pytest", *options, "--pyargs", *arguments, folder=folder, environment=environment)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("url", "module"),
    [
        ("renamed+sqlite:///{new}.db", ""),
        ("renamed+sqlite:///{folder}/kept_{new}.db", ".parts"),
        ("memory://", ".core"),
    ],
)
def test_a_good_store_passes(url: str, module: str, tmp_path: Path) -> None:
    code, told = run_contract(
        tmp_path, "--workbell-store", url.replace("{folder}", str(tmp_path)), contract=CONTRACTS + module
    )
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
    assert "1 passed" in told, "only the first test found it empty"


def test_without_a_url_or_with_a_wrong_one(tmp_path: Path) -> None:
    code, told = run_contract(tmp_path, contract=CONTRACTS + ".database")
    assert code == 4, told
    assert "--workbell-store URL" in told
    (tmp_path / "other").mkdir()
    code, told = run_contract(tmp_path / "other", "--workbell-store", "nowhere://me:secret@host")
    assert code == 4, told
    assert "'nowhere' names no store" in told
    assert "secret@" not in told


QUEUES = "workbell.testing.contracts.queue_of_url"
GREEDY = FOLDER_QUEUE.replace("len(found) == most or", "")


def test_a_good_queue_passes(tmp_path: Path) -> None:
    site = install_queue(tmp_path / "site")
    code, told = run_pytest(tmp_path, site, QUEUES, "--workbell-queue", "folder://{new}")
    assert code == 0, told
    assert "passed" in told
    assert "skipped" not in told


def test_a_bad_queue_fails(tmp_path: Path) -> None:
    site = install_queue(tmp_path / "site", GREEDY)
    code, told = run_pytest(tmp_path, site, QUEUES, "-k", "no_more_than", "--workbell-queue", "folder://{new}")
    assert code == 1, told
    assert "test_all_that_is_sent_arrives_and_no_more_than_asked_for" in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "--workbell-queue URL"), (["--workbell-queue", "nowhere://me:secret@host"], "'nowhere' names no queue")],
)
def test_no_queue_to_test(arguments: list[str], said: str, tmp_path: Path) -> None:
    code, told = run_pytest(tmp_path, tmp_path, QUEUES, *arguments)
    assert code == 4, told
    assert said in told
    assert "secret@" not in told


def test_the_contract_of_a_database(tmp_path: Path) -> None:
    """On the database of a store that has one, and that nobody uses."""
    file = tmp_path / "live.db"
    for name, url, code, said in (
        ("good", "renamed+sqlite:///{new}.db", 0, "passed"),
        ("used", f"renamed+sqlite:///{file}", 4, f"{file} has tables; put {{new}} into the URL"),
        ("other", "memory://", 4, "memory:// is no SqlStore: it has no database to test"),
    ):
        (tmp_path / name).mkdir()
        told = run_contract(tmp_path / name, "--workbell-store", url, contract="workbell.testing.contracts.database")
        assert (told[0], said in told[1]) == (code, True), told[1]
