"""File-mode checks of the doctor: which other users of this machine can read or write the store and stored files."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbell.doctor.finding import Finding
from workbell.stores.port import Store
from workbell.stores.sqlite.store import SqliteStore


def check_modes(store: Store, _numbers: dict[str, Any]) -> Iterator[Finding]:
    if isinstance(store, SqliteStore):
        path = store.file.path
        yield from mode_findings(path, f"{shlex.quote(str(path))}*")


def mode_findings(path: Path, shown: str) -> Iterator[Finding]:
    """Finding about one file or folder; `shown` is its name in a shell, with the files that belong to it."""
    if not hasattr(os, "geteuid") or not path.exists() or not _others_get_to(path):
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    kind = "folder" if path.is_dir() else "file"
    if mode & stat.S_IWOTH:
        text = f"everybody on this machine can write to the {kind} {path} (mode {mode:04o})"
        yield Finding("risk", "modes", text, f"`chmod o= {shown}`.")
    elif mode & (stat.S_IXOTH if path.is_dir() else stat.S_IROTH):
        text = f"everybody on this machine can read the {kind} {path} (mode {mode:04o}), with what is secret in it"
        yield Finding("note", "modes", text, f"`chmod o= {shown}`.")


def _others_get_to(path: Path) -> bool:
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)
