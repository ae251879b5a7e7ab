"""Static files of the dashboard: read once, compressed once, and cached by browsers until they change.

The page loads all modules as one script and all styles as one file (`bundle.py`), instead of some 140 files.
Their address has a digest of all files in it, so a browser may cache them for ever; after an upgrade it never runs an
old module beside a new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import NotFound
from workbell.http.dashboard.bundle import bundle_script, bundle_style
from workbell.http.framework.compression import CompressedOnce
from workbell.http.framework.problems import of_error
from workbell.http.service import service_of

KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MAIN, EARLY = "main.js", "theme.js"  # the module that begins all others; the script that runs before the first paint
SCRIPT, STYLE = "bundle.js", "bundle.css"
FOR_EVER = "public, max-age=31536000, immutable"
DIGITS = 12


class Assets(NamedTuple):
    """All files by their paths, and the digest that they have together."""

    digest: str
    by_path: dict[str, CompressedOnce]

    @property
    def styles(self) -> list[str]:
        """Style sheets. Libraries first, so that ours can say otherwise; then by name, which their numbers are for."""
        found = [path for path in self.by_path if path.endswith(".css") and path != STYLE]
        return sorted(found, key=lambda path: (not path.startswith("vendor/"), path))

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self.by_path[path].content.decode() for path in paths}


@cache
def assets() -> Assets:
    """All files, and the bundles of them."""
    found = {path: _read(path, file) for path, file in sorted(_walk(files("workbell.http.dashboard") / "static", ""))}
    known = Assets("", found)
    modules = known.texts(path for path in found if path.endswith(".js") and path != EARLY)
    script, style = bundle_script(modules, MAIN), bundle_style(known.texts(known.styles))
    found |= {SCRIPT: _asset(SCRIPT, script.encode()), STYLE: _asset(STYLE, style.encode())}
    digest = hashlib.sha256()
    for path, asset in found.items():
        digest.update(f"{path} {len(asset.content)} ".encode() + asset.content)
    return Assets(digest.hexdigest()[:DIGITS], found)


async def load_assets(request: Request) -> Assets:
    """All files; on a thread the first time, as it takes a fifth of a second."""
    if assets.cache_info().currsize:
        return assets()
    return await service_of(request).client.runtime.hop(assets)


def _walk(folder: Traversable, before: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        path = f"{before}{entry.name}"
        if entry.is_dir():
            yield from _walk(entry, f"{path}/")
        elif _kind(path) is not None:
            yield path, entry


def _kind(path: str) -> str | None:
    return KINDS.get(path[path.rfind(".") :])


def _read(path: str, file: Traversable) -> CompressedOnce:
    return _asset(path, file.read_bytes())


def _asset(path: str, content: bytes) -> CompressedOnce:
    return CompressedOnce.make(content, _kind(path) or "")


async def asset(request: Request) -> Response:
    """One file. The digest is there for the browser's memory only: after an upgrade, a page that is still open gets
    what there is now."""
    known = await load_assets(request)
    found = known.by_path.get(request.path_params["path"])
    if found is None:
        return of_error(NotFound("There is no such file of the dashboard; load the page again."))
    is_current = request.path_params["digest"] == known.digest
    return found.answer(request, {"Cache-Control": FOR_EVER if is_current else "no-store"})
