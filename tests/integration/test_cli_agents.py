"""`workbell agents`, and what tokens and the doctor say of agents (E7)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta

import msgspec
import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.cli import examine
from tests.support.inside.features import is_token
from tests.support.inside.remote import AgentConfig, AgentFolder
from tests.support.inside.remote import agent_start as start
from tests.support.inside.values import AGENT_LOST_AFTER as LOST_AFTER
from tests.support.inside.values import Agent, Token, TokenKind, shown_name
from workbell import Workbell


@pytest.fixture
def bell(folder: Folder) -> Iterator[Workbell]:
    folder.write("workbell.toml", 'url = "sqlite:///own.db"\n')
    with Workbell() as bell:
        yield bell


def paired(bell: Workbell, name: str = "web-1", *labels: str) -> Agent:
    return bell.agents.pair(bell.agents.pairing(name, labels=labels).text, host="there", version="1.2").agent


def test_the_token_alone_is_what_a_pipe_gets(folder: Folder, bell: Workbell) -> None:
    made = folder.call("agents", "pair", "--name", "web-1", "--label", "gpu", "--at", "https://bell.example.com")
    text = made.out.removesuffix("\n")
    assert is_token(text)
    assert "Pairing of web-1 (gpu), to be used once, until" in made.error
    assert "\n    workbell agent pair --url https://bell.example.com\n" in made.error
    assert "moves" not in made.error
    assert text not in made.error + folder.call("audit", "--json").out
    agent = bell.agents.pair(text).agent
    assert (agent.name, agent.labels) == ("web-1", ("gpu",))
    again = folder.call("agents", "pair", "--name", "web-1")
    assert "The agent web-1 exists: it moves there" in again.error
    quiet = folder.call("agents", "pair", "--quiet")
    assert is_token(quiet.out.removesuffix("\n"))
    assert quiet.error == ""


def test_the_command_to_pair_has_the_public_url(
    folder: Folder, bell: Workbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBELL_HTTP_PUBLIC_URL", "https://jobs.example.com")
    made = folder.call("agents", "pair", "--name", "web-1")
    assert "\n    workbell agent pair --url https://jobs.example.com\nIt asks for the token" in made.error


def test_pairing_for_programs(folder: Folder, bell: Workbell) -> None:
    told = folder.ask("agents", "pair", "--label", "b", "--label", "a", "--expires", "2h", "--tenant", "acme")
    token = bell.tokens.get(told["id"], tenant="acme")
    assert token.expires_at == token.created_at + timedelta(hours=2)
    assert (told["name"], told["labels"]) == (None, ["a", "b"])
    assert told["command"].endswith(" --name NAME")
    assert bell.agents.pair(told["token"], name="db-1").agent.tenant == "acme"
    assert_refused(folder.call("agents", "pair", "--expires", "10s"), 1, "expires", "1 minute")
    assert_refused(folder.call("agents", "pair", "--name", "a/b"), 1, "a/b")


def test_look(folder: Folder, bell: Workbell) -> None:
    assert "`workbell agents pair` lets a machine" in folder.call("agents", "list").out
    agent = paired(bell, "web-1", "gpu")
    paired(bell, "db-1")
    bell.agents.disable("db-1")
    bell.store.agents.put(
        msgspec.structs.replace(paired(bell, "old"), seen_at=agent.created_at - LOST_AFTER, jobs=("backup", "tidy"))
    )
    for _ in range(2):
        bell.enqueue("backup", {}, target="label:gpu")
    assert [one["name"] for one in folder.ask("agents", "list")] == ["db-1", "old", "web-1"]
    disabled, lost, alive = folder.call("agents", "list").out.splitlines()[1:]
    assert "db-1 (disabled)" in disabled
    assert "old (lost)" in lost
    assert "backup, tidy" in lost
    for part in ("web-1 ", "gpu", "there", "1.2", "not reported yet"):
        assert part in alive
    shown = folder.ask("agents", "show", "web-1")
    assert (shown["id"], shown["alive"], shown["queued"], shown["running"]) == (agent.id, True, 2, 0)
    said = folder.call("agents", "show", agent.id).out
    assert "2 queued and 0 running are aimed at web-1, label:gpu" in said
    assert_refused(folder.call("agents", "show", "nobody"), 4, "'nobody'")


def test_change(folder: Folder, bell: Workbell) -> None:
    paired(bell)
    assert folder.call("agents", "label", "web-1", "ssd", "gpu").out == (
        "web-1 takes runs that target label:gpu, label:ssd.\n"
    )
    assert bell.agents.get("web-1").labels == ("gpu", "ssd")
    assert folder.call("agents", "label", "web-1").code == 2
    assert bell.agents.get("web-1").labels == ("gpu", "ssd")
    assert folder.ask("agents", "label", "web-1", "--none")["labels"] == []
    assert "`workbell agents enable web-1` lets it go on" in folder.call("agents", "disable", "web-1").out
    assert not bell.agents.get("web-1").enabled
    assert folder.ask("agents", "enable", "web-1")["enabled"] is True
    assert folder.call("agents", "remove", "web-1", typed="n\n").code == 130
    assert folder.call("agents", "remove", "web-1", "--yes").out == "web-1 is removed, and its token is revoked.\n"
    assert_refused(folder.call("agents", "remove", "web-1", "--yes"), 4, "'web-1'")
    told = [(one["action"], one["subject"], one["detail"]) for one in reversed(folder.ask("audit"))]
    assert told == [
        ("agents.change", "web-1", {"labels": ["gpu", "ssd"]}),
        ("agents.change", "web-1", {"labels": []}),
        ("agents.change", "web-1", {"enabled": False}),
        ("agents.change", "web-1", {"enabled": True}),
        ("agents.delete", "web-1", None),
    ]


def test_a_pairing_among_the_tokens(folder: Folder, bell: Workbell) -> None:
    token, text = bell.agents.pairing("web-1", labels=["gpu"])
    listed = folder.call("tokens", "list").out
    assert "pairing of web-1 (gpu)" in listed
    assert "{" not in listed
    assert folder.ask("tokens", "list")[0]["name"] == "pairing of web-1 (gpu)"
    bell.agents.pair(text)
    assert "used or revoked" in folder.call("tokens", "list", "--all").out
    assert folder.call("tokens", "revoke", token.id).out == (
        f"Token {token.id} (pairing of web-1 (gpu)) was already revoked.\n"
    )
    assert "{" not in folder.call("audit").out
    now = token.created_at
    assert shown_name(Token(id="x", hash="x", created_at=now, kind=TokenKind.PAIRING, name="{}")) == (
        "pairing of a new agent"
    )
    assert shown_name(Token(id="x", hash="x", created_at=now, kind=TokenKind.PAIRING, name="?")) == "pairing"


def test_the_doctor_sees_what_no_agent_takes(folder: Folder, bell: Workbell) -> None:
    def unserved() -> list[str]:
        return [
            one.text for one in examine(bell.settings.url).findings if (one.level, one.what) == ("risk", "unserved")
        ]

    agent = paired(bell)
    bell.enqueue("backup", {}, target="web-1")
    assert unserved() == []
    findings = examine(bell.settings.url).findings
    assert [one.text for one in findings if one.what == "agents"] == ["1 alive"]
    bell.store.agents.put(msgspec.structs.replace(agent, seen_at=agent.created_at - timedelta(hours=1)))
    bell.enqueue("backup", {}, target="label:gpu", tenant="acme")
    first, second = unserved()
    assert first.startswith(
        "target web-1, job backup: 1 queued run, and no agent takes them. No agent 'web-1' has polled"
    )
    assert second.startswith("target label:gpu, job backup, tenant acme: 1 queued run, ")
    assert "There is no agent with the label 'gpu'; pair one: `workbell agents pair`." in second


def test_an_agent_needs_its_package(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    for arguments in (["agent"], ["agent", "pair", "--url", "http://127.0.0.1:1"]):
        assert_refused(folder.call(*arguments), 78, "httpx2", "pip install 'workbell[agent]'")


def test_what_an_agent_refuses(folder: Folder) -> None:
    assert_refused(folder.call("agent"), 78, "workbell agent pair")
    asked = folder.call("agent", "pair", "--url", "http://example.com", typed="x\n")
    assert_refused(asked, 78, "use https://", "insecure = true in agent.toml")
    folder.write("agent.toml", 'url = "http://127.0.0.1:1"\n[commands.show]\ncommand = ["/usr/bin/true"]\n')
    folder.write("agent.token", "wb_x").chmod(0o644)
    assert_refused(folder.call("agent"), 78, "others can read it", "chmod 600")


AGENT_TOML = 'url = "https://old.example.com/jobs"\nname = "till-1"\nlabels = ["a", "b"]\ntoken_file = "agent.token"\n'


@pytest.fixture
def pairings(monkeypatch: pytest.MonkeyPatch) -> list[AgentConfig]:
    """Configurations that were paired with; nothing is sent."""
    found: list[AgentConfig] = []

    def pair(agent_folder: AgentFolder, _text: str) -> tuple[str, str]:
        found.append(agent_folder.config)
        return agent_folder.config.name or "named-there", "wb_new"

    monkeypatch.setattr(start, "pair", pair)
    return found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--url", "https://new.example.com"], ["url", "https://old.example.com/jobs", "https://new.example.com"]),
        (["--url", "https://old.example.com"], ["url"]),
        (["--url", "https://old.example.com:8443/jobs"], ["url"]),
        (["--url", "http://127.0.0.1:1/jobs"], ["url"]),
        (["--name", "till-2"], ["name", "till-1", "till-2"]),
        (["--label", "a"], ["labels"]),
        (["--label", "a", "--label", "c"], ["labels"]),
        (["--insecure"], ["insecure"]),
        (["--url", "http://new.example.com", "--insecure"], ["url"]),
    ],
)
def test_pairing_again_refuses_what_contradicts_the_configuration(
    folder: Folder, pairings: list[AgentConfig], options: list[str], words: list[str]
) -> None:
    """The token of the new server would be sent to the old one, which the file still names."""
    config, token = folder.write("agent.toml", AGENT_TOML), folder.write("agent.token", "wb_old\n")
    told = folder.call("agent", "pair", *options, typed="x\n")
    assert_refused(told, 78, "agent.toml", "change it there", "--config", *words)
    assert pairings == []
    assert (config.read_text(), token.read_text()) == (AGENT_TOML, "wb_old\n")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--url", "https://old.example.com/jobs"],
        ["--url", "https://OLD.example.com:443/jobs/api/v1/"],
        ["--name", "till-1", "--label", "b", "--label", "a"],
    ],
)
def test_pairing_again_with_the_same_words(folder: Folder, pairings: list[AgentConfig], options: list[str]) -> None:
    config, token = folder.write("agent.toml", AGENT_TOML), folder.write("agent.token", "wb_old\n")
    told = folder.call("agent", "pair", *options, typed="x\n")
    assert told.code == 0, told.error
    assert (config.read_text(), token.read_text()) == (AGENT_TOML, "wb_new\n")
    (paired_with,) = pairings
    assert paired_with.url == "https://old.example.com/jobs"


def test_the_same_command_twice(folder: Folder, pairings: list[AgentConfig]) -> None:
    command = "agent pair --url http://box.example.com --insecure --name till-1 --label gpu".split()
    for _ in range(2):
        told = folder.call(*command, typed="x\n")
        assert told.code == 0, told.error
    assert [one.labels for one in pairings] == [("gpu",)] * 2
    assert "insecure = true" in (folder.path / "agent.toml").read_text()


def test_names_and_labels_that_the_configuration_does_not_set(folder: Folder, pairings: list[AgentConfig]) -> None:
    folder.write("agent.toml", 'url = "https://old.example.com"\n')
    assert folder.call("agent", "pair", "--name", "till-2", "--label", "gpu", typed="x\n").code == 0
    assert [(one.name, one.labels) for one in pairings] == [("till-2", ("gpu",))]


def test_each_configuration_has_a_token_file_of_its_own(folder: Folder, pairings: list[AgentConfig]) -> None:
    """Two agents of one folder, of two servers: neither server gets the token of the other."""
    folder.write("agent.toml", AGENT_TOML)
    token = folder.write("agent.token", "wb_old\n")
    told = folder.call("agent", "pair", "--config", "new.toml", "--url", "https://new.example.com", typed="x\n")
    assert told.code == 0, told.error
    assert "The token is in new.token" in told.out
    assert token.read_text() == "wb_old\n"
    assert (folder.path / "new.token").read_text() == "wb_new\n"
    assert 'token_file = "new.token"' in (folder.path / "new.toml").read_text()
