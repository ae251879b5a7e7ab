"""`workbell dev` reloads the code of the app: edited, broken, mended, and stopped at every moment."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.command_line import command, environment
from tests.support.fleet import children
from tests.support.waiting import until
from workbell import Status, Workbell

APP = """
import os
import threading
from pathlib import Path

from helper import name
from workbell import Context, Workbell

bell = Workbell()
os.environ["CHANGED_BY_THE_APP"] = os.environ.get("CHANGED_BY_THE_APP", "") + "x"


@bell.job(every=1)
def greet() -> str:
    return f"Hello, {name()} {os.getpid()} {os.environ['CHANGED_BY_THE_APP']}!"


@bell.job(isolate="process", every=1)
def apart() -> str:
    return f"apart {name()}"


@bell.job
def slow(ctx: Context) -> None:
    Path("begun").touch()
    threading.Event().wait()
"""
HELPER = "def name() -> str:\n    return 'world'\n"


class Dev:
    """The command as a user types it: what it executes again is itself."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process = process
        self._output = output

    def text(self) -> str:
        return self._output.read_text("utf-8", "replace")

    def await_line(self, pattern: str, after: int = 0) -> int:
        def find() -> re.Match[str] | None:
            assert self.process.poll() is None, self.text()
            return re.compile(pattern, re.MULTILINE).search(self.text(), after)

        found = until(find, f"a line like {pattern}", 60)
        assert found is not None
        return found.end()

    def stop(self, number: signal.Signals = signal.SIGINT) -> str:
        self.process.send_signal(number)
        assert self.process.wait(60) == 0, self.text()
        return self.text()


@contextmanager
def dev(folder: Path, *arguments: str, **extra: str) -> Iterator[Dev]:
    output = folder.with_suffix(".txt")
    with output.open("wb") as file:
        process = subprocess.Popen(
            command("dev", "--app", "shop:bell", *arguments),
            cwd=folder,
            env=environment(**extra),
            stdout=file,
            stderr=file,
        )
    try:
        yield Dev(process, output)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(APP)
    (folder / "helper.py").write_text(HELPER)
    return folder


def test_an_edit_changes_the_next_run(shop: Path) -> None:
    helper = shop / "helper.py"
    with dev(shop, "--http", "--port", "0") as running:
        pid = running.process.pid
        place = running.await_line(rf"greet .* Hello, world {pid} x!$")
        running.await_line(r"apart .* apart world$")
        found = re.search(r"open +(http://\S+?)/\?", running.text())
        assert found is not None

        helper.write_text(HELPER.replace("world", "there"))  # as long as before
        place = running.await_line(r"^\S+ . helper\.py changed; reloading once what is running has ended", place)
        place = running.await_line(r"^\S+ . reloaded helper\.py; jobs: greet, apart, slow$", place)
        place = running.await_line(rf"greet .* Hello, there {pid} x!$", place)
        place = running.await_line(r"apart .* apart there$", place)
        assert "world" not in running.text()[place:]
        assert running.text().count("Ctrl-C stops it.") == 1, "the header is shown once"
        with urllib.request.urlopen(f"{found[1]}/healthz", timeout=30) as answer:
            assert answer.status == 200

        helper.write_text("def name( -> str:\n")
        place = running.await_line(
            r"^\S+ . helper\.py:1: it cannot be read as Python: .*The code from before goes on", place
        )
        place = running.await_line(r"Hello, there", place)

        helper.write_text("1 / 0\n")
        place = running.await_line(r"^\S+ . helper\.py:1: ZeroDivisionError: .* Nothing runs until you save it", place)
        helper.write_text(HELPER.replace("world", "again"))
        place = running.await_line(r"^\S+ . reloaded helper\.py; jobs: greet, apart, slow$", place)
        place = running.await_line(rf"greet .* Hello, again {pid} x!$", place)
        left = children(pid)
        text = running.stop()
    assert re.search(r"\nStopped after .*: .*\d+ succeeded.*\n$", text)
    assert "Traceback" not in text
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in left), "what it started to be gone")


def test_stopped_while_nothing_can_be_loaded(shop: Path) -> None:
    with dev(shop) as running:
        place = running.await_line(r"Hello, world")
        (shop / "shop.py").write_text("nothing\n")
        running.await_line(r"NameError: .* Nothing runs until", place)
        text = running.stop(signal.SIGTERM)
    assert "Traceback" not in text


def test_a_signal_that_interrupts_no_wait_stops_it_too(shop: Path) -> None:
    """As one does that comes a moment before the main thread begins to wait: here, one that another thread gets."""
    with dev(shop) as running:
        place = running.await_line(r"Hello, world")
        (shop / "shop.py").write_text("nothing\n")
        running.await_line(r"NameError: .* Nothing runs until", place)
        pid = running.process.pid
        other = next(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir() if int(task.name) != pid)
        assert ctypes.CDLL(None).tgkill(pid, other, signal.SIGTERM) == 0
        assert running.process.wait(60) == 0, running.text()


def test_stopped_while_a_handler_holds_up_the_reload(shop: Path) -> None:
    with dev(shop, "--start", "slow", WORKBELL_GRACE="3600") as running:
        until((shop / "begun").exists, "the handler to begin")
        (shop / "helper.py").write_text(HELPER.replace("world", "there"))
        running.await_line(r"helper\.py changed; reloading")
        text = running.stop()
    assert "reloaded" not in text
    with Workbell(f"sqlite:///{shop}/workbell.db") as bell:
        (run,) = bell.runs(job="slow")
        assert (run.status, run.failures) == (Status.QUEUED, 0), "handed back, and nothing is spent"


def test_a_first_start_that_fails_ends(shop: Path) -> None:
    (shop / "helper.py").write_text("1 / 0\n")
    done = subprocess.run(
        command("dev", "--app", "shop:bell"), cwd=shop, env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode not in (0, 70)
    assert done.stderr.startswith("workbell: helper.py:1: ZeroDivisionError")
    assert not os.environ.get("_WORKBELL_RELOADED")
