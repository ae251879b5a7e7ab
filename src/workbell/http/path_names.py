"""Names in URL paths: a slash within a name is written %2F.

Servers decode a path before a route can distinguish the two, so if there is one, the path is read once more as it was
sent. Any printable character may be part of a name, and what can be listed must be reachable.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any
from urllib.parse import unquote

STAND_IN = "\ue02f"  # for a slash within a name; no name has it, because it is not printable
_SLASH = re.compile("%2f", re.IGNORECASE)

Connection = MutableMapping[str, Any]


def with_whole_names(scope: Connection) -> Connection | None:
    """The connection with a path of which a slash always ends a name; none, if its path is such already."""
    raw = scope.get("raw_path") or b""
    if b"%2" not in raw:  # asked of every route: the cheap question first
        return None
    text = raw.decode("ascii", "replace")
    if not _SLASH.search(text) or unquote(text) != scope["path"]:  # or it is not what the path was made from
        return None
    return {**scope, "path": unquote(_SLASH.sub(STAND_IN, text))}


def whole_name(value: Any) -> Any:
    """A part of such a path as it was meant."""
    return value.replace(STAND_IN, "/") if isinstance(value, str) else value
