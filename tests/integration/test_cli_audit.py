"""Every command that changes something for others leaves an entry in the audit log, as the HTTP API does (E6)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.integration.conftest import Folder
from tests.support.inside.cli import COMMAND_MODULES as MODULES
from tests.support.inside.cli import COMMANDS, operator
from tests.support.inside.features import KEY_VARIABLE as VARIABLE
from tests.support.inside.features import new_key
from workbell import Workbell

# Commands of groups that only look, or do the work itself: whoever may enqueue and emit is no operator for it.
LOOKING = """
agents list show, events emit list show tail match, jobs list show run runs, queues list, runs list show logs watch why,
schedules list show preview ticks, tenants list show, tokens list, triggers list show, webhooks list show deliveries
new-key, workers list rewinds
"""
# Those that other tests look at.
ELSEWHERE = """
agents pair label enable disable remove, tenants set remove, tokens create url revoke, workers drain resume
"""


APP = """
from workbell import Workbell

bell = Workbell()


@bell.processor("hear")
def hear(event): ...


@bell.job
def tidy(): ...
"""


@pytest.fixture
def bell(folder: Folder) -> Iterator[Workbell]:
    folder.write("workbell.toml", 'app = "shop:bell"\nurl = "sqlite:///own.db"\nwebhook_allow = ["127.0.0.0/8"]\n')
    folder.write("shop.py", APP)
    with Workbell() as bell:
        bell.job(name="tidy")(lambda: None)
        yield bell


class Log:
    """Commands as they are called, and the entry that each of them left."""

    def __init__(self, folder: Folder, bell: Workbell) -> None:
        self._folder = folder
        self._bell = bell
        self.called: set[tuple[str, str]] = set()

    def leaves(self, action: str | None, *arguments: str, code: int = 0) -> str:
        """A command leaves one entry, or none if nothing was done; the subject of it."""
        before = {entry.id for entry in self._bell.audit.list()}
        answer = self._folder.call(*arguments)
        assert answer.code == code, answer
        new = [entry for entry in self._bell.audit.list() if entry.id not in before]
        assert [(entry.action, entry.actor) for entry in new] == ([] if action is None else [(action, str(operator()))])
        self.called.add((arguments[0], arguments[1]))
        return new[0].subject if new else ""


@pytest.fixture
def log(folder: Folder, bell: Workbell) -> Log:
    return Log(folder, bell)


def test_runs_jobs_and_queues(log: Log, folder: Folder, bell: Workbell) -> None:
    run = bell.enqueue("tidy", {})
    assert log.leaves("runs.cancel", "runs", "cancel", run.id[-8:]) == run.id
    assert log.leaves("runs.retry", "runs", "retry", run.id) == run.id
    log.leaves(None, "runs", "cancel", "--all", "--dry-run")
    log.leaves(None, "runs", "cancel", "nonsense", code=4)
    made = folder.ask("runs", "cancel", "--all", "--job", "tidy", "--yes")["run"]
    entry = folder.ask("audit", "-n", "1")[0]
    assert (entry["action"], entry["subject"]) == ("bulk.act", made["id"])
    assert entry["detail"] == {"action": "cancel", "job": "tidy"}
    assert log.leaves("jobs.pause", "jobs", "pause", "tidy") == "tidy"
    assert log.leaves("jobs.resume", "jobs", "resume", "tidy") == "tidy"
    assert log.leaves("jobs.put", "jobs", "put", "tidy-eu", "--handler", "tidy") == "tidy-eu"
    assert log.leaves("jobs.change", "jobs", "update", "tidy-eu", "--tag", "t") == "tidy-eu"
    assert log.leaves("jobs.disable", "jobs", "disable", "tidy-eu") == "tidy-eu"
    assert log.leaves("jobs.enable", "jobs", "enable", "tidy-eu") == "tidy-eu"
    assert log.leaves("jobs.delete", "jobs", "remove", "tidy-eu", "--yes") == "tidy-eu"
    assert log.leaves("queues.pause", "queues", "pause", "mail") == "mail"
    assert log.leaves("queues.resume", "queues", "resume", "mail") == "mail"
    assert {"runs", "jobs", "queues"} & {group for group, _ in left(log)} == set()


def test_schedules_and_triggers(log: Log, folder: Folder, bell: Workbell) -> None:
    add = ["schedules", "add", "nightly", "--job", "tidy", "--every", "1h"]
    assert log.leaves("schedules.put", *add) == "nightly"
    log.leaves(None, *add, code=1)  # there is one already
    assert log.leaves("schedules.change", "schedules", "update", "nightly", "--every", "2h") == "nightly"
    log.leaves(None, "schedules", "update", "nobody", "--every", "2h", code=4)
    assert log.leaves("schedules.pause", "schedules", "pause", "nightly") == "nightly"
    assert log.leaves("schedules.resume", "schedules", "resume", "nightly") == "nightly"
    assert log.leaves("schedules.run", "schedules", "run", "nightly") == "nightly"
    log.leaves(None, "schedules", "remove", "nightly", code=2)  # it was asked, and nobody said yes
    assert log.leaves("schedules.delete", "schedules", "remove", "nightly", "--yes") == "nightly"
    trigger = log.leaves("triggers.add", "triggers", "add", "on-post", "--pattern", "posts.*", "--job", "hear")
    assert trigger == bell.triggers.get("on-post").id
    assert log.leaves("triggers.change", "triggers", "update", "on-post", "--pattern", "posts.made") == trigger
    assert log.leaves("triggers.disable", "triggers", "disable", "on-post") == trigger
    assert log.leaves("triggers.enable", "triggers", "enable", "on-post") == trigger
    assert log.leaves("triggers.delete", "triggers", "remove", "on-post", "--yes") == trigger
    assert {"schedules", "triggers"} & {group for group, _ in left(log)} == set()


def test_webhooks(log: Log, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = log.leaves("webhooks.add", "webhooks", "add", "http://127.0.0.1:9/x", "--pattern", "a.*")
    assert endpoint == bell.webhooks.list()[0].id
    change = ["webhooks", "update", endpoint, "--header", "X-Pass: hidden-word"]
    assert log.leaves("webhooks.change", *change) == endpoint
    assert log.leaves("webhooks.rotate", "webhooks", "rotate", endpoint) == endpoint
    assert log.leaves("webhooks.test", "webhooks", "test", endpoint, "--timeout", "0s", code=3) == endpoint
    assert log.leaves("webhooks.replay", "webhooks", "replay", endpoint, "--since", "1h") == endpoint
    assert log.leaves("webhooks.disable", "webhooks", "disable", endpoint) == endpoint
    assert log.leaves("webhooks.enable", "webhooks", "enable", endpoint) == endpoint
    monkeypatch.setenv(VARIABLE, new_key())
    log.leaves("webhooks.seal", "webhooks", "seal")
    assert log.leaves("webhooks.delete", "webhooks", "remove", endpoint, "--yes") == endpoint
    assert not any("hidden-word" in (entry.detail_text or "") for entry in bell.audit.list())
    assert "webhooks" not in {group for group, _ in left(log)}


def test_every_other_group_is_known(log: Log) -> None:
    """A group that is new must be looked at here, or be named above."""
    assert {group for group, _ in left(log)} == {"runs", "jobs", "queues", "schedules", "triggers", "webhooks"}


def left(log: Log) -> set[tuple[str, str]]:
    """Commands that are neither noted, nor known to look."""
    return every_command() - log.called - named(LOOKING) - named(ELSEWHERE)


def every_command() -> set[tuple[str, str]]:
    found = set()
    for name in COMMANDS:
        listed = getattr(import_module(f"workbell.cli.{MODULES.get(name, name)}"), "COMMANDS", {})
        found |= {(name, command) for command in listed}
    return found


def named(text: str) -> set[tuple[str, str]]:
    found = set()
    for part in text.split(","):
        group, *commands = part.split()
        found |= {(group, command) for command in commands}
    return found
