"""The beginning of a process for handlers: what it is told, and what it does before anything else."""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from workbell.engine.handler_processes.limits import die_first
from workbell.engine.handler_processes.orphan_exit import hang_on
from workbell.errors import JobsError
from workbell.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# By its name, as a command would be: it knows everything, also what is above the engine.
MAIN = "workbell.boot.handler_process"


class Entry(NamedTuple):
    """The worker's Workbell in words, and what surrounded the worker when it started the process."""

    recipe: bytes | None  # how to make the Workbell again, where the command line made it
    settings: bytes
    project: str
    folder: str
    environment: dict[str, str]


def entry(settings: Settings, project: Path, recipe: msgspec.Struct | None) -> Entry:
    """How a process is started that can execute the jobs of this Workbell, as things are at this moment."""
    if settings.url == "memory://":
        raise JobsError("the store memory:// is in the worker alone, and no process reaches it; use sqlite:///file.db.")
    spelled = None if recipe is None else msgspec.json.encode(recipe)
    return Entry(spelled, msgspec.json.encode(settings), str(project), str(Path.cwd()), dict(os.environ))


def no_entry() -> Entry:
    """Of an engine that was not told."""
    raise JobsError("this worker cannot start processes; run it with bell.run() or `workbell start`.")


def begin(connection: Connection, lifeline: Connection, given: Entry) -> None:
    """In the new process: a group of its own, which is killed as a whole, and an end when the worker ends."""
    if hasattr(os, "setsid"):
        os.setsid()
    hang_on(lifeline)
    die_first()
    # Signals to stop that go to every process of a service: the worker decides what follows from them. Handled and not
    # ignored, because a program that a handler starts would inherit being deaf.
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: None)
    # What it was forked from began before the worker had all of these.
    os.chdir(given.folder)
    os.environ.clear()
    os.environ.update(given.environment)
    importlib.import_module(MAIN).main(connection, given)
