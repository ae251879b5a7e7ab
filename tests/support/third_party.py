"""Packages of third parties that provide stores: installed in a folder, as pip would."""

from __future__ import annotations

from pathlib import Path

RENAMED = "renamed+sqlite"
# Our own store under another name: whoever goes by the scheme and not by the store notices.
DELEGATING = """
from pathlib import Path

from workbell.stores.sqlite.store import SqliteStore


def open_url(url, *, keep, connections):
    return SqliteStore(Path(url.removeprefix("renamed+sqlite:///")), keep=keep)
"""


def install(folder: Path, name: str = "renamed_store", code: str = DELEGATING, scheme: str = RENAMED) -> Path:
    """A package that provides a store by the function `open_url`; the folder belongs on the path."""
    about = folder / f"{name}-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.2\n", "utf-8")
    (about / "entry_points.txt").write_text(f"[workbell.stores]\n{scheme} = {name}:open_url\n", "utf-8")
    (folder / f"{name}.py").write_text(code, "utf-8")
    return folder
