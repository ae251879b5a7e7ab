"""Static files of the dashboard: loaded once in a process, compressed once, and cached by browsers until they change.

The page loads all modules as one script and all styles as one file instead of some 70 files. An installed wheel has
these two, made when it was built, in place of the modules; in a checkout they are made here (`bundle.py`). Either way
a thread loads the files as the service starts: a request that comes earlier waits for it, and no other request does.

Their address has a digest of all files in it, so a browser may cache them for ever; after an upgrade it never runs an
old module beside a new one.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import NotFound
from workbell.http.dashboard.bundle import MAIN, SCRIPT, STYLE, bundles, styles_of
from workbell.http.framework.compression import CompressedOnce
from workbell.http.framework.problems import of_error
from workbell.process.fork_safety import remake_after_fork

KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FOR_EVER = "public, max-age=31536000, immutable"
DIGITS = 12


class Assets(NamedTuple):
    """All files by their paths, and the digest that they have together."""

    digest: str
    by_path: dict[str, CompressedOnce]

    def of_page(self, *, single: bool) -> tuple[str, list[str]]:
        """The script and the styles that the page names: the bundles, or the single files where they are there."""
        if single and MAIN in self.by_path:
            return MAIN, styles_of(self.by_path)
        return SCRIPT, [STYLE]


class Loader:
    """Loads the files on a thread of its own, once in a process."""

    def __init__(self, load: Callable[[], Assets]) -> None:
        self._load = load
        self.make_process_state()
        remake_after_fork(self)

    def make_process_state(self) -> None:
        self._lock = threading.Lock()
        self._loading: Future[Assets] | None = None

    def begin(self) -> Future[Assets]:
        """Start loading, unless that was done; a failure is not kept."""
        with self._lock:
            known = self._loading
            if known is None or (known.done() and known.exception() is not None):
                known = self._loading = Future()
                known.set_running_or_notify_cancel()  # from here on, a caller that is cancelled cannot cancel it
                threading.Thread(target=self._run, args=(known,), name="workbell-dashboard", daemon=True).start()
            return known

    def _run(self, loading: Future[Assets]) -> None:
        try:
            loading.set_result(self._load())
        except BaseException as error:  # noqa: BLE001 - whoever waits raises it
            loading.set_exception(error)


def all_files() -> Assets:
    """All files; the bundles are made, if they are not there."""
    folder = files("workbell.http.dashboard") / "static"
    contents = {path: file.read_bytes() for path, file in sorted(_walk(folder, ""))}
    if SCRIPT not in contents:
        contents |= bundles(contents)
    digest = hashlib.sha256()
    for path, content in contents.items():
        digest.update(f"{path} {len(content)} ".encode() + content)
    made = {path: CompressedOnce.make(content, _kind(path) or "") for path, content in contents.items()}
    return Assets(digest.hexdigest()[:DIGITS], made)


def _walk(folder: Traversable, before: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        path = f"{before}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        elif _kind(path) is not None:
            yield path, entry


def _kind(path: str) -> str | None:
    return KINDS.get(path[path.rfind(".") :])


loader = Loader(all_files)


def begin_loading() -> None:
    """Start loading the files: called as a service starts, so that the first page need not wait."""
    loader.begin()


def assets() -> Assets:
    """All files, for a caller that may block."""
    return loader.begin().result()


async def load_assets() -> Assets:
    """All files; waits for the thread that loads them."""
    loading = loader.begin()
    return loading.result() if loading.done() else await asyncio.wrap_future(loading)


async def asset(request: Request) -> Response:
    """One file. The digest is there for the browser's memory only: after an upgrade, a page that is still open gets
    what there is now."""
    known = await load_assets()
    found = known.by_path.get(request.path_params["path"])
    if found is None:
        return of_error(NotFound("There is no such file of the dashboard; load the page again."))
    is_current = request.path_params["digest"] == known.digest
    return found.answer(request, {"Cache-Control": FOR_EVER if is_current else "no-store"})
