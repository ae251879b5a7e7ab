"""Which store a command works on: what is said of one that cannot be used, is empty, or is another than was meant."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused, every_command

READING = [
    ["runs", "list"],
    ["jobs", "list"],
    ["queues", "list"],
    ["schedules", "list"],
    ["workers", "list"],
    ["events", "list"],
    ["triggers", "list"],
    ["webhooks", "list"],
    ["agents", "list"],
    ["tenants", "list"],
    ["tokens", "list"],
    ["audit"],
]


@pytest.mark.parametrize("arguments", [*READING[:2], ["doctor"], ["migrate"], ["copy", "--to", "memory://"]])
def test_a_file_that_may_not_be_looked_at(
    arguments: list[str], folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = Path.stat

    def refuse(path: Path, **options: Any) -> Any:
        if "secret" in path.parts:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", refuse)
    answer = folder.call(*arguments, "--url", "sqlite:///secret/x.db")
    assert answer.code == 69, answer
    assert answer.error == (
        "workbell: secret/x.db: Permission denied; make the folder secret readable and writable for this user, "
        "or change the URL (--url, WORKBELL_URL, or url in workbell.toml).\n"
    )


def test_a_name_that_the_system_does_not_take(folder: Folder) -> None:
    answer = folder.call("runs", "list", "--url", f"sqlite:///{'x' * 300}.db")
    assert_refused(answer, 69, "File name too long; change the URL (--url, WORKBELL_URL, or url in workbell.toml)")


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_an_empty_store_is_named(
    arguments: list[str], folder: Folder, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    answer = folder.call(*arguments)
    assert answer.code == 0
    line = answer.out.splitlines()[-1]
    assert line == "The store is sqlite:///workbell.db, which is not there yet; --url or --app names another."
    assert not (folder.path / "workbell.db").exists()
    assert list(temporary.iterdir()) == [], "the empty store that was read is removed"
    folder.call("migrate")
    line = folder.call(*arguments).out.splitlines()[-1]
    assert line == "The store is sqlite:///workbell.db, which has none; --url or --app names another."


SHOP = """
from workbell import Workbell
bell = Workbell("sqlite:///shop.db")

@bell.job
def greet() -> None: ...
"""


def test_the_store_of_an_app(folder: Folder) -> None:
    """Nothing but the code names it."""
    folder.write("shop.py", SHOP)
    assert folder.call("jobs", "run", "greet", "--app", "shop:bell").code == 0
    assert "There are no runs yet" in folder.call("runs", "list").out
    answer = folder.call("runs", "list", "--app", "shop:bell")
    assert "greet" in answer.out
    (run,) = folder.ask("runs", "list", "--app", "shop:bell")
    assert folder.call("runs", "why", run["id"][-8:], "--app", "shop:bell").code == 0
    assert "The store sqlite:///shop.db" in folder.call("doctor", "--app", "shop:bell").out
    assert "There are no schedules yet" in folder.call("schedules", "list", "--app", "shop:bell").out
    assert "There are no runs yet" in folder.call("runs", "list", "--app", "shop:bell", "--url", "sqlite:///b.db").out
    assert_refused(
        folder.call("runs", "list", "--app", "shop:no"), 78, "shop has no 'no'; it has a Workbell named 'bell'"
    )
    assert {path.name for path in folder.path.glob("*.db")} == {"shop.db"}


def test_url_before_the_command_and_after_it(folder: Folder) -> None:
    named = ("--url", "sqlite:///a.db")
    for words in ((*named, "runs", "list"), ("runs", "list", *named), (*named, "runs", "list", *named)):
        answer = folder.call(*words)
        assert answer.code == 0, answer
        assert "The store is sqlite:///a.db" in answer.out


def test_urls_that_contradict_each_other(folder: Folder) -> None:
    answer = folder.call("--url", "postgresql://ada:secret@host/a", "runs", "list", "--url", "sqlite:///b.db")
    assert answer.code == 2, answer
    said = "--url names postgresql://ada:…@host/a before the command and sqlite:///b.db after it; give one of them."
    assert said in answer.error


def test_a_url_before_a_command_without_a_store(folder: Folder) -> None:
    answer = folder.call("--url", "sqlite:///a.db", "bridge", "init")
    assert answer.code == 2, answer
    assert "`workbell bridge` takes no store by --url; leave it out." in answer.error
    assert folder.call("--url", "sqlite:///a.db", "bridge", "--help").code == 0


def test_every_command_with_a_store_takes_it_before_as_well(folder: Folder) -> None:
    """Whatever else a command needs: what is given on the other side contradicts it."""
    for path, command in every_command():
        if path != "agent pair" and any("--url" in option.opts for option in command.params):
            answer = folder.call("--url", "a", *path.split(), "--url", "b")
            assert "--url names a before the command and b after it" in answer.error, (path, answer)


def test_every_command_that_takes_a_store_takes_an_app() -> None:
    found = [
        (str(command.name), {name for param in command.params for name in param.opts}) for _, command in every_command()
    ]
    with_store = {name for name, options in found if "--url" in options}
    assert len(with_store) > 30
    # The URL of `agent pair` is a service's.
    assert {name for name, options in found if "--url" in options and "--app" not in options} == {"pair"}


def test_an_app_that_names_another_store_than_the_settings(folder: Folder) -> None:
    folder.write("shop.py", SHOP)
    folder.write("workbell.toml", 'app = "shop:bell"\nurl = "sqlite:///other.db"\n')
    answer = folder.call("jobs", "list")
    assert answer.error.startswith(
        "workbell: the app names its store itself, sqlite:///shop.db; the url of the settings, "
    )
    assert "sqlite:///other.db, is used only by commands that do not load the app" in answer.error
    folder.write("workbell.toml", 'app = "shop:bell"\n')
    assert folder.call("jobs", "list").error == ""
    assert "greet" in folder.call("jobs", "run", "greet").out
    assert "greet" in folder.call("runs", "list").out
    folder.write("workbell.toml", 'app = "shop:bell"\nurl = "sqlite:///other.db"\n')
    assert "There are no runs yet" in folder.call("runs", "list").out
    assert "greet" in folder.call("runs", "list", "--app", "shop:bell").out
