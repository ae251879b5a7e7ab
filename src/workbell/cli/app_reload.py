"""Code reload of `workbell dev`: when a loaded module of the app changes, the process executes its command again.

The engine stops as it does at Ctrl-C, then the process replaces itself (exec): same pid, same terminal, no child that
could be left behind. The environment is that of the first start, because an app may change it while it is loaded. The
socket of the API stays open, so that requests wait instead of being refused.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import msgspec

from workbell.app import Workbell
from workbell.cli.project import Project
from workbell.cli.reload_lines import BROKEN, RELOADED
from workbell.cli.run_lines import RunLines
from workbell.errors import WorkbellError
from workbell.job_files import FileWatch, FolderChange
from workbell.job_files.locations import ProjectFolders
from workbell.job_files.modules import is_for_jobs

MARK = "_WORKBELL_RELOADED"  # in the environment of a process that has executed itself again
ANNOUNCE = 5.0  # seconds for the announcement to be printed
STARTING = 0.05  # seconds between two tries to stop an engine that is only starting
STOPPED = 0.2  # seconds until a signal is seen that came just before a wait began: it would not interrupt that
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Reloaded(msgspec.Struct, frozen=True):
    """State handed over the exec: which files changed, and the listening socket."""

    files: list[str]
    door: int | None = None  # the descriptor of the socket of the API


class AppReload:
    """Made before the app is loaded; `before` says whether this is a first start."""

    def __init__(self, project: Project) -> None:
        state = os.environ.pop(MARK, None)
        self._environment, self._folder = dict(os.environ), Path.cwd()
        self.before = None if state is None else msgspec.json.decode(state, type=Reloaded)
        self._project = project
        self._folders = ProjectFolders(project.folder, project.settings.jobs)
        self._files = [] if self.before is None else self.before.files
        self._door = None if self.before is None or self.before.door is None else socket.socket(fileno=self.before.door)
        self._known: dict[Path, bytes] = {}
        self._broken: dict[Path, bytes] = {}
        self._over = threading.Event()
        self._announced = threading.Event()  # the reload was announced
        self.wanted = False
        if self.before is not None:
            _listen_again()

    # The socket

    def door(self) -> socket.socket | None:
        """The socket that the process before the reload has left."""
        return None if self._door is None else self._door.dup()

    def leave_open(self, door: socket.socket | None) -> None:
        """Hold a duplicate of the socket open across the reload."""
        if self._door is None and door is not None:
            self._door = door.dup()

    # Changed files

    def begin(self, bell: Workbell, lines: RunLines) -> None:
        """Watch the modules that are loaded now."""
        self._bell, self._lines = bell, lines
        self._known = self._loaded()
        if self.before is not None:
            jobs = ", ".join(job.name for job in bell.registry) or "none"
            lines.announce(RELOADED, f"reloaded {', '.join(self.before.files)}; jobs: {jobs}")

    def on_change(self, _change: FolderChange) -> None:
        """Listener of the engine, called when a Python file of the project was saved."""
        now = self._loaded()
        changed = {file: data for file, data in now.items() if self._known.setdefault(file, data) != data}
        broken = {file: text for file, data in changed.items() if (text := self._trouble(file, data)) is not None}
        for file, text in broken.items():
            if self._broken.get(file) != now[file]:
                self._lines.announce(BROKEN, f"{text} The code from before goes on.")
        self._broken = {file: now[file] for file in broken}
        if changed and not broken and not self.wanted:
            self.wanted = True
            self._files = sorted(self._folders.shown(file) for file in changed)
            grace = self._bell.settings.grace
            words = (
                f"{', '.join(self._files)} changed; reloading once what is running has ended, in {grace:g} s at most"
            )
            for file in changed:
                _forget_compiled(file)
            # Before the line is printed: a Ctrl-C after it must count as the second stop.
            while not self._bell.stop_soon() and not self._over.wait(STARTING):
                pass
            self._lines.announce(RELOADED, words)
            self._announced.set()

    def end(self) -> None:
        """The engine has ended, or could not start."""
        self._over.set()
        if self.wanted:
            self._announced.wait(ANNOUNCE)

    def _loaded(self) -> dict[Path, bytes]:
        """The app's own modules and what is in their files; job files are reloaded one by one, by the engine."""
        found = {}
        for name, module in list(sys.modules.items()):
            file = module.__dict__.get("__file__") if isinstance(module, ModuleType) else None
            if not isinstance(file, str) or not file.endswith(".py") or not self._folders.is_own(file):
                continue
            if not self._folders.names_module(name) and not is_for_jobs(module):
                with suppress(OSError):  # it is being saved, or gone: then what is loaded goes on
                    found[Path(file)] = Path(file).read_bytes()
        return found

    def _trouble(self, file: Path, data: bytes) -> str | None:
        try:
            compile(data, str(file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            return f"{self._folders.shown(file)}{line}: it cannot be read as Python: {reason}; correct it."
        return None

    # Again

    def wait(self, error: WorkbellError, lines: RunLines) -> NoReturn:
        """After a change that cannot be loaded: say why, and try again when something was saved."""
        saved = threading.Event()
        watch = FileWatch(
            self._project.folder,
            self._project.settings.jobs,
            saved.set,
            leave_out=[Path(self._project.settings.storage)],
        )
        watch.start()
        lines.announce(BROKEN, f"{error} Nothing runs until you save it again.")
        while not saved.wait(STOPPED):
            pass
        watch.close()
        lines.close()
        self.execute()

    def execute(self) -> NoReturn:
        """Become the same command again. Signals that come meanwhile wait for it."""
        hold_signals()
        door = None if self._door is None else self._door.fileno()
        if door is not None:
            os.set_inheritable(door, True)
        state = msgspec.json.encode(Reloaded(self._files, door)).decode()
        atexit._run_exitfuncs()  # as at any other end of a program
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir(self._folder)
        environment = self._environment | {MARK: state}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606  our own command


def hold_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def _listen_again() -> None:
    """Take the signals that came while the process replaced itself, and the children that ended meanwhile."""
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler)
    with suppress(ChildProcessError):  # of the code before, such as the one that isolated handlers are forked from
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _forget_compiled(file: Path) -> None:
    """Python trusts what it has compiled by the second and the size of the source; an edit can be quicker."""
    with suppress(OSError, NotImplementedError):
        Path(importlib.util.cache_from_source(str(file))).unlink()
