"""A10: a saved file is told soon, wherever in the project it lies, and what is no code of the project is not."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.waiting import until
from workbell.job_files import FileWatch
from workbell.job_files import watch as watch_module
from workbell.process.platform import VARIABLE


class Watched:
    """A project's folder under watch, and what was in the watched files at each call."""

    def __init__(self, folder: Path, polling: bool) -> None:
        self.folder = folder
        self.calls = 0
        self.seen: set[str] = set()
        self.fail = False
        self.watch = FileWatch(folder, "jobs", self.changed, leave_out=[folder / "storage"], polling=polling)

    def changed(self) -> None:
        self.calls += 1
        for file in self.folder.rglob("*.py"):
            try:
                self.seen.add(file.read_text())
            except FileNotFoundError:
                continue
        if self.fail:
            raise RuntimeError("the callback fails")

    def save(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def expect(self, text: str) -> None:
        until(lambda: text in self.seen, f"the call after {text!r}")


@pytest.fixture(autouse=True)
def with_notifications(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the other tests do without: both ways are tested here."""
    monkeypatch.setenv(VARIABLE, "auto")


@pytest.fixture(params=["listening", "polling"])
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    (tmp_path / "jobs").mkdir()
    watched = Watched(tmp_path, request.param == "polling")
    yield watched
    watched.watch.close()


def test_saved_edited_replaced(watched: Watched) -> None:
    watched.watch.start()
    watched.save("jobs/a.py", "one")  # at once: before the thread has come to watching
    watched.expect("one")
    for number in range(5):
        watched.save("jobs/a.py", f"edit {number}")
        watched.expect(f"edit {number}")
    watched.save("jobs/.a.py.tmp", "replaced")
    (watched.folder / "jobs/.a.py.tmp").rename(watched.folder / "jobs/a.py")
    watched.expect("replaced")


def test_deleted_and_moved(watched: Watched) -> None:
    watched.save("jobs/a.py", "one")
    watched.watch.start()
    before = watched.calls
    (watched.folder / "jobs/a.py").unlink()
    until(lambda: watched.calls > before, "the call after a file was deleted")


def test_folders_that_come_later(watched: Watched) -> None:
    (watched.folder / "jobs").rmdir()
    watched.watch.start()
    watched.save("jobs/a.py", "in a new folder")
    watched.expect("in a new folder")
    watched.save("jobs/reports/far/b.py", "far below")
    watched.expect("far below")
    watched.save("jobs/reports/far/b.py", "far below, edited")
    watched.expect("far below, edited")
    (watched.folder / "jobs/reports/far/b.py").unlink()
    (watched.folder / "jobs/reports/far").rmdir()
    watched.save("jobs/a.py", "after a folder went")
    watched.expect("after a folder went")


def test_helpers_of_the_project(watched: Watched) -> None:
    watched.save("mylib/deep/a.py", "old")
    watched.watch.start()
    watched.save("helper.py", "helper")
    watched.expect("helper")
    watched.save("mylib/deep/a.py", "deep")
    watched.expect("deep")


def test_what_is_no_code_of_the_project(watched: Watched) -> None:
    """Folders with the code of others are not even looked at, and other files are passed over."""
    paths = [
        ".venv/lib/a.py",
        "venv/lib/b.py",
        "jobs/__pycache__/a.py",
        ".git/a.py",
        "storage/x/a.py",
        "node_modules/a.py",
    ]
    for path in [*paths, "venv/pyvenv.cfg"]:
        watched.save(path, "before")
    watched.watch.start()
    folders = watched.watch._folders()
    assert {Path(folder).relative_to(watched.folder).as_posix() for folder in folders} == {".", "jobs"}
    for path in [*paths, "jobs/notes.txt", "jobs/.hidden.py"]:
        watched.save(path, "noise")
    for path in ("jobs/notes.txt", "jobs/.hidden.py", "jobs/__pycache__", ".git"):
        assert not watched.watch._matters(str(watched.folder / path), folders)
    watched.save("jobs/a.py", "signal")
    watched.expect("signal")


def test_an_error_in_the_call_ends_nothing(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    watched.fail = True
    watched.watch.start()
    for number in range(3):
        watched.save("jobs/a.py", f"edit {number}")
        watched.expect(f"edit {number}")
    until(lambda: "the callback fails" in caplog.text, "the line in the log")


def test_polling_where_there_are_no_notifications(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import watchfiles

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr(watchfiles, "watch", refuse)
    watched = Watched(tmp_path, polling=False)
    watched.watch.start()
    try:
        watched.save("jobs/a.py", "one")
        watched.expect("one")
        until(lambda: "limit reached" in caplog.text, "the line in the log")
    finally:
        watched.watch.close()


def test_polling_on_a_plain_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles

    asked: list[object] = []
    monkeypatch.setattr(watchfiles, "watch", lambda *folders, **_: asked.append(folders) or iter(()))
    monkeypatch.setenv(VARIABLE, "plain")
    watched = Watched(tmp_path, polling=False)
    watched.watch.start()
    try:
        watched.save("jobs/a.py", "one")
        watched.expect("one")
    finally:
        watched.watch.close()
    assert not asked


def test_closing_ends_the_thread(watched: Watched) -> None:
    watched.watch.start()
    watched.watch.close()
    assert not watched.watch._thread.is_alive()
    calls = watched.calls
    watched.save("jobs/a.py", "afterwards")
    assert watched.calls == calls
    watched.watch.close()  # again: nothing happens


def test_closing_from_inside_the_call(tmp_path: Path) -> None:
    closed = threading.Event()

    def close() -> None:
        watch.close()
        closed.set()

    watch = FileWatch(tmp_path, "jobs", close)
    watch.start()
    (tmp_path / "a.py").write_text("")
    assert closed.wait(30)
    until(lambda: not watch._thread.is_alive(), "the end of the thread")


def test_a_watch_that_was_never_started_can_be_closed(tmp_path: Path) -> None:
    FileWatch(tmp_path, "jobs", lambda: None).close()


def test_a_burst_is_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes that come together are told together: the pause after the last one is what counts."""
    given: dict[str, object] = {}
    asked = threading.Event()
    stop = threading.Event()
    import watchfiles

    def fake(*_: object, **options: object) -> Iterator[set[object]]:
        given.update(options)
        asked.set()
        stop.wait(30)
        yield from ()

    monkeypatch.setattr(watchfiles, "watch", fake)
    watch = FileWatch(tmp_path, "jobs", lambda: None)
    watch.start()
    assert asked.wait(30)
    stop.set()
    watch.close()
    assert (given["step"], given["recursive"]) == (watch_module.QUIET, False)
    assert watch_module.QUIET <= 100
    assert watch_module.MOST <= 300


def test_folders_that_cannot_be_listed_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    scan: Callable[..., object] = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    watched = Watched(tmp_path, polling=True)
    watched.watch.start()
    try:
        watched.save("a.py", "one")
        watched.expect("one")
    finally:
        watched.watch.close()
