"""The plugin, as an application's own test run loads it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.support.run_pytest import run_pytest
from workbell import Context, Retry, Workbell
from workbell.testing import ManualClock, drain

TEST = """
from workbell.testing import assert_enqueued, drain


def test_reminders(workbell_memory, workbell_clock):
    @workbell_memory.job
    def remind(name: str) -> str:
        return name.upper()

    remind.options(delay=3600).enqueue("ada")
    assert_enqueued(workbell_memory, remind, name="ada")
    assert drain(workbell_memory) == []
    workbell_clock.advance(hours=1)
    assert [run.result for run in drain(workbell_memory)] == ["ADA"]


def test_each_test_has_its_own_store(workbell_memory, tmp_path):
    assert workbell_memory.runs() == []
    assert list(tmp_path.iterdir()) == []
"""


def test_the_fixtures_are_there(tmp_path: Path) -> None:
    (tmp_path / "test_app.py").write_text(TEST)
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    left = {path.name for path in tmp_path.iterdir()} - {"__pycache__", "temporary"}
    assert left == {"test_app.py"}  # nothing is written into the project
    assert len(list((tmp_path / "temporary").rglob("*.db"))) == 1  # the template: the stores of the tests are gone


def test_transactional_code(workbell_memory: Workbell, workbell_clock: ManualClock) -> None:
    """`connection=` and the clock of the test, together."""

    @workbell_memory.job(retry=Retry(attempts=2, delay=60, jitter=0))
    def send(ctx: Context, order: int) -> int:
        if ctx.run.attempt == 1:
            raise ConnectionError
        return order

    database = sqlite3.connect(workbell_memory.store.file.path)  # type: ignore[attr-defined]
    database.execute("CREATE TABLE orders (id)")
    with database:
        database.execute("INSERT INTO orders VALUES (7)")
        send.options(connection=database).enqueue(order=7)
    database.close()
    assert drain(workbell_memory) == []
    workbell_clock.advance(minutes=1)
    assert [run.result for run in drain(workbell_memory)] == [7]


def test_the_other_name_is_the_same_workbell(workbell_memory: Workbell, workbell_sqlite: Workbell) -> None:
    assert workbell_sqlite is workbell_memory
