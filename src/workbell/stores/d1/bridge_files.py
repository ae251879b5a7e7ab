"""The files of a bridge: the Worker, the queries of this version and of the one before, and how to deploy them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import msgspec

from workbell.errors import WorkbellError
from workbell.stores.d1.query_set import QuerySet, previous_set, query_set

QUERIES = "queries.mjs"
CONFIG = "wrangler.jsonc"  # has the names and ids of its owner: never written over
OURS = ("worker.mjs", "queue.mjs", "README.md")


def write_bridge(folder: Path) -> list[str]:
    """Write the files into a folder, over those of an earlier version; the names of what was written."""
    texts = {name: _own(name) for name in OURS} | {QUERIES: queries_module(query_set(), previous_set())}
    if not (folder / CONFIG).exists():
        texts[CONFIG] = _own(CONFIG)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise WorkbellError(
            f"{error.filename or folder}: the bridge cannot be written there: {error.strerror}; choose another folder."
        ) from error
    return sorted(texts)


def queries_module(now: QuerySet, before: QuerySet | None) -> str:
    """The module that the Worker imports: sets of queries by their digests."""
    sets = {each.digest: each.queries for each in (before, now) if each is not None}
    listed = msgspec.json.format(msgspec.json.encode(sets), indent=1).decode()
    versions = now.version if before is None else f"{before.version} and {now.version}"
    return (
        f"// The queries of Workbell {versions}, written by `workbell bridge write`.\n"
        f'export const VERSION = "{now.version}";\nexport const SETS = {listed};\n'
    )


def _own(name: str) -> str:
    return files(__package__).joinpath("bridge", name).read_text("utf-8")
