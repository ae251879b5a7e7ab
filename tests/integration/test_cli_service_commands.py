"""`--service` for every command: each works over a service without a database, or refuses it with a sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.cli import LazyGroup, is_capable
from tests.support.inside.cli import workbell_command as workbell

NOBODY = "http://127.0.0.1:1"  # a port at which nothing listens
ID = "0190a0b0-c0d0-7000-8000-000000000000"

# Arguments of each command that works over a service, without the options that make no difference here.
ARGUMENTS = {
    "agents disable": ["box"],
    "agents enable": ["box"],
    "agents label": ["box", "gpu"],
    "agents list": [],
    "agents pair": [],
    "agents remove": ["box", "--yes"],
    "agents show": ["box"],
    "audit": [],
    "consume": [],
    "dispatch": [],
    "doctor": [],
    "events emit": ["posts.created"],
    "events list": [],
    "events match": ["posts.created"],
    "events show": [ID],
    "events tail": [],
    "jobs disable": ["greet"],
    "jobs enable": ["greet"],
    "jobs list": [],
    "jobs pause": ["greet"],
    "jobs put": ["greet", "--handler", "send"],
    "jobs remove": ["greet", "--yes"],
    "jobs resume": ["greet"],
    "jobs run": ["greet"],
    "jobs runs": ["greet"],
    "jobs show": ["greet"],
    "jobs update": ["greet", "--timeout", "9s"],
    "queues list": [],
    "queues pause": ["mails"],
    "queues resume": ["mails"],
    "runs cancel": [ID],
    "runs list": [],
    "runs logs": [ID],
    "runs retry": [ID],
    "runs show": [ID],
    "runs watch": [ID],
    "runs why": [ID],
    "schedules add": ["nightly", "--job", "send", "--every", "60"],
    "schedules list": [],
    "schedules pause": ["nightly"],
    "schedules preview": ["nightly"],
    "schedules remove": ["nightly", "--yes"],
    "schedules resume": ["nightly"],
    "schedules run": ["nightly"],
    "schedules show": ["nightly"],
    "schedules ticks": ["nightly"],
    "schedules update": ["nightly", "--every", "60"],
    "tenants list": [],
    "tenants remove": ["acme", "--yes"],
    "tenants set": ["acme", "--weight", "2"],
    "tenants show": ["acme"],
    "tokens create": [],
    "tokens list": [],
    "tokens revoke": [ID],
    "triggers add": ["mails", "--pattern", "posts.*", "--job", "send"],
    "triggers disable": ["mails"],
    "triggers enable": ["mails"],
    "triggers list": [],
    "triggers remove": ["mails", "--yes"],
    "triggers show": ["mails"],
    "triggers update": ["mails", "--pattern", "posts.*"],
    "webhooks add": ["https://shop.example.com/hook", "--pattern", "posts.*"],
    "webhooks deliveries": [ID],
    "webhooks disable": [ID],
    "webhooks enable": [ID],
    "webhooks list": [],
    "webhooks remove": [ID, "--yes"],
    "webhooks replay": [ID, "--since", "1h"],
    "webhooks rotate": [ID],
    "webhooks show": [ID],
    "webhooks test": [ID],
    "webhooks update": [ID, "--pattern", "posts.*"],
    "workers drain": ["box:1:abcdef"],
    "workers list": [],
    "workers resume": ["box:1:abcdef"],
    "workers rewinds": [],
}


def commands(group: LazyGroup = workbell, path: str = "") -> Iterator[tuple[str, click.Command]]:  # type: ignore[assignment]
    """Every command with the words that call it. A group that is no list of commands decides for all of them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, LazyGroup):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


GROUPS = {path for path, command in commands() if isinstance(command, click.Group)}
CAPABLE = [path for path, command in commands() if is_capable(command)]
LOCAL = [path for path, command in commands() if not is_capable(command)]


def test_every_command_has_decided() -> None:
    assert sorted(ARGUMENTS) == sorted(CAPABLE)
    assert sorted(LOCAL) == sorted(
        [
            *("agent", "backup", "bridge", "check", "copy", "dev", "import", "init", "migrate", "probe"),
            *("restore", "server", "start", "tokens url", "webhooks new-key", "webhooks seal", "worker"),
        ]
    )


@pytest.mark.parametrize("path", CAPABLE)
def test_over_a_service_no_database_is_touched(path: str, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers at that URL, and so every command ends with the same error."""
    monkeypatch.setattr("workbell.remote.tries.FIRST_PAUSE", 0)
    monkeypatch.setattr("workbell.cli.bell.open_store", None)
    command, service = [*path.split(), *ARGUMENTS[path]], ["--service", NOBODY]
    for arguments in ([*service, *command], [*command, *service]):
        answer = folder.call(*arguments)
        assert answer.code == 69, answer
        said = answer.error.splitlines()[-1]
        assert said.startswith(f"workbell: {NOBODY}: no connection"), answer.error
        assert "is the service running there" in said
        assert answer.out == ""
        assert [*folder.path.iterdir()] == []


@pytest.mark.parametrize("path", CAPABLE)
def test_a_database_beside_a_service_is_refused(path: str, folder: Folder) -> None:
    answer = folder.call("--service", NOBODY, *path.split(), *ARGUMENTS[path], "--url", "sqlite:///own.db")
    assert answer.code == 2, answer
    assert "--url names a database, and --service a service in its stead; give one of them." in answer.error
    assert (
        "--app names a database"
        in folder.call("--service", NOBODY, *path.split(), *ARGUMENTS[path], "--app", "a:b").error
    )


@pytest.mark.parametrize("path", LOCAL)
def test_what_needs_the_database_refuses_a_service(path: str, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = folder.call("--service", NOBODY, *path.split())
    assert answer.code == 2, answer
    refused = f"`workbell {path}` does not work over a service"
    where = "and call it where the project or its database is."
    assert f"{refused}: leave out --service, {where}" in answer.error
    if path not in GROUPS:
        assert f"{refused}: leave out --service, {where}" in folder.call(*path.split(), "--service", NOBODY).error
    assert folder.call("--service", NOBODY, *path.split(), "--help").code == 0
    monkeypatch.setenv("WORKBELL_SERVICE", NOBODY)
    assert f"{refused}: unset WORKBELL_SERVICE, {where}" in folder.call(*path.split()).error
    assert [*folder.path.iterdir()] == []


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_service_that_is_named_counts_more_than_the_environment(
    side: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbell.remote.tries.FIRST_PAUSE", 0)
    monkeypatch.setenv("WORKBELL_SERVICE", "http://127.0.0.1:2")
    words = ["runs", "list"]
    words[0 if side == "before" else 2 : 0] = ["--service", NOBODY]
    assert_refused(folder.call(*words), 69, f"{NOBODY}: no connection")


def test_services_on_both_sides(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbell.remote.tries.FIRST_PAUSE", 0)
    same = folder.call("--service", NOBODY, "runs", "list", "--service", NOBODY)
    assert_refused(same, 69, f"{NOBODY}: no connection")
    other = folder.call("--service", "https://ada:secret@a.example", "runs", "list", "--service", NOBODY)
    assert other.code == 2, other
    said = f"--service names https://ada:…@a.example before the command and {NOBODY} after it; give one of them."
    assert said in other.error


def test_a_database_that_is_named_counts_more_than_the_environment(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBELL_SERVICE", NOBODY)
    answer = folder.call("runs", "list", "--url", "sqlite:///own.db")
    assert answer.code == 0
    assert "The store is sqlite:///own.db" in answer.out


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("workbell.example.com", "names no service"),
        ("http://workbell.example.com", "use https://."),
        ("https://ada:secret@workbell.example.com", "give the token in WORKBELL_TOKEN"),
    ],
)
def test_a_url_that_cannot_be_used(url: str, words: str, folder: Folder) -> None:
    answer = folder.call("--service", url, "runs", "list")
    assert_refused(answer, 78, words)
    assert "secret" not in answer.error


def test_a_token_that_cannot_be_used(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBELL_TOKEN", "wb_se cret")
    answer = folder.call("--service", NOBODY, "runs", "list")
    assert_refused(answer, 78, "The token cannot be used")
    assert "cret" not in answer.error


def test_without_httpx2_it_is_said_what_to_install(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "workbell.remote.pool", raising=False)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    assert_refused(folder.call("--service", NOBODY, "runs", "list"), 78, "pip install 'workbell[client]'")


def test_a_project_with_broken_code_does_not_matter(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbell.remote.tries.FIRST_PAUSE", 0)
    folder.write("workbell.toml", 'app = "shop:bell"\n')
    folder.write("shop.py", "raise RuntimeError\n")
    assert_refused(folder.call("--service", NOBODY, "jobs", "run", "send"), 69, "is the service running there")
