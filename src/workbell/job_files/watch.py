"""File watch on a project's Python files: calls a function soon after one of them was saved.

Folders are watched one by one: a watch on the tree would include every folder of a virtual environment. When folders
are added or removed, a new watch begins. Changes in between are found by comparing the files' times.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from workbell.job_files.locations import ProjectFolders
from workbell.process.platform import platform
from workbell.trust.imports import is_foreign

log = logging.getLogger("workbell.job_files")

QUIET = 50  # milliseconds without another change, until a change is reported
MOST = 200  # milliseconds until it is reported, if changes do not end
COMPARE = 250  # milliseconds after which a new watch compares the files' times; the interval of polling

Times = dict[str, tuple[int, int, int]]


class FileWatch:
    """Calls `changed` on a thread of its own; calls never overlap, and an error in one ends nothing."""

    def __init__(
        self,
        project: Path,
        jobs: str,
        changed: Callable[[], object],
        *,
        leave_out: Iterable[Path] = (),
        polling: bool = False,
    ) -> None:
        self._project_folders = ProjectFolders(project, jobs)
        self._left_out = {str(folder.resolve()) for folder in leave_out}  # such as the folder of stored files
        self._changed = changed
        self._polling = polling or not platform().folder_events
        self._stop = threading.Event()
        self._seen: Times = {}
        self._thread = threading.Thread(target=self._run, name="workbell-watch", daemon=True)

    def start(self) -> None:
        """Start the thread; files saved from now on are reported."""
        self._seen = self._times(self._folders())
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            folders = self._folders()
            try:
                if self._polling:
                    self._poll(folders)
                else:
                    self._listen(folders)
            except FileNotFoundError:  # a folder went away just now
                self._stop.wait(QUIET / 1000)
            except Exception as error:  # noqa: BLE001  no notifications: limits, network file systems
                log.warning("files cannot be watched (%s); comparing their times every %d ms instead", error, COMPARE)
                self._polling = True

    def _listen(self, folders: list[str]) -> None:
        import watchfiles  # a slow import that only `--watch` needs

        self._compare(folders)
        first = True
        for changes in watchfiles.watch(
            *folders,
            watch_filter=lambda _change, path: self._matters(path, folders),
            debounce=MOST,
            step=QUIET,
            stop_event=self._stop,
            rust_timeout=COMPARE,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
        ):
            if (changes or first) and self._folders() != folders:
                return  # to a new watch
            if changes:
                self._seen = self._times(folders)
                self._call()
            elif first:
                self._compare(folders)
            first = False

    def _poll(self, folders: list[str]) -> None:
        self._compare(folders)
        self._stop.wait(COMPARE / 1000)

    def _compare(self, folders: list[str]) -> None:
        now = self._times(folders)
        if now != self._seen:
            self._seen = now
            self._call()

    def _call(self) -> None:
        try:
            self._changed()
        except Exception:
            log.exception("after a change of job files")

    def _matters(self, path: str, folders: list[str]) -> bool:
        """Whether a path is a Python file, or a folder that was added or removed."""
        name = os.path.basename(path)  # noqa: PTH119
        if is_foreign(name):
            return False
        return name.endswith(".py") or path in folders or os.path.isdir(path)  # noqa: PTH112

    def _folders(self) -> list[str]:
        """Every folder that can hold the project's own code; the project's folder always."""
        found: list[str] = []
        for top in (self._project_folders.project, self._project_folders.jobs):
            if str(top) in found or not top.is_dir():
                continue
            for folder, below, _ in os.walk(top):
                below[:] = [name for name in below if not self._is_left_out(folder, name)]
                found.append(folder)
        return sorted(set(found)) or [str(self._project_folders.project)]

    def _is_left_out(self, folder: str, name: str) -> bool:
        path = os.path.join(folder, name)  # noqa: PTH118
        return is_foreign(name) or path in self._left_out or os.path.exists(f"{path}/pyvenv.cfg")  # noqa: PTH110

    def _times(self, folders: list[str]) -> Times:
        times: Times = {}
        for folder in folders:
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.name.endswith(".py"):
                            state = entry.stat()
                            times[entry.path] = (state.st_mtime_ns, state.st_size, state.st_ino)
            except OSError:
                continue
        return times
