"""Lists of the command line beside rows that cannot be read: they say so, and show the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import call
from tests.support.spoilt_rows import Rows
from workbell import Event, Workbell

CUT = '{"cut'


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with something of each kind, and a broken one beside a good one."""
    url = f"sqlite:///{tmp_path}/shop.db"
    with Workbell(url) as bell:

        @bell.job
        def send() -> None: ...

        @bell.processor("note")
        def note(event: Event) -> None: ...

        run = bell.enqueue("send", delay=60, timeout=5)
        bell.enqueue("send", delay=60)
        for name in ("eu", "us"):
            bell.jobs.put(name, handler="send", retry=3)
            bell.triggers.add(name, pattern="posts.*", processor="note", tag="t")
            bell.schedules.put(name, job="send", cron="0 3 1 1 *")
    rows = Rows(url)
    rows.spoil("workbell_runs", "options", CUT, f"id = '{run.id}'")
    rows.spoil("workbell_jobs", "retry", CUT, "name = 'eu'")
    rows.spoil("workbell_triggers", "options", CUT, "name = 'eu'")
    rows.spoil("workbell_schedules", "expression", "garbage", "name = 'eu'")
    rows.close()
    return url


@pytest.mark.parametrize(
    ("noun", "column"), [("runs", "options"), ("jobs", "retry"), ("triggers", "options"), ("schedules", "expression")]
)
def test_lists_show_what_cannot_be_read(tmp_path: Path, url: str, noun: str, column: str) -> None:
    answer = call(tmp_path, noun, "list", "--url", url)
    assert (answer.code, answer.error) == (0, ""), answer
    word = "broken" if noun == "schedules" else f"unreadable: its stored `{column}` cannot be read ("
    assert sum(word in line for line in answer.out.splitlines()) == 1, answer.out
    told = json.loads(call(tmp_path, noun, "list", "--url", url, "--json").out)
    assert len(told) >= 2


def test_the_doctor_names_each_and_risks_come_first(tmp_path: Path, url: str) -> None:
    answer = call(tmp_path, "doctor", "--url", url)
    assert answer.code == 1
    for name in ("job eu: its stored `retry`", "trigger eu: its stored `options`", "eu is broken and makes no runs"):
        assert name in answer.out
    assert max(answer.out.find("✗ rows"), answer.out.find("! rows")) < answer.out.find("schema")
    lines = answer.out.splitlines()
    [at] = [number for number, line in enumerate(lines) if "job eu:" in line]
    assert lines[at + 1].strip() == "put it again, or delete it.", "the remedy has a line of its own"
