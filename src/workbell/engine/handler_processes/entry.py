"""Entry point of a handler process: the settings it gets, and its first steps."""

from __future__ import annotations

import importlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from workbell.engine.handler_processes.limits import die_first
from workbell.engine.handler_processes.orphan_exit import end_with, hang_on
from workbell.errors import JobsError
from workbell.handlers.registry import Registry
from workbell.settings import Settings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# Imported by name: it is a composition root, in a layer above the engine.
MAIN = "workbell.boot.handler_process"


class HookNames(NamedTuple):
    """Hooks of the worker's Workbell, by the names of their functions."""

    plain: tuple[str, ...] = ()  # around plain handlers
    on_loop: tuple[str, ...] = ()  # around async handlers
    on_start: tuple[str, ...] = ()  # of the process


NO_HOOKS = HookNames()


def hook_names(registry: Registry) -> HookNames:
    return HookNames(
        plain=tuple(hook.name for hook in registry.hooks_of(is_async=False)),
        on_loop=tuple(hook.name for hook in registry.hooks_of(is_async=True)),
        on_start=tuple(registry.worker_start.names),
    )


class Entry(NamedTuple):
    """The worker's Workbell as data, and the worker's environment when it started the process."""

    recipe: bytes | None  # how to make the Workbell again, where the command line made it
    settings: bytes
    project: str
    folder: str
    environment: dict[str, str]
    hooks: HookNames = NO_HOOKS  # used without a recipe: the module of a job may not be that of all hooks


def entry(settings: Settings, project: Path, recipe: msgspec.Struct | None, hooks: HookNames = NO_HOOKS) -> Entry:
    """Entry for a process that can execute the jobs of this Workbell, with the current environment."""
    if settings.url == "memory://":
        raise JobsError("the store memory:// is in the worker alone, and no process reaches it; use sqlite:///file.db.")
    encoded = None if recipe is None else msgspec.json.encode(recipe)
    return Entry(encoded, msgspec.json.encode(settings), str(project), str(Path.cwd()), dict(os.environ), hooks)


def no_entry() -> Entry:
    """Default of an engine that was given no entry: it cannot start processes."""
    raise JobsError("this worker cannot start processes; run it with bell.run() or `workbell start`.")


def begin(connection: Connection, lifeline: Connection, given: Entry) -> None:
    """Start of the new process: its own process group, killed as a whole, and an exit when the worker ends."""
    if hasattr(os, "setsid"):
        os.setsid()
    hang_on(lifeline)
    die_first()
    # Signals to stop that go to every process of a service: the worker decides what follows from them. Handled and not
    # ignored: SIG_IGN survives exec, so a program that a handler starts would ignore SIGTERM.
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: None)
    # The fork server was started earlier, perhaps with another folder and environment.
    os.chdir(given.folder)
    os.environ.clear()
    os.environ.update(given.environment)
    importlib.import_module(MAIN).main(connection, given)
    end_with(lifeline)
