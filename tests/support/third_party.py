"""Packages of third parties that provide stores or queues: installed in a folder, as pip would."""

from __future__ import annotations

from pathlib import Path

from tests.support.folder_queue import FOLDER_QUEUE

RENAMED = "renamed+sqlite"
# Our own store under another name: whoever goes by the scheme and not by the store notices.
DELEGATING = """
from pathlib import Path

from workbell.stores.sqlite.store import SqliteStore


def open_url(url, *, keep, connections):
    return SqliteStore(Path(url.removeprefix("renamed+sqlite:///")), keep=keep)
"""


def install_queue(folder: Path, code: str = FOLDER_QUEUE) -> Path:
    return install(folder, "folder_queue", code, "folder", "workbell.queues")


def install(
    folder: Path,
    name: str = "renamed_store",
    code: str = DELEGATING,
    scheme: str = RENAMED,
    group: str = "workbell.stores",
) -> Path:
    """A package that provides a store, or what the group says, by `open_url`; the folder belongs on the path."""
    about = folder / f"{name}-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.2\n", "utf-8")
    (about / "entry_points.txt").write_text(f"[{group}]\n{scheme} = {name}:open_url\n", "utf-8")
    (folder / f"{name}.py").write_text(code, "utf-8")
    return folder
