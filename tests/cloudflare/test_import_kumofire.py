"""Kumofire Jobs in a D1 database, imported through the bridge by named queries alone (D10)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cloudflare.miniflare import TOKEN, Miniflare
from tests.support.command_line import assert_refused, call
from tests.support.imported import assert_imported, work_off
from tests.support.kumofire import content, run, schema
from tests.support.warm import SOURCE
from workbell import Workbell
from workbell.settings import Settings

FOUND = {"jobs": 2, "schedules": 3, "waiting runs": 6, "finished runs": 3, "keys": 2}
ENVIRONMENT = {"PYTHONPATH": str(SOURCE), "WORKBELL_D1_TOKEN": TOKEN}


@pytest.mark.parametrize("same", [False, True])
def test_from_d1(same: bool, miniflare: Miniflare, tmp_path: Path) -> None:
    """Into a file here, or into tables of ours beside Kumofire's; a bridge that takes no searches is enough."""
    source, now = miniflare.url(empty=True), datetime.now(UTC)
    miniflare.execute(source, [*schema(), *content(now)])
    miniflare.fault(source, every=1 << 40, env={"SEARCH": "off"})
    target = source if same else f"sqlite:///{tmp_path}/new.db"
    for imported in (FOUND, dict.fromkeys(FOUND, 0)):
        answer = call(tmp_path, "import", "kumofire", "--from", source, "--to", target, "--json", **ENVIRONMENT)
        assert (answer.code, answer.error) == (0, ""), answer
        assert json.loads(answer.out)["imported"] == imported
    miniflare.fault(source, every=1 << 40)
    with Workbell(settings=Settings(url=target, poll=0.2)) as bell:
        assert_imported(bell, now)
        work_off(bell, now)


def test_pages(miniflare: Miniflare, tmp_path: Path) -> None:
    """More runs than one read brings, and none of it twice."""
    source = miniflare.url(empty=True)
    miniflare.execute(source, [*schema(), *content(datetime.now(UTC))])
    for start in range(0, 500, 50):
        miniflare.execute(
            source, [run(20 + number // 256, "queued", id=_id(number)) for number in range(start, start + 50)]
        )
    answer = call(tmp_path, "import", "kumofire", "--from", source, "--to", "sqlite:///new.db", "--json", **ENVIRONMENT)
    assert json.loads(answer.out)["imported"] == FOUND | {"waiting runs": 506}, answer


def _id(number: int) -> str:
    return f"{number * 7919 % 65536:04x}0000-0000-4000-9000-{number:012x}"


def test_a_database_without_it(miniflare: Miniflare, tmp_path: Path) -> None:
    """Nothing of ours is made in a database that is only read."""
    source = miniflare.url(empty=True)
    arguments = ("import", "kumofire", "--from", source, "--to", "sqlite:///new.db")
    assert_refused(call(tmp_path, *arguments, **ENVIRONMENT), 1, "there are no tables of Kumofire")
    miniflare.execute(source, [("CREATE TABLE workbell_meta (name)", [])])  # fails if it is there
    assert not (tmp_path / "new.db").exists()
