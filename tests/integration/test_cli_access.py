"""`workbell tokens`, `workbell tenants` and `workbell audit` (E6)."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.cli import operator
from tests.support.inside.features import is_token, new_text, process_name
from tests.support.inside.http import forget_running, note_running
from tests.support.inside.values import TokenKind
from workbell import Scope, Workbell


@pytest.fixture
def bell(folder: Folder) -> Iterator[Workbell]:
    folder.write("workbell.toml", 'url = "sqlite:///own.db"\n')
    with Workbell() as bell:
        yield bell


def test_a_token_from_its_making_to_its_end(folder: Folder, bell: Workbell) -> None:
    assert "There are no tokens; `workbell tokens create NAME`" in folder.call("tokens", "list").out
    told = folder.ask("tokens", "create", "grafana", "--scope", "read", "--scope", "enqueue", "--expires", "30d")
    text = told.pop("token")
    token = bell.tokens.check(text)
    assert token is not None
    assert (token.name, token.scopes) == ("grafana", (Scope.READ, Scope.ENQUEUE))
    assert token.expires_at == token.created_at + timedelta(days=30)
    assert token.created_by == str(operator())
    assert folder.ask("tokens", "list") == [told]
    listed = folder.call("tokens", "list").out
    for part in (token.id, "read, enqueue", "default", "ends in 30 d", "never", "grafana"):
        assert part in listed, listed
    revoked = folder.call("tokens", "revoke", token.id[-8:])
    assert revoked.out == f"Token {token.id} (grafana) is revoked.\n"
    assert bell.tokens.check(text) is None
    assert "--all shows those" in folder.call("tokens", "list").out
    assert folder.ask("tokens", "list") == []
    [again] = folder.ask("tokens", "list", "--all")
    assert again["revoked_at"] is not None
    assert "revoked" in folder.call("tokens", "list", "--all").out
    assert "was already revoked" in folder.call("tokens", "revoke", token.id).out
    for shown in (listed, str(told), str(again), folder.call("audit", "--json").out):
        assert text not in shown
        assert token.hash not in shown


def test_the_token_alone_is_what_a_pipe_gets(folder: Folder, bell: Workbell) -> None:
    made = folder.call("tokens", "create", "ci", "--scope", "operate")
    assert is_token(made.out.removesuffix("\n"))
    assert "operate for tenant default, until it is revoked" in made.error
    assert "shown this once and never again" in made.error
    quiet = folder.call("tokens", "create", "--quiet")
    assert is_token(quiet.out.removesuffix("\n"))
    assert quiet.error == ""


def test_whose_it_is(folder: Folder, bell: Workbell) -> None:
    acme = folder.ask("tokens", "create", "--tenant", "acme", "--expires", "2100-01-01T00:00:00Z")
    person = folder.ask("tokens", "create", "--user-id", "7")
    every = folder.ask("tokens", "create", "--every-tenant", "--scope", "admin")
    star = folder.ask("tokens", "create", "--tenant", "*")
    assert (acme["tenant"], acme["expires_at"], acme["scopes"]) == ("acme", "2100-01-01T00:00:00Z", ["read"])
    assert (person["tenant"], person["scopes"], person["user_id"]) == ("default", [], 7)
    assert every["tenant"] == star["tenant"] == "*"
    ids = {name: [one["id"] for one in folder.ask("tokens", "list", *of)] for name, of in LISTS.items()}
    assert ids == {
        "own": [person["id"], every["id"], star["id"]],
        "acme": [acme["id"], every["id"], star["id"]],
        "*": [every["id"], star["id"]],
    }
    assert "user 7" in folder.call("tokens", "list").out
    assert_refused(folder.call("tokens", "revoke", acme["id"]), 4, acme["id"], "tenant default")
    assert folder.ask("tokens", "revoke", every["id"])["valid"] is False
    assert folder.ask("tokens", "revoke", star["id"], "--tenant", "*")["valid"] is False


def test_an_address_for_somebody_who_may_do_less(folder: Folder, bell: Workbell) -> None:
    bell.store.check()
    told = {}
    for words in ([], ["--scope", "read", "--tenant", "acme"]):
        printed = folder.call("tokens", "url", "--at", "https://ops.example.com/", *words).out
        address, _, text = printed.removesuffix("\n").partition("/?token=")
        assert address == "https://ops.example.com"
        token = bell.tokens.redeem(text, TokenKind.LOGIN)
        assert token is not None
        told[" ".join(words)] = (token.scopes, token.tenant, token.user_id)
    assert told == {
        "": ((Scope.ADMIN,), "*", 0),
        "--scope read --tenant acme": ((Scope.READ,), "acme", None),
    }
    noted = folder.ask("audit", "--every-tenant", "-n", "1")[0]
    assert (noted["tenant"], noted["action"]) == ("acme", "tokens.url")
    assert noted["detail"] == {"scopes": ["read"], "for": "acme"}
    assert folder.call("tokens", "url", "--scope", "agent").code == 2


def test_the_address_of_the_service_that_runs(folder: Folder, bell: Workbell) -> None:
    bell.store.check()
    assert_refused(folder.call("tokens", "url"), 69, "No service runs for sqlite:///", "`workbell dev`", "--at")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        bell.store.services.put("elsewhere/1/2", "127.0.0.1:8321")  # which leads nowhere from here
        note_running(bell.store, listening)
        port = listening.getsockname()[1]
        assert folder.call("tokens", "url").out.startswith(f"http://127.0.0.1:{port}/?token=wb_")
        forget_running(bell.store)
        assert_refused(folder.call("tokens", "url"), 69, "No service runs for sqlite:///")
        note_running(bell.store, listening)
    assert_refused(folder.call("tokens", "url"), 69, "No service runs for")  # it takes no connection any more
    bell.store.services.put("elsewhere/1/2", "0.0.0.0:8321")
    assert folder.call("tokens", "url").out.startswith("http://elsewhere:8321/?token=wb_")


def test_the_address_of_the_service_behind_a_proxy(
    folder: Folder, bell: Workbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    bell.store.check()
    monkeypatch.setenv("WORKBELL_HTTP_PUBLIC_URL", "https://jobs.example.com/ops/")
    assert folder.call("tokens", "url").out.startswith("https://jobs.example.com/ops/?token=wb_")
    assert folder.call("tokens", "url", "--at", "https://other.example").out.startswith("https://other.example/?token=")


def test_a_service_that_was_killed_is_forgotten(bell: Workbell) -> None:
    bell.store.check()
    killed = f"{socket.gethostname()}/{os.getpid()}/1"  # of this pid, and it began at another time
    bell.store.services.put(killed, "127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        note_running(bell.store, listening)
    assert list(bell.store.services.list()) == [process_name()]


def test_an_address_makes_no_store(folder: Folder) -> None:
    for more in ([], ["--at", "https://ops.example.com"]):
        answer = folder.call("tokens", "url", "--url", "sqlite:///not-there.db", *more)
        assert_refused(answer, 69, "No service runs for sqlite:///not-there.db, a file that is not there yet", "--app")
    assert not (folder.path / "not-there.db").exists()


LISTS: dict[str, list[str]] = {"own": [], "acme": ["--tenant", "acme"], "*": ["--tenant", "*"]}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["create", "--scope", "root"], 2, "root"),
        (["create", "--scope", "agent", "--scope", "read"], 1, "agent"),
        (["create", "--expires", "soon"], 2, "soon"),
        (["create", "--expires", "2020-01-01T00:00:00Z"], 1, "not in the future"),
        (["create", "--expires", "2100-01-01T00:00:00"], 2, "zone"),
        (["create", "--user-id", "-1"], 2, "user-id"),
        (["revoke", "x"], 4, "workbell tokens list"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, words: str, folder: Folder, bell: Workbell) -> None:
    answer = folder.call("tokens", *arguments)
    assert answer.code == code, answer
    assert words in answer.error
    assert answer.out == ""
    assert bell.tokens.list() == []


def test_a_text_instead_of_an_id_is_not_repeated(folder: Folder, bell: Workbell) -> None:
    text = new_text()
    answer = folder.call("tokens", "revoke", text)
    assert_refused(answer, 4, "give the id of one")
    assert text not in answer.error


def test_read_commands_create_no_file(folder: Folder) -> None:
    for command in (["tokens", "list"], ["tenants", "list"], ["audit"]):
        assert folder.call(*command).code == 0
    assert list(folder.path.iterdir()) == []


def test_tenants(folder: Folder, bell: Workbell) -> None:
    assert "There are no tenants yet" in folder.call("tenants", "list").out
    made = folder.call("tenants", "set", "acme", "--weight", "3", "--concurrency", "1000", "--rate", "100/m")
    assert made.out == "Tenant acme: weight 3, 1,000 runs at once, 100/m starts.\n"
    told = folder.ask("tenants", "set", "acme", "--description", "Acme & Sons", "--no-rate")
    wanted: dict[str, Any] = {"weight": 3, "concurrency": 1000, "rate": None, "description": "Acme & Sons"}
    assert wanted.items() <= told.items()
    bell.tokens.create("x", tenant="other")
    assert [one["name"] for one in folder.ask("tenants", "list")] == ["acme", "other"]
    listed = folder.call("tenants", "list").out
    assert "Acme & Sons" in listed
    assert folder.ask("tenants", "show", "acme") == told
    assert "Acme & Sons" in folder.call("tenants", "show", "acme").out
    assert "nothing was set" in folder.call("tenants", "show", "other").out
    asked = folder.call("tenants", "remove", "acme", typed="n\n")
    assert asked.code == 130
    assert bell.tenants.get("acme").weight == 3
    assert "a weight of 1 and no limits" in folder.call("tenants", "remove", "acme", "--yes").out
    assert_refused(folder.call("tenants", "show", "acme"), 4, "acme", "workbell tenants list")
    assert_refused(folder.call("tenants", "remove", "other", "--yes"), 4, "other")


def test_lists_of_tokens_and_tenants_have_pages(folder: Folder, bell: Workbell) -> None:
    made = [bell.tokens.create(f"n{number}", tenant="*" if number == 1 else None).token for number in range(3)]
    bell.tokens.revoke(made[0].id)
    more = bell.tokens.create("n3").token
    page = folder.call("tokens", "list", "-n", "2")
    assert page.error == f"Later ones: --after {made[2].id}\n"
    assert [name for name in ("n0", "n1", "n2", "n3") if name in page.out] == ["n1", "n2"]
    assert [one["id"] for one in folder.ask("tokens", "list", "--after", made[2].id)] == [more.id]
    assert [one["id"] for one in folder.ask("tokens", "list", "--all", "-n", "1")] == [made[0].id]
    assert folder.call("tokens", "list", "--after", more.id).out == "There are no later tokens.\n"
    for name in ("a", "b b"):
        bell.tenants.put(name, weight=2)
    page = folder.call("tenants", "list", "-n", "2")
    assert page.error == "Later ones: --after 'b b'\n"
    assert [one["name"] for one in folder.ask("tenants", "list", "--after", "b b")] == ["default"]
    assert folder.call("tenants", "list", "--after", "z").out == "There are no later tenants.\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["*"], 1, "every tenant"),
        (["a", "--weight", "0"], 2, "weight"),
        (["a", "--rate", "often"], 1, "rate"),
        (["a", "--rate", "1/s", "--no-rate"], 2, "not both"),
    ],
)
def test_what_cannot_be_set(arguments: list[str], code: int, words: str, folder: Folder, bell: Workbell) -> None:
    answer = folder.call("tenants", "set", *arguments)
    assert answer.code == code, answer
    assert words in answer.error
    assert bell.tenants.list() == []
    assert bell.audit.list(tenant="*") == []


def test_what_was_done_is_noted(folder: Folder, bell: Workbell) -> None:
    assert "There are no audit entries yet." in folder.call("audit").out
    token = folder.ask("tokens", "create", "ci")["id"]
    folder.ask("tokens", "revoke", token)
    every = folder.ask("tokens", "create", "--every-tenant")["id"]
    folder.ask("tenants", "set", "acme", "--weight", "2")
    folder.ask("tenants", "remove", "acme", "--yes")
    entries = folder.ask("audit", "--every-tenant")
    assert [(one["tenant"], one["action"], one["subject"]) for one in reversed(entries)] == [
        ("default", "tokens.create", token),
        ("default", "tokens.revoke", token),
        ("*", "tokens.create", every),
        ("acme", "tenants.put", "acme"),
        ("acme", "tenants.delete", "acme"),
    ]
    assert {one["actor"] for one in entries} == {f"cli:{getpass.getuser()}@{socket.gethostname()}"}
    assert entries[1]["detail"] == {"weight": 2}
    own = folder.call("audit", "-n", "1")
    assert "tokens.revoke" in own.out
    assert "name=ci" in own.out
    older = folder.ask("audit", *own.error.split()[-2:])
    assert [one["action"] for one in older] == ["tokens.create"]
    assert "acme" in folder.call("audit", "--tenant", "*").out
    assert_refused(folder.call("audit", "--before", "x"), 1, "before")


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert str(operator()).startswith("cli:")
    assert str(operator()).endswith(f"@{socket.gethostname()}")
