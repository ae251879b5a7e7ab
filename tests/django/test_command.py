"""`manage.py workbell`: passes its arguments on, for one backend of TASKS."""

from __future__ import annotations

import os

import pytest
from django.core.management import CommandError, call_command

from tests.django import tasks
from workbell.django.management.commands.workbell import Command, _split


@pytest.mark.parametrize(
    ("argv", "own", "rest"),
    [
        ("runs list --json", "", "runs list --json"),
        ("--backend reports start", "--backend reports", "start"),
        ("--settings=x --backend=y --help", "--settings=x --backend=y", "--help"),
        ("start --backend z", "", "start --backend z"),
        ("", "", ""),
    ],
)
def test_options_before_the_command_are_djangos(argv: str, own: str, rest: str) -> None:
    assert _split(argv.split()) == (own.split(), rest.split())


def test_commands_work_on_the_database_of_the_backend(shared_site: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = tasks.note.enqueue("<here>")
    before = dict(os.environ)
    call_command("workbell", "runs", "list")
    assert result.id in capsys.readouterr().out
    assert dict(os.environ) == before
    with pytest.raises(CommandError):
        call_command("workbell", "runs", "show", "nothing")


def test_a_tenant_of_a_command(shared_site: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    call_command("workbell", "jobs", "pause", "tests.django.tasks.note", "--tenant", "acme")
    assert capsys.readouterr().err == "In tenant acme:\n"
    assert dict(os.environ) == before


@pytest.mark.usefixtures("memory_site")
def test_a_wrong_backend_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match=r"TASKS has no backend 'jobs'; it has default"):
        call_command("workbell", "runs", "list", backend="jobs")
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "workbell", "--backend", "jobs", "runs"])
    assert ended.value.code == 1
    assert "TASKS has no backend 'jobs'" in capsys.readouterr().err


@pytest.mark.usefixtures("memory_site")
def test_in_memory_there_is_nothing_for_a_worker(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "workbell", "consume"])
    assert ended.value.code
    assert "is in memory, where no other connection reaches it" in capsys.readouterr().err
