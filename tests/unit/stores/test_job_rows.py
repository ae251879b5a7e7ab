"""Jobs as the store has them: a retry policy that cannot be read is none."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from workbell import Retry, Workbell


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (None, None),
        ('{"attempts":5}', Retry(attempts=5)),
        ("3", None),
        ('"3"', None),
        ("true", None),
        ('{"attempts":0}', None),
    ],
)
def test_a_policy_that_was_never_checked(tmp_path: Path, text: str | None, policy: Retry | None) -> None:
    path = tmp_path / "workbell.db"
    with Workbell(f"sqlite:///{path}") as bell:
        bell.job(name="send")(lambda: None)
        bell.store.check()
        bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE workbell_jobs SET retry = ?", (text,))
        (job,) = [job for job in bell.store.jobs.list(bell.tenant) if job.name == "send"]
        assert job.retry == policy
