"""`workbell triggers`: added, seen, changed, switched and removed (C1, C6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused
from tests.support.inside.stores import SqliteFiles
from workbell import Event, Retry, Workbell
from workbell.testing import drain

APP = """
from workbell import Workbell

bell = Workbell()


@bell.processor("mail")
def mail(event):
    return {"sent": event.data}


@bell.job
def send(to="all"): ...
"""
ADD = ("triggers", "add", "mails", "--pattern", "posts.*", "--job", "mail")


@pytest.fixture
def project(folder: Folder, sqlite_files: SqliteFiles) -> Folder:
    sqlite_files.make(folder.path / "workbell.db")
    folder.write("workbell.toml", 'app = "shop:bell"\n')
    folder.write("shop.py", APP)
    return folder


def open_bell(path: Path) -> Workbell:
    return Workbell(f"sqlite:///{path}/workbell.db")


def test_everything_that_can_be_said(project: Folder) -> None:
    """C1, C6: each option arrives in the store."""
    assert "There are no triggers yet" in project.call("triggers", "list").out
    told = project.ask(
        *(*ADD, "--description", "Tell the readers", "--disabled", "--attempts", "5"),
        *("--retry-delay", "0.25s", "--retry-factor", "3", "--retry-cap", "2s"),
    )
    wanted = {
        "name": "mails",
        "event_pattern": "posts.*",
        "processor_name": "mail",
        "description": "Tell the readers",
        "enabled": False,
        "retry_config": {
            "max_attempts": 5,
            "initial_delay_ms": 250,
            "backoff_multiplier": 3,
            "max_delay_ms": 2000,
        },
    }
    assert wanted.items() <= told.items()
    assert project.ask("triggers", "list") == [told]
    assert project.ask("triggers", "show", "mails") == told | {"last_matches": []}
    row = project.call("triggers", "list").out.splitlines()[1]
    assert row.split() == ["mails", "posts.*", "mail", "off", "Tell", "the", "readers"]
    text = project.call("triggers", "show", told["id"]).out
    for part in ("Tell the readers", "5 attempts, waiting 0.25 s", "disabled", "by hand", "No event has matched it"):
        assert part in text, text
    project.call("triggers", "update", "mails", "--tag", "z", "--auto-reschedule", "10m", "--expires", "1h")
    said = " ".join(project.call("triggers", "show", "mails").out.split())
    assert all(fact in said for fact in ("tag z", "auto reschedule 10 min after a", "expires 1 h after it is due")), (
        said
    )


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--pattern", "posts.cre*"], 1, "one whole segment"),
        (["--job", "nobody"], 4, "known are mail"),
        (["--job", "send"], 4, "takes no event"),
        (["--job", "webhook-alert"], 4, "takes no event"),
        (["--attempts", "0"], 2, "--attempts"),
        (["--retry-factor", "1e9"], 2, "--retry-factor"),
    ],
)
def test_what_cannot_be_added(options: list[str], code: int, words: str, project: Folder) -> None:
    answer = project.call(*ADD, *options)
    assert answer.code == code, answer
    assert words in answer.error
    assert project.ask("triggers", "list") == []


SAID = ("--queue q --priority 0 --timeout 9 --target a1 --tag t --replace-tag --user-id ada --no-persistent").split()
SAID += "--auto-reschedule 10m --remove-delay 60 --expires 1h".split()
OPTIONS = {"queue": "q", "priority": 0, "timeout": 9.0, "target": "a1", "tag": "t", "replace_tag": True}
OPTIONS |= {"user_id": "ada", "persistent": False, "auto_reschedule": 600.0, "remove_delay": 60.0, "expires": 3600.0}


def test_what_is_said_about_its_runs(project: Folder) -> None:
    """B1: each option, said, changed and taken back."""
    told = project.ask(*ADD, *SAID)
    assert {word: told[word] for word in OPTIONS} == OPTIONS
    told = project.ask("triggers", "update", "mails", "--tag", "u", "--job-default", "user_id")
    assert {word: told[word] for word in OPTIONS} == OPTIONS | {"tag": "u", "user_id": None}
    answer = project.call("triggers", "update", "mails", "--tag", "u", "--job-default", "tag")
    assert (answer.code, "--job-default tag and --tag say two things" in answer.error) == (2, True)
    told = project.ask("schedules", "add", "often", "--job", "elsewhere", "--every", "60", *SAID)
    assert {word: told[word] for word in OPTIONS} == OPTIONS


def test_one_that_sends_to_all_webhook_endpoints(project: Folder) -> None:
    """C8: the built-in processor, with the policy of the trigger."""
    told = project.ask("triggers", "add", "all", "--pattern", "posts.*", "--job", "webhook-delivery")
    assert (told["processor_name"], told["retry_config"]) == ("webhook-delivery", None)
    told = project.ask("triggers", "update", "all", "--attempts", "5")
    assert told["retry_config"]["max_attempts"] == 5
    assert "webhook-delivery" in project.call("triggers", "list").out


def test_a_name_is_taken_once(project: Folder) -> None:
    project.ask(*ADD)
    assert_refused(project.call(*ADD), 1, "'mails'")
    assert_refused(project.call("triggers", "show", "nobody"), 4, "There is no trigger 'nobody'; there are mails.")


def test_the_store_is_enough_for_a_processor_of_another_project(folder: Folder) -> None:
    """Without an app: the store knows what the workers elsewhere can do."""
    with open_bell(folder.path) as bell:

        @bell.processor("mail")
        def mail(event: Event) -> None: ...

        bell.store.check()
        bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
    folder.write("workbell.toml", "")
    assert folder.call(*ADD).out == "mails: posts.* starts mail.\n"


def test_options_about_retries_change_nothing_else(project: Folder) -> None:
    made = project.ask(*ADD, "--retry-delay", "5m")
    wanted = {"max_attempts": 3, "initial_delay_ms": 300_000, "backoff_multiplier": 2, "max_delay_ms": 300_000}
    assert made["retry_config"] == wanted
    with open_bell(project.path) as bell:
        bell.triggers.update(made["id"], retry=Retry(attempts=4, jitter=0.5, give_up_on=("TimeoutError",)))
        project.ask("triggers", "update", "mails", "--attempts", "5")
        found = bell.triggers.get("mails").retry
    assert found == Retry(attempts=5, jitter=0.5, give_up_on=("TimeoutError",))


def test_changed_switched_and_removed(project: Folder) -> None:
    made = project.ask(*ADD, "--attempts", "5")
    assert project.call("triggers", "update", "mails").code == 2
    changed = project.ask("triggers", "update", "mails", "--pattern", "posts.**", "--retry-cap", "2s")
    assert (changed["id"], changed["event_pattern"]) == (made["id"], "posts.**")
    assert (changed["retry_config"]["max_attempts"], changed["retry_config"]["max_delay_ms"]) == (5, 2000)
    assert project.ask("triggers", "update", "mails", "--default-retry", "--name", "letters")["retry_config"] is None
    assert project.call("triggers", "disable", "letters").out.startswith(
        "letters is disabled; `workbell triggers enable"
    )
    assert project.ask("triggers", "enable", "letters")["enabled"]
    assert_refused(project.call("triggers", "update", "letters", "--pattern", "a..b"), 1, "empty segment")
    kept = project.call("triggers", "remove", "letters", typed="n\n")
    assert kept.code == 130, kept
    assert len(project.ask("triggers", "list")) == 1
    assert project.ask("triggers", "remove", "letters", "--yes") == {
        "id": made["id"],
        "name": "letters",
        "removed": True,
    }
    assert project.ask("triggers", "list") == []


def test_what_it_was_matched_by(project: Folder) -> None:
    project.ask(*ADD)
    with open_bell(project.path) as bell:

        @bell.processor("mail")
        def mail(event: Event) -> dict[str, Any]:
            return {"sent": event.data}

        event = bell.emit("posts.created", 7)
        [run] = drain(bell)
        bell.triggers.disable("mails")
        bell.emit("posts.gone", 8)
        drain(bell)
    text = " ".join(project.call("triggers", "show", "mails").out.split())
    assert f'posts.created {event.id} {run.id} ✓ succeeded {{"sent":7}}' in text
    assert "– disabled it was disabled" in text
    last = project.ask("triggers", "show", "mails")["last_matches"]
    assert [(one["type"], one["outcome"], one["run_status"]) for one in last] == [
        ("posts.gone", "disabled", None),
        ("posts.created", "started", "succeeded"),
    ]


def test_what_code_declares_comes_back(project: Folder) -> None:
    project.write("shop.py", APP.replace('@bell.processor("mail")', '@bell.on("posts.*")'))
    with open_bell(project.path) as bell:
        from tests.support.inside.features import DeclaredTriggers, Wanted

        bell.store.check()
        DeclaredTriggers(bell.store, bell.tenant, "shop").put([Wanted("mail", "posts.*", "code:shop")])
    [told] = project.ask("triggers", "list")
    assert "in the code of shop" in project.call("triggers", "show", told["name"]).out
    answer = project.call("triggers", "update", told["name"], "--pattern", "*")
    assert_refused(answer, 1, "declared in the code of shop")
    assert "comes back with the next start" in project.call("triggers", "remove", told["name"], "--yes").error
