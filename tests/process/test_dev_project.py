"""A project of job files as a new user meets it: made, run, edited, broken, mended, emptied (A1, A2, A9, A10)."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.command_line import call, command, environment
from tests.support.waiting import until
from workbell import Workbell


class Process:
    """A command that goes on, and what it has said so far."""

    def __init__(self, process: warm.Process, output: Path) -> None:
        self._process = process
        self._output = output

    def text(self) -> str:
        return self._output.read_text("utf-8", "replace")

    def await_line(self, pattern: str, after: int = 0) -> int:
        """Until a line matches; the answer is where the text went on behind it."""

        def find() -> re.Match[str] | None:
            assert self._process.poll() is None, self.text()
            return re.compile(pattern, re.MULTILINE).search(self.text(), after)

        found = until(find, f"a line like {pattern}", 60)
        assert found is not None
        return found.end()

    def stop(self, number: signal.Signals = signal.SIGINT) -> str:
        self._process.send_signal(number)
        assert self._process.wait(60) == 0, self.text()
        return self.text()


@contextmanager
def going(folder: Path, *arguments: str, **extra: str) -> Iterator[Process]:
    output = folder.with_suffix(".txt")
    with output.open("wb") as file:
        process = warm.start("workbell", *arguments, folder=folder, environment=environment(**extra), out=file)
    try:
        yield Process(process, output)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    assert call(tmp_path, "init", "demo").code == 0
    return tmp_path / "demo"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def test_a_project_while_it_is_worked_on(demo: Path) -> None:
    """`init`, `dev`, a run; an edit changes the next one; what is broken goes on as it was; what is gone is off."""
    hello = demo / "jobs" / "hello.py"
    with going(demo, "dev") as dev:
        place = dev.await_line(r"^\S+ . hello +\S+ succeeded .* Hello, world!$")
        header = dev.text()[:place]
        assert "files jobs/hello.py" in header
        assert re.search(r"^  next  hello  (in .*|now): every 2 seconds, ", header, re.MULTILINE)
        assert "reloaded" not in header

        edit(hello, "world", "Ada")
        place = dev.await_line(r"^\S+ . reloaded jobs/hello\.py: every 2 seconds, .*$", place)
        place = dev.await_line(r"succeeded .* Hello, Ada!$", place)
        assert "world" not in dev.text()[place:]

        edit(hello, "def run(ctx):", "def run(ctx:")
        place = dev.await_line(r"^\S+ . jobs/hello\.py:\d+: .*The last good version goes on\.$", place)
        place = dev.await_line(r"succeeded .* Hello, Ada!$", place)

        edit(hello, "def run(ctx:", "def run(ctx):")
        edit(hello, "Ada", "Eve")
        place = dev.await_line(r"succeeded .* Hello, Eve!$", place)

        (demo / "jobs" / "second.py").write_text('schedule = "nonsense"\n\ndef run(): ...\n')
        place = dev.await_line(r"^\S+ . jobs/second\.py:1: .*Until then it is left out\.$", place)
        hello.unlink()
        dev.await_line(r"^\S+ . jobs/hello\.py is gone; its schedule is switched off$", place)
        text = dev.stop()
    assert " error " not in text, "problems are lines of the terminal, and not also of the log"
    assert re.search(r"\nStopped after .*: \d+ succeeded\.\n", text)
    with Workbell(f"sqlite:///{demo}/workbell.db") as bell:
        schedule = bell.schedules.get("hello")
        assert not schedule.enabled
        assert "its job file is gone" in (schedule.reason or "")


def test_as_a_service(demo: Path) -> None:
    """`start`: a log line for every run, as JSON where nobody looks on, and no watch unless it is asked for."""
    line = r'"event":"run succeeded",.*"job":"hello",.*"attempt":1,.*"duration_s":[\d.e-]+,"result":"Hello, %s!"\}$'
    with going(demo, "start", "--watch") as service:
        place = service.await_line(line % "world")
        edit(demo / "jobs" / "hello.py", "world", "Ada")
        place = service.await_line(r'"event":"job file jobs/hello\.py: reloaded"', place)
        service.await_line(line % "Ada", place)
        for told in service.stop(signal.SIGTERM).splitlines():
            assert list(json.loads(told))[:4] == ["ts", "level", "event", "logger"]
    line = r'^\S+ info +run succeeded  run_id=\S+  job=hello  attempt=1 .* result="Hello, %s!"$'
    with going(demo, "start", WORKBELL_LOG_FORMAT="text") as service:
        place = service.await_line(line % "Ada")
        edit(demo / "jobs" / "hello.py", "Ada", "Eve")
        place = service.await_line(line % "Ada", place)
        service.await_line(line % "Ada", place)
        assert "Eve" not in service.stop()


def test_a_folder_of_jobs_is_enough(tmp_path: Path) -> None:
    """A1: without a workbell.toml and without an app."""
    folder = tmp_path / "bare"
    (folder / "jobs").mkdir(parents=True)
    (folder / "jobs" / "tick.py").write_text('schedule = "* * * * * *"\n\nasync def run():\n    return "tick"\n')
    with going(folder, "dev") as dev:
        dev.await_line(r"succeeded .* tick$")
        dev.stop()
    with Workbell(f"sqlite:///{folder}/workbell.db") as bell:
        assert bell.schedules.get("tick").source == "file:bare"


def test_a_project_without_jobs_is_no_error(tmp_path: Path) -> None:
    """A1: and a first job file is taken over while it runs."""
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "workbell.toml").touch()
    with going(folder, "dev") as dev:
        place = dev.await_line(r"none yet: `workbell init`")
        place = dev.await_line(r"Ctrl-C stops it\.", place)
        (folder / "jobs").mkdir()
        (folder / "jobs" / "first.py").write_text('schedule = "* * * * * *"\n\ndef run():\n    return "here"\n')
        place = dev.await_line(r"^\S+ . loaded jobs/first\.py: every second, ", place)
        dev.await_line(r"succeeded .* here$", place)
        dev.stop()


@pytest.mark.parametrize("answer", ["y", "n"])
def test_an_empty_folder_is_offered_a_project(answer: str, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("dev"), cwd=tmp_path, env=environment(TERM="dumb"), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    text = ""
    try:
        while "[Y/n]" not in text:
            text += os.read(ours, 10_000).decode(errors="replace")
        os.write(ours, f"{answer}\n".encode())
        if answer == "y":
            while "Hello, world!" not in text:
                text += os.read(ours, 10_000).decode(errors="replace")
            process.send_signal(signal.SIGINT)
        try:
            while more := os.read(ours, 10_000):
                text += more.decode(errors="replace")
        except OSError:  # the other end is closed
            pass
        code = process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert code == (0 if answer == "y" else 78), text
    assert (tmp_path / "jobs" / "hello.py").exists() is (answer == "y")


def test_the_address_to_sign_in_is_the_one_that_is_served(tmp_path: Path) -> None:
    """Also where the usual port is taken: it is noted in the store."""
    folder = tmp_path / "shop"
    assert call(tmp_path, "init", "shop").code == 0
    with going(folder, "dev", "--port", "0", WORKBELL_HTTP="true") as process:
        process.await_line(r"open +http://127\.0\.0\.1:\d+/\?token=")
        shown = re.search(r"http://127\.0\.0\.1:\d+/\?token=", process.text())
        assert shown is not None
        # The address is printed before it is served.
        printed = until(lambda: call(folder, "tokens", "url").out, "a service that runs", 60)
        assert printed.startswith(shown[0])
        process.stop()
    answer = call(folder, "tokens", "url")
    assert answer.code == 69
    assert "No service runs for" in answer.error
