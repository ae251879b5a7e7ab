"""A command or an option that does not exist: the nearest ones are named, in every group."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from workbell.cli.main import run, workbell


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


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        (["schedules", "add", "x", "--payload", "{}"], "Did you mean '--input'?"),
        (["jobs", "run", "x", "--payload", "{}"], "Did you mean '--input'?"),
        (["jobs", "put", "x", "--payload", "{}"], "Did you mean '--input'?"),
        (["events", "emit", "x", "--payload", "{}"], "Did you mean the argument DATA?"),
        (["events", "list", "--payload", "{}"], ""),
    ],
)
def test_options_that_other_systems_have(typed: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(typed) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "No such option" in said
    assert said.endswith(hint)
    assert ("Did you mean" in said) is bool(hint)
