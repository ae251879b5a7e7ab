"""`workbell runs` and `workbell workers`: a run can be seen, watched, ended and repeated (F6)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from tests.integration.conftest import Folder, lines_on_terminal, on_terminal
from tests.support.command_line import assert_refused, command, environment
from tests.support.inside.stores import SqliteFiles
from tests.support.inside.values import Worker, new_id
from tests.support.inside.wire import AttemptShown
from tests.support.many_attempts import with_attempts
from tests.support.waiting import until
from tests.unit.makers import worker_of
from workbell import Context, Retry, Run, Status, Workbell
from workbell.testing import drain

URL = "sqlite:///own.db"


@pytest.fixture
def bell(folder: Folder, sqlite_files: SqliteFiles) -> Iterator[Workbell]:
    """The store of the folder, with jobs that work themselves off at a word."""
    folder.write("workbell.toml", f'url = "{URL}"\n')
    with Workbell(sqlite_files.make(folder.path / "own.db")) as bell:

        @bell.job
        def greet(ctx: Context, name: str) -> str:
            ctx.logger.info("greeting %s", name)
            ctx.progress(3, 4, "nearly")
            return f"Hello {name}"

        @bell.job(retry=Retry(attempts=2, delay=0))
        def fail(ctx: Context) -> None:
            ctx.logger.error("attempt %d\nis lost", ctx.run.attempt)
            raise ValueError("no such thing") from KeyError(7)

        yield bell


@contextmanager
def worker(bell: Workbell) -> Iterator[None]:
    """Somebody who works in this folder meanwhile."""
    thread = threading.Thread(target=bell.run)
    thread.start()
    try:
        until(lambda: bell.host.running is not None, "the worker")
        yield
    finally:
        bell.shut_down()
        thread.join()


def done(bell: Workbell) -> Run:
    run = bell.enqueue("greet", {"name": "Ada"}, tag="t1")
    drain(bell)
    return bell.get(run.id)


def failed(bell: Workbell) -> Run:
    run = bell.enqueue("fail")
    drain(bell)
    return bell.get(run.id)


def test_nothing_yet(folder: Folder) -> None:
    """Looking makes no store."""
    folder.write("workbell.toml", f'url = "{URL}"\n')
    assert "There are no runs yet" in folder.call("runs", "list").out
    assert "No worker is running; start one with `workbell dev`" in folder.call("workers", "list").out
    assert_refused(folder.call("runs", "show", new_id()), 4, "There is no run")
    assert not list(folder.path.glob("*.db"))


def test_list(folder: Folder, bell: Workbell) -> None:
    first, second = done(bell), failed(bell)
    later = bell.enqueue("greet", {"name": "Eve"}, delay=600, queue="mail")
    text = folder.call("runs", "list").out
    assert f"✓ succeeded  {first.id}  greet" in text
    assert f"✗ failed     {second.id}  fail" in text
    assert "Hello Ada" in text
    assert "ValueError: no such thing" in text
    assert "in 10 min" in text
    assert [run["id"] for run in folder.ask("runs", "list")] == [later.id, second.id, first.id]
    for wanted, found in (
        (["--status", "failed", "--status", "scheduled"], [later, second]),
        (["--job", "fail"], [second]),
        (["--queue", "mail"], [later]),
        (["--tag", "t1"], [first]),
        (["--limit", "1"], [later]),
        (["--before", second.id], [first]),
        (["--before", second.id[-8:]], [first]),
        (["--since", "1h"], [later, second, first]),
        (["--until", "1h"], []),
    ):
        assert [run["id"] for run in folder.ask("runs", "list", *wanted)] == [run.id for run in found], wanted
    assert folder.ask("runs", "list", "--tenant", "other") == []
    assert folder.call("runs", "list", "--job", "nobody").out == "No run matches the filter.\n"
    assert "--before" in folder.call("runs", "list", "-n", "2").error
    assert folder.call("runs", "list", "--status", "odd").code == 2
    assert all(
        "or how long ago, such as 2h" in folder.call("runs", "list", "--since", x).error
        for x in ("1x", "", "99999999d")
    )
    assert_refused(folder.call("runs", "list", "--schedule", "nobody"), 4, "'nobody'")


def test_attempts_have_the_fields_of_the_api(folder: Folder, bell: Workbell) -> None:
    run = done(bell)
    [attempt] = folder.ask("runs", "show", run.id)["attempts"]
    kept = bell.attempts(run.id)[0]
    assert attempt == msgspec.json.decode(msgspec.json.encode(AttemptShown.of(kept, kept.worker)))
    assert attempt["result"] == "Hello Ada"


def test_pages_go_on_where_a_run_was_removed(folder: Folder, bell: Workbell) -> None:
    """A whole id is a place in the list; and the next page is asked for by one, as parts are known of new runs only."""
    first, removed, second = done(bell), new_id(), done(bell)
    assert [run["id"] for run in folder.ask("runs", "list", "--before", removed)] == [first.id]
    assert folder.call("runs", "list", "-n", "1").error == f"Older ones: --before {second.id}\n"
    assert_refused(folder.call("runs", "list", "--before", removed[-8:]), 4, "an older one needs its whole id")


def test_show(folder: Folder, bell: Workbell) -> None:
    run = done(bell)
    text = folder.call("runs", "show", run.id).out
    for words in ("greet", "✓ succeeded", '{"name":"Ada"}', '"Hello Ada"', "3 of 4 (75%), nearly", "t1"):
        assert words in text, text
    assert "attempt 1 succeeded after" in text
    assert f"workbell runs logs {run.id[-8:]}" in text
    told = folder.ask("runs", "show", run.id)
    assert (told["result"], told["progress"]["done"], len(told["attempts"])) == ("Hello Ada", 3, 1)


def test_show_has_the_newest_attempts(folder: Folder, bell: Workbell) -> None:
    run = with_attempts(bell, done(bell), 1150)
    text = folder.call("runs", "show", run.id).out
    assert "and 1,050 earlier attempts" in text
    assert ("attempt 1051 snoozed" in text, "attempt 1050" in text, "attempt 1150 succeeded" in text) == (
        True,
        False,
        True,
    )
    assert [one["number"] for one in folder.ask("runs", "show", run.id)["attempts"]] == [*range(151, 1151)]


def test_show_says_which_options_are_set(folder: Folder, bell: Workbell) -> None:
    run = bell.enqueue("greet", {"name": "Ada"}, timeout=90, auto_reschedule=3600, remove_delay=86400, persistent=False)
    text = " ".join(folder.call("runs", "show", run.id).out.split())
    for fact in (
        "timeout 1 min 30 s",
        "auto reschedule 1 h after a failure",
        "remove delay 1 d after the end",
        "persistent no",
    ):
        assert fact in text, text
    told = folder.ask("runs", "show", run.id)
    assert (told["timeout"], told["auto_reschedule"], told["remove_delay"]) == (90, 3600, 86400)
    plain = folder.call("runs", "show", bell.enqueue("greet", {"name": "Ada"}).id).out
    assert not [word for word in ("timeout", "reschedule", "remove delay", "persistent") if word in plain]


def test_show_what_failed(folder: Folder, bell: Workbell) -> None:
    run = failed(bell)
    text = folder.call("runs", "show", run.id).out
    assert "attempt 1 failed after" in text
    assert "attempt 2 failed after" in text
    assert "It failed" in text
    assert '    raise ValueError("no such thing") from KeyError(7)' in text, "with the traceback"
    assert "Caused by: KeyError: 7" in text
    assert re.search(r"^  error type +builtins\.ValueError$", text, re.MULTILINE)
    told = folder.ask("runs", "show", run.id)
    assert [attempt["status"] for attempt in told["attempts"]] == ["failed", "failed"]
    assert all(attempt["error"].startswith("ValueError: no such thing") for attempt in told["attempts"])
    assert {one["error_type"] for one in (told, *told["attempts"])} == {"builtins.ValueError"}


def test_show_what_runs_again(folder: Folder, bell: Workbell) -> None:
    """The error of an earlier attempt is shown as that attempt's, not as one of the attempt that is running."""
    failed_once, go_on = threading.Event(), threading.Event()

    @bell.job(retry=Retry(attempts=2, delay=0))
    def second_time(ctx: Context) -> None:
        if ctx.run.attempt == 1:
            raise ValueError("the first time")
        failed_once.set()
        go_on.wait(30)

    run = bell.enqueue("second_time")
    with worker(bell):
        assert failed_once.wait(30)
        try:
            told = folder.ask("runs", "show", run.id)
            text = folder.call("runs", "show", run.id).out
        finally:
            go_on.set()
    assert [(one["status"], one["error_type"]) for one in told["attempts"]] == [
        ("failed", "builtins.ValueError"),
        ("running", None),
    ]
    assert "Error of attempt 1\n  ValueError: the first time" in text
    assert "Last error" not in text
    assert "error type" not in text


@pytest.mark.parametrize("verb", ["show", "logs", "watch", "cancel", "retry", "why"])
def test_which_run(folder: Folder, bell: Workbell, verb: str) -> None:
    """By its id, or by enough of it; and one line if there is none."""
    run = failed(bell)
    for part in (run.id, run.id[-6:], run.id[:18], run.id[-8:].upper()):
        assert folder.call("runs", verb, part).code == (1 if verb == "watch" else 0), part
    for unknown in (new_id(), "no-such-run", "x"):
        assert_refused(folder.call("runs", verb, unknown), 4, f"There is no run {unknown!r}")
    assert_refused(folder.call("runs", verb, run.id, "--tenant", "other"), 4, "tenant other")


def test_a_part_of_several_ids(folder: Folder, bell: Workbell) -> None:
    first, second = (bell.enqueue("fail") for _ in range(2))
    assert second.id.startswith(first.id[:6]), "both were made within these hours"
    assert_refused(folder.call("runs", "why", first.id[:6]), 1, "2 ids", first.id, second.id)


def test_logs(folder: Folder, bell: Workbell) -> None:
    run = failed(bell)
    text = folder.call("runs", "logs", run.id).out
    assert [line[9:] for line in text.splitlines()[::2]] == ["#1 error    attempt 1", "#2 error    attempt 2"]
    assert text.splitlines()[1] == "    is lost"
    lines = folder.ask("runs", "logs", run.id)
    assert [(line["attempt"], line["line"], line["level"]) for line in lines] == [(1, 0, "ERROR"), (2, 0, "ERROR")]
    assert folder.call("runs", "logs", run.id, "--follow").out == text, "of an ended run there is nothing to follow"
    silent = bell.enqueue("greet", {"name": "Ada"})
    assert "has logged nothing" in folder.call("runs", "logs", silent.id).error
    assert folder.ask("runs", "logs", silent.id) == []


def test_a_log_line_cannot_steer_the_terminal(folder: Folder, bell: Workbell) -> None:
    @bell.job
    def evil(ctx: Context) -> str:
        ctx.logger.info("\x1b[2J[red]gone[/red]")
        ctx.progress(1, 2, "\x1b[2J[red]")
        return "\x1b[2J"

    run = evil.enqueue()
    drain(bell)
    for verb in ("show", "logs", "watch"):
        assert "\x1b" not in folder.call("runs", verb, run.id).out
    assert "[red]gone[/red]" in folder.call("runs", "logs", run.id).out


def test_watch_a_run_until_it_has_ended(folder: Folder, bell: Workbell) -> None:
    """Through a pipe: a line for each change, and for each line that it logs."""
    gate = threading.Event()

    @bell.job
    def step(ctx: Context) -> int:
        ctx.logger.info("begun")
        ctx.progress(1, 2, "half")
        assert gate.wait(30)
        ctx.logger.info("ended")
        return 7

    run = step.enqueue()
    with (
        worker(bell),
        subprocess.Popen(
            command("runs", "watch", run.id[-8:]), cwd=folder.path, env=environment(), stdout=subprocess.PIPE, text=True
        ) as watching,
    ):
        try:
            assert watching.stdout is not None
            seen: list[str] = []
            while not any("1 of 2 (50%), half" in line for line in seen):
                seen.append(watching.stdout.readline())
                assert seen[-1], seen
            gate.set()
            rest = watching.stdout.read()
            assert watching.wait(30) == 0
        finally:
            gate.set()
            watching.kill()
    assert any("info     begun" in line for line in seen)
    assert "info     ended" in rest
    assert "✓ succeeded after" in rest
    assert rest.endswith("\n7\n")


def test_watch_in_json(folder: Folder, bell: Workbell) -> None:
    run = failed(bell)
    answer = folder.call("runs", "watch", run.id, "--json")
    assert answer.code == 1
    *logged, last = map(json.loads, answer.out.splitlines())
    assert [line["log"]["attempt"] for line in logged] == [1, 2]
    assert last["run"]["status"] == "failed"


def read_until(end: int, words: str) -> str:
    seen = ""
    while words not in seen:
        try:
            part = os.read(end, 4096)
        except OSError:  # the other end is closed
            part = b""
        assert part, seen
        seen += part.decode("utf-8", "replace")
    return seen


def test_watch_on_a_terminal_and_leave_it_alone(folder: Folder, bell: Workbell) -> None:
    """A bar, with what is logged above it; Ctrl-C ends the watching and not the run."""
    gate = threading.Event()

    @bell.job
    def step(ctx: Context) -> None:
        ctx.logger.info("begun")
        ctx.progress(1, 4, "a quarter")
        assert gate.wait(60)

    run = step.enqueue()
    with worker(bell):
        watching, end = on_terminal(folder, "runs", "watch", run.id)
        try:
            text = read_until(end, "a quarter")
            assert "begun" in text
            assert "1/4 25%" in text
            watching.send_signal(signal.SIGINT)
            assert "would end it" in read_until(end, "would end it")
            assert watching.wait(30) == 130
            assert bell.get(run.id).status is Status.RUNNING
        finally:
            gate.set()
            watching.kill()
            watching.wait(30)
            os.close(end)
        assert bell.wait(run.id, 30).status is Status.SUCCEEDED


LONG_NAME = "send_the_weekly_letter_to_everybody"
LONG_WORDS = "the answer was " + "no, " * 100 + "and that was all"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_list_fits_a_terminal(folder: Folder, bell: Workbell, width: int) -> None:
    """One line a run; what does not fit ends with an ellipsis. `--wide` and pipes have all of it."""

    @bell.job(name=LONG_NAME, retry=Retry(attempts=1))
    def send() -> None:
        raise ValueError(LONG_WORDS)

    run = bell.enqueue(LONG_NAME)
    done(bell)
    bell.enqueue("greet", {"name": "Eve"}, delay=600)
    found = [one.id for one in bell.runs()]
    header, *lines = lines_on_terminal(folder, "runs", "list", width=width)
    assert header.split()[:3] == ["status", "run", "job"]
    assert [found_id[-8:] in line for line, found_id in zip(lines, found, strict=True)] == [True] * 3
    assert max(map(len, lines)) <= width
    last = next(line for line in lines if run.id[-8:] in line)
    assert "send_the_week" in last
    assert last.endswith("…")
    if width >= 80:
        assert "ValueError: " in last

    for text in (
        folder.call("runs", "list").out,
        "".join(lines_on_terminal(folder, "runs", "list", "--wide", width=width)),
    ):
        assert run.id in text
        assert LONG_NAME in text
        assert LONG_WORDS in text


def test_cancel(folder: Folder, bell: Workbell) -> None:
    waiting = bell.enqueue("fail")
    assert f"Run {waiting.id} of fail: canceled." in folder.call("runs", "cancel", waiting.id, "--reason", "enough").out
    assert (bell.get(waiting.id).status, bell.get(waiting.id).reason) == (Status.CANCELED, "enough")
    assert "has ended already: canceled" in folder.call("runs", "cancel", waiting.id).out
    begun = threading.Event()

    @bell.job
    def endless(ctx: Context) -> None:
        begun.set()
        until(lambda: ctx.canceled, "its end to be asked for")
        raise RuntimeError("stopped")

    with worker(bell):
        running = endless.enqueue()
        assert begun.wait(30)
        assert "a worker has it, and is asked to stop it" in folder.call("runs", "cancel", running.id).out
        assert bell.wait(running.id, 30).status is Status.CANCELED


def test_retry(folder: Folder, bell: Workbell) -> None:
    run = failed(bell)
    again = folder.ask("runs", "retry", run.id)
    assert (again["retry_of"], again["job"], again["status"]) == (run.id, "fail", "queued")
    assert_refused(folder.call("runs", "retry", again["id"]), 1, "is queued")
    assert "of fail: queued" in folder.call("runs", "retry", run.id).out


def test_why(folder: Folder, bell: Workbell) -> None:
    run = bell.enqueue("greet", {"name": "Ada"}, delay=600)
    assert folder.call("runs", "why", run.id).out.startswith("It is due in 10 min")
    assert folder.ask("runs", "why", run.id)["status"] == "scheduled"


def test_workers(folder: Folder, bell: Workbell) -> None:
    begun, gate = threading.Event(), threading.Event()

    @bell.job
    def hold() -> None:
        begun.set()
        assert gate.wait(30)

    with worker(bell):
        run = hold.enqueue()
        try:
            assert begun.wait(30)
            until(bell.store.workers.list, "the worker")
            (told,) = folder.ask("workers", "list")
            assert (told["pid"], told["alive"], told["busy"]) == (os.getpid(), True, 1)
            assert [each["id"] for each in told["runs"]] == [run.id]
            assert {"host", "incarnation", "version", "queues", "jobs", "seen_at", "started_at"} <= set(told)
            _add_lost(bell)
            text = folder.call("workers", "list").out
            assert "hold" in text
            assert f"{os.getpid()}" in text
            assert "elsewhere (lost)" in text
        finally:
            gate.set()


def test_a_worker_is_drained_and_resumed(folder: Folder, bell: Workbell) -> None:
    now = bell.store.clock.now()
    for name in ("box-1/7/70/aaaaaaaaaaaa", "box-1/8/80/bbbbbbbbbbbb"):
        bell.store.workers.put(worker_of("send", now=now, id=name, host="box-1"))
    told = folder.ask("workers", "drain", "aaaaaaaa")
    assert (told["id"], told["busy"], told["drained_at"] is None) == ("box-1/7/70/aaaaaaaaaaaa", 0, False)
    listed = folder.call("workers", "list").out
    assert ("box-1 (draining)" in listed, "aaaaaaaa" in listed, "bbbbbbbb" in listed) == (True, True, True)
    drained_at = bell.workers()[0].worker.drained_at
    assert drained_at is not None
    bell.store.workers.note_drained("box-1/7/70/aaaaaaaaaaaa", drained_at, drained_at)
    assert "box-1 (drained)" in folder.call("workers", "list").out
    assert "claims no more runs, and holds none" in folder.call("workers", "drain", "aaaaaaaa").out
    assert "2 alive on 1 machine, 20 slots, 1 of them drained" in folder.call("doctor").out
    assert "claims runs again" in folder.call("workers", "resume", "box-1/7").out
    assert folder.ask("workers", "list")[0]["drained_at"] is None
    said = folder.call("workers", "drain", "box-1/8/80/").out
    assert "within seconds" in said
    assert "`workbell workers resume bbbbbbbb` lets it go on" in said
    assert_refused(folder.call("workers", "drain", "box-1/"), 1, "is a part of 2 ids")
    assert_refused(folder.call("workers", "resume", "nobody"), 4, "There is no worker 'nobody'")
    noted = [(entry.action, entry.subject[-8:]) for entry in bell.audit.list()]
    assert noted == [("workers.drain", "b" * 8), ("workers.resume", "a" * 8), *[("workers.drain", "a" * 8)] * 2]


def _add_lost(bell: Workbell) -> None:
    (here,) = bell.store.workers.list()
    changed: dict[str, Any] = {
        "id": "elsewhere/7/1/a",
        "host": "elsewhere",
        "started_at": here.started_at.replace(year=2020),
    }
    lost: Worker = msgspec.structs.replace(here, **changed, seen_at=changed["started_at"])
    bell.store.workers.put(lost)


def test_what_was_stored_cannot_steer_the_terminal(folder: Folder, bell: Workbell) -> None:
    steering = "\x1b]0;pwned\x07"
    run = bell.enqueue("greet", {"name": "Ada"})
    bell.cancel(run.id, f"a reason {steering}")
    told = folder.call("runs", "why", run.id)
    assert "a reason" in told.out
    endpoint, _ = bell.webhooks.add("https://hooks.example.com", patterns=["orders.*"])
    bell.webhooks.disable(endpoint.id, reason=f"because {steering}")
    found = folder.call("doctor")
    assert "because" in found.out
    wrong = folder.call("runs", "show", f"x{steering}yyyyyy")
    assert wrong.code == 4
    for answer in (told, found, wrong):
        assert not {"\x1b", "\x07"} & set(answer.out + answer.error), answer
