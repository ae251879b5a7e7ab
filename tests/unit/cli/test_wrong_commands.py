"""A command that does not exist: the nearest ones are named, in every group."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from workbell.cli.main import workbell


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["job"], "Did you mean 'jobs'?"),
        (["jobs", "lst"], "Did you mean 'list'?"),
        (["workr"], "Did you mean 'worker' or 'workers'?"),
        (["schedules", "delete"], "The commands are list, show, add,"),
        (["nonsense"], "The commands are init, dev, start,"),
    ],
)
def test_what_is_near(typed: list[str], hint: str) -> None:
    answer = CliRunner().invoke(workbell, typed, prog_name="workbell")
    assert answer.exit_code == 2
    assert f"No such command {typed[-1]!r}. {hint}" in " ".join(answer.output.split())
