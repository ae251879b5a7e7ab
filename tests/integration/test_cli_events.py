"""`workbell events`: emitted, listed, shown, followed and tried out (C2–C4)."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import assert_refused, command, environment
from tests.support.inside.cli import remedy
from tests.support.inside.stores import SqliteFiles
from tests.support.inside.values import new_id
from workbell import Event, Retry, Workbell
from workbell.testing import drain

URL = "sqlite:///own.db"


@pytest.fixture
def bell(folder: Folder, sqlite_files: SqliteFiles) -> Iterator[Workbell]:
    """The store of the folder, with two processors and three triggers."""
    folder.write("workbell.toml", f'url = "{URL}"\nproject = "shop"\n')
    with Workbell(sqlite_files.make(folder.path / "own.db")) as bell:

        @bell.processor("mail")
        def mail(event: Event) -> dict[str, Any]:
            return {"sent": event.data["id"]}

        @bell.processor("audit", retry=Retry(attempts=1))
        def audit(event: Event) -> None:
            raise ValueError("no disk")

        bell.triggers.add("mails", pattern="posts.*", processor="mail")
        bell.triggers.add("audits", pattern="*", processor="audit")
        bell.triggers.add("later", pattern="*.created", processor="mail", enabled=False)
        yield bell


def test_nothing_yet(folder: Folder) -> None:
    """Looking makes no store, and neither does what is refused."""
    folder.write("workbell.toml", f'url = "{URL}"\n')
    assert "There are no events yet" in folder.call("events", "list").out
    assert "no triggers and endpoints yet" in folder.call("events", "match", "posts.created").out
    assert_refused(folder.call("events", "show", new_id()), 4, "There is no event")
    assert_refused(folder.call("events", "emit", "posts.*"), 1, "'posts.*'", "Write every segment out")
    assert not list(folder.path.glob("*.db"))


def test_emit(folder: Folder, bell: Workbell) -> None:
    said = folder.call("events", "emit", "posts.created", '{"id": 7}', "--subject", "7", "--key", "k1").out
    [event] = bell.events.list()
    assert said == f"posts.created is stored as {event.id}; 3 triggers match it (1 disabled).\n"
    assert (event.data, event.subject, event.key, event.source) == ({"id": 7}, "7", "k1", "/shop")
    again = folder.call("events", "emit", "posts.created", '{"id": 8}', "--key", "k1").out
    assert again == f"posts.created was emitted before, with the key k1: it is {event.id}.\n"
    told = folder.ask("events", "emit", "users.left", "--source", "/desk")
    assert (told["type"], told["source"], told["data"]) == ("users.left", "/desk", None)
    assert folder.call("events", "emit", "posts.list", "-", typed="[1, 2]").code == 0
    assert bell.events.list(limit=1)[0].data == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "typed", "code", "words"),
    [
        (["posts created"], "", 1, "only letters"),
        (["a" * 257], "", 1, "257 characters"),
        (["job.failed"], "", 1, "Workbell emits this one itself"),
        (["posts.created", "{id: 7}"], "", 2, "write JSON such as"),
        (["posts.created", "-"], "", 2, "write JSON such as"),
        (["posts.created", "-"], f'"{"x" * 300_000}"', 1, "the limit is 262,144"),
        (["posts.created", "1", "--source", "/workbell"], "", 1, "choose another"),
    ],
)
def test_what_cannot_be_emitted_is_not_stored(
    arguments: list[str], typed: str, code: int, words: str, folder: Folder, bell: Workbell
) -> None:
    answer = folder.call("events", "emit", *arguments, typed=typed)
    assert answer.code == code, answer
    assert words in answer.error
    assert "Traceback" not in answer.error
    assert bell.events.list() == []


def test_list(folder: Folder, bell: Workbell) -> None:
    made = [
        bell.emit(name, {"id": number}, subject="x") for number, name in enumerate(["posts.a", "users.b", "posts.c"])
    ]
    text = folder.call("events", "list").out
    for number, event in enumerate(made):
        assert f"{event.id}  {event.type:7}  {event.source}" in text
        assert f'x {{"id":{number}}}' in text
    assert [event["id"] for event in folder.ask("events", "list", "--type", "posts.*")] == [made[2].id, made[0].id]
    page = folder.call("events", "list", "-n", "2")
    assert f"--before {made[1].id}\n" in page.error
    removed, last = new_id(), bell.emit("posts.d")
    assert [event["id"] for event in folder.ask("events", "list", "--before", last.id, "-n", "1")] == [made[2].id]
    assert [event["id"] for event in folder.ask("events", "list", "--before", removed, "-n", "1")] == [made[2].id]
    assert [event["id"] for event in folder.ask("events", "list", "--before", made[1].id[-8:])] == [made[0].id]
    assert folder.call("events", "list", "--type", "nobody.*").out == "No event matches the filter.\n"
    assert_refused(folder.call("events", "list", "--type", "po*"), 1, "one whole segment")


def test_show(folder: Folder, bell: Workbell) -> None:
    """What it matched and the statuses of the runs; and from a run back to its event and its trigger."""
    event = bell.emit("posts.created", {"id": 7}, subject="7", key="k1")
    assert "It is not fanned out yet" in folder.call("events", "show", event.id).out
    drain(bell)
    text = folder.call("events", "show", event.id[-8:]).out
    for part in ("posts.created", '{"id":7}', "k1", "✓ succeeded  mails", '{"sent":7}', "✗ failed", "no disk"):
        assert part in text, text
    assert "– disabled" in text
    told = folder.ask("events", "show", event.id)
    assert (told["id"], told["data"], len(told["matches"])) == (event.id, {"id": 7}, 3)
    found = {match["name"]: match for match in told["matches"]}
    assert {name: match["run_status"] for name, match in found.items()} == {
        "mails": "succeeded",
        "audits": "failed",
        "later": None,
    }
    assert found["later"]["outcome"] == "disabled"
    run = folder.call("runs", "show", found["mails"]["run"]).out
    assert f"posts.created {event.id}" in run
    assert "trigger mails" in " ".join(run.split())
    shown = folder.ask("runs", "show", found["mails"]["run"])
    assert (shown["event"], shown["event_type"]) == (event.id, "posts.created")
    assert shown["trigger"] == found["mails"]["subscriber"]
    bell.triggers.delete("audits")
    lonely = bell.emit("users.left.early", {"text": "x" * 100})
    drain(bell)
    text = folder.call("events", "show", lonely.id).out
    assert "It matched nothing" in text
    assert '    "text": "xxx' in text
    assert_refused(folder.call("events", "show", "abc"), 4, "at least 6 letters")


def test_match(folder: Folder, bell: Workbell) -> None:
    text = " ".join(folder.call("events", "match", "posts.created").out.split())
    for part in ("trigger mails posts.* on starts mail", "trigger audits * on starts audit", "later *.created off"):
        assert part in text
    found = folder.ask("events", "match", "posts.created")
    assert [(one["name"], one["patterns"], one["enabled"]) for one in found] == [
        ("audits", ["*"], True),
        ("later", ["*.created"], False),
        ("mails", ["posts.*"], True),
    ]
    said = folder.call("events", "match", "job.failed").out
    assert said.startswith("Nothing matches job.failed.")
    assert "not by * (of audits), but by job.* or job.failed" in said
    assert folder.ask("events", "match", "job.failed") == []
    assert_refused(folder.call("events", "match", "posts.*"), 1, "one type")


@pytest.mark.parametrize(
    ("wanted", "patterns", "words"),
    [
        ("posts.created", [], "`workbell triggers add` makes one"),
        ("posts.created.v2", ["posts.*"], "posts.* (of a) ends before it; posts.** would match it"),
        ("posts.created.v2", ["posts.created"], "posts.created.** would match it"),
        ("Posts.created", ["posts.*"], "Small and capital letters differ"),
        ("post.created", ["users.*", "posts.created"], "The nearest is posts.created (of b)"),
        ("worker.lost", ["*.lost"], "not by *.lost (of a), but by worker.* or worker.lost"),
        ("posts.created", ["users.left", "a.b"], "There are 2 patterns, and none is like it"),
    ],
)
def test_the_nearest_remedy(wanted: str, patterns: list[str], words: str) -> None:
    assert words in remedy(wanted, list(zip(patterns, "abc", strict=False)))


@pytest.mark.parametrize("as_json", [True, False])
def test_tail_until_it_is_interrupted(as_json: bool, folder: Folder, bell: Workbell) -> None:
    bell.emit("posts.before", {"id": 0})
    arguments = ["events", "tail", "--type", "posts.*", *(["--json"] if as_json else [])]
    tail = subprocess.Popen(
        command(*arguments),
        cwd=folder.path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert tail.stdout is not None
        assert tail.stderr is not None
        assert tail.stderr.readline() == "Waiting for events that match posts.*; Ctrl-C ends.\n"
        bell.emit("users.left")
        event = bell.emit("posts.created", {"id": 7})
        line = tail.stdout.readline()
        tail.send_signal(signal.SIGINT)
        out, error = tail.communicate(timeout=60)
    finally:
        tail.kill()
    assert (tail.returncode, out, error) == (0, "", "")
    if as_json:
        assert msgspec.json.decode(line)["id"] == event.id
    else:
        assert f"posts.created            {event.id[-8:]}" in line
        assert line.endswith('{"id":7}\n')
