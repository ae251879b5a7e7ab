"""`--tenant` of every command: it reads and writes that tenant alone, also where it loads the app, and says so."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support import kumofire
from tests.support.command_line import assert_refused, every_command
from tests.support.command_scene import APP, Scene

# Arguments of each command that writes. Words in braces are ids of what `tenant acme` has.
WRITES = {
    "agents disable": "box",
    "agents enable": "box",
    "agents label": "box gpu",
    "agents pair": "--name other",
    "agents remove": "box --yes",
    "events emit": "posts.created",
    "import kumofire": "--from kumofire.db --to sqlite:///workbell.db",
    "jobs disable": "hello",
    "jobs enable": "hello",
    "jobs pause": "report",
    "jobs put": "bye --handler report",
    "jobs remove": "hello --yes",
    "jobs resume": "report",
    "jobs run": "report --delay 1h",
    "jobs update": "hello --tag t",
    "queues pause": "mails",
    "queues resume": "mails",
    "runs cancel": "{waiting}",
    "runs retry": "{failed}",
    "schedules add": "weekly --job report --cron @weekly",
    "schedules pause": "nightly",
    "schedules remove": "nightly --yes",
    "schedules resume": "nightly",
    "schedules run": "nightly",
    "schedules update": "nightly --every 90",
    "tokens create": "ci",
    "tokens revoke": "{token}",
    "tokens url": "--at https://bell.example.com",
    "triggers add": "others --pattern posts.* --job listen",
    "triggers disable": "mails",
    "triggers enable": "mails",
    "triggers remove": "mails --yes",
    "triggers update": "mails --pattern mails.*",
    "webhooks add": "https://shop.example.com/other --pattern posts.*",
    "webhooks disable": "{endpoint}",
    "webhooks enable": "{endpoint}",
    "webhooks remove": "{endpoint} --yes",
    "webhooks replay": "{endpoint} --since 1h",
    "webhooks rotate": "{endpoint}",
    "webhooks seal": "",
    "webhooks test": "{endpoint} --timeout 0s",
    "webhooks update": "{endpoint} --pattern mails.*",
    # A worker serves all tenants; the tenant is that of the audit entry.
    "workers drain": "box/1/first",
    "workers resume": "box/1/first",
}
# Arguments of each command that reads, and an id or a name that it shows of the tenant.
READS = {
    "agents list": ("", "{agent}"),
    "agents show": ("box", "{agent}"),
    "audit": ("", "{token}"),
    "events list": ("", "{event}"),
    "events match": ("posts.created", "{trigger}"),
    "events show": ("{event}", "{event}"),
    "jobs list": ("", "{definition}"),
    "jobs runs": ("crash", "{failed}"),
    "jobs show": ("hello", "{definition}"),
    "queues list": ("", "acme"),
    "runs list": ("", "{waiting}"),
    "runs logs": ("{failed}", "[]"),
    "runs show": ("{failed}", "{failed}"),
    "runs watch": ("{failed}", "{failed}"),
    "runs why": ("{failed}", "{failed}"),
    "schedules list": ("", "{schedule}"),
    "schedules preview": ("nightly", "nightly"),
    "schedules show": ("nightly", "{schedule}"),
    "schedules ticks": ("nightly", "[]"),
    "tokens list": ("", "{token}"),
    "triggers list": ("", "{trigger}"),
    "triggers show": ("mails", "{trigger}"),
    "webhooks deliveries": ("{endpoint}", "[]"),
    "webhooks list": ("", "{endpoint}"),
    "webhooks show": ("{endpoint}", "{endpoint}"),
    "workers list": ("", "box/1/first"),
}
ELSEWHERE = {"events tail", "workers rewinds"}  # `test_cli_events.py` and `test_rewound_store.py` have their tenants
ALL_TENANTS = {"workers drain", "workers resume"}
WITHOUT_JSON = {"tokens url"}
ENDS_WITH = {"runs watch": 1, "webhooks test": 3}  # of a run that failed; nobody sends the ping

# Rows of a run have the tenant of their lane.
OF_LANES = ("workbell_runs", "workbell_history")


def _rows(folder: Folder, tenant: str) -> dict[str, set[Any]]:
    """All rows of a tenant, by table."""
    connection = sqlite3.connect(folder.path / "workbell.db")
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found: dict[str, set[Any]] = {}
        for table in tables:
            columns = {column[1] for column in connection.execute(f"PRAGMA table_info({table})")}
            if "tenant" in columns:
                rows = connection.execute(f"SELECT * FROM {table} WHERE tenant = ?", [tenant])
            elif table in OF_LANES:
                lanes = "SELECT id FROM workbell_lanes WHERE tenant = ?"
                rows = connection.execute(f"SELECT * FROM {table} WHERE lane IN ({lanes})", [tenant])
            else:
                continue
            found[table] = set(rows)
        return found
    finally:
        connection.close()


def _arguments(path: str, text: str, ids: dict[str, str]) -> list[str]:
    return [*path.split(), *text.format(**ids).split(), *([] if path in WITHOUT_JSON else ["--json"])]


def test_every_command_with_a_tenant_is_here() -> None:
    """A new command is added to one of the tables, and so tried."""
    taking = {path for path, command in every_command() if any(param.name == "tenant" for param in command.params)}
    assert taking == {*WRITES, *READS, *ELSEWHERE}


@pytest.mark.parametrize("path", WRITES)
def test_a_command_writes_to_the_tenant_and_says_so(
    path: str, folder: Folder, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBELL_SECRET_KEY", "k" * 43 + "=")
    if path == "import kumofire":
        kumofire.write(folder.path / "kumofire.db", [*kumofire.schema(), *kumofire.content(datetime.now(UTC))])
    others, own = _rows(folder, "default"), _rows(folder, "acme")
    answer = folder.call(*_arguments(path, WRITES[path], scene["acme"]), "--tenant", "acme")
    assert answer.code == ENDS_WITH.get(path, 0), answer
    assert _rows(folder, "default") == others
    assert _rows(folder, "acme") != own
    if path not in ALL_TENANTS:
        assert "acme" in answer.error + answer.out


@pytest.mark.parametrize("path", READS)
def test_a_command_reads_the_tenant(path: str, folder: Folder, scene: Scene) -> None:
    text, shown = READS[path]
    answer = folder.call(*_arguments(path, text, scene["acme"]), "--tenant", "acme")
    assert answer.code == ENDS_WITH.get(path, 0), answer
    assert shown.format(**scene["acme"]) in answer.out
    assert [one for one in scene["default"].values() if one in answer.out] == []


def test_the_tenant_is_said_above_the_message_unless_it_is_the_default(
    folder: Folder, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = folder.call("schedules", "pause", "nightly", "--tenant", "acme")
    assert (answer.error, answer.out.startswith("nightly is paused")) == ("In tenant acme:\n", True)
    assert folder.call("schedules", "pause", "nightly").error == ""
    assert folder.call("tenants", "set", "acme", "--weight", "2").error == ""
    quiet = folder.call("tokens", "create", "--tenant", "acme", "--quiet")
    assert quiet.error == folder.call("agents", "pair", "--tenant", "acme", "--quiet").error == ""
    monkeypatch.setenv("WORKBELL_TENANT", "acme")
    assert folder.call("jobs", "pause", "report").error == "In tenant acme:\n"
    assert folder.call("jobs", "pause", "report", "--tenant", "default").error == ""


def test_a_tenant_that_the_app_names_otherwise_is_refused(folder: Folder, scene: Scene) -> None:
    folder.write("shop.py", APP.replace("Workbell()", 'Workbell(tenant="shop")'))
    before = [_rows(folder, tenant) for tenant in ("default", "acme", "shop")]
    answer = folder.call("schedules", "add", "weekly", "--job", "report", "--cron", "@weekly", "--tenant", "acme")
    assert_refused(answer, 78, "--tenant: the app itself names its tenant (shop); leave the option out")
    assert [_rows(folder, tenant) for tenant in ("default", "acme", "shop")] == before
    assert folder.call("jobs", "list", "--tenant", "shop").code == 0


def test_an_app_that_names_another_tenant_than_the_settings(folder: Folder) -> None:
    """As with its store: where nothing but the app names it, commands that need no code ask the app."""
    folder.write("shop.py", APP.replace("Workbell()", 'Workbell(tenant="shop")'))
    folder.write("workbell.toml", 'app = "shop:bell"\n')
    made = folder.call("jobs", "run", "report", "--delay", "1h")
    assert made.error == "In tenant shop:\n"
    assert [run["tenant"] for run in folder.ask("runs", "list")] == ["shop"]
    assert folder.ask("runs", "list", "--tenant", "default") == []
    folder.write("workbell.toml", 'app = "shop:bell"\ntenant = "acme"\n')
    warned = folder.call("jobs", "list").error
    assert warned.startswith("workbell: the app names its tenant itself, shop; the tenant of the settings, acme, is")
    assert folder.ask("runs", "list") == []
    folder.write("workbell.toml", 'app = "shop:bell"\nurl = "sqlite:///own.db"\n')
    assert "the tenant of the settings, default, is used only by commands" in folder.call("jobs", "list").error


@pytest.mark.parametrize("path", ["jobs list", "tokens url", "runs list"])
def test_an_empty_tenant_is_no_tenant(path: str, folder: Folder, scene: Scene) -> None:
    """An empty variable in a script must not mean the default, and for a sign-in link not all tenants."""
    answer = folder.call(*path.split(), "--tenant", "")
    assert answer.code == 2
    assert "tenant '': use 1 to" in answer.error
