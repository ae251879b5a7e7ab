"""Time zones by name, cached; a name is checked before it reaches the file system."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from workbell.errors import JobsError
from workbell.timing.instants import shorten

_NAME = re.compile(r"[A-Za-z0-9_+\-]{1,32}(/[A-Za-z0-9_+\-]{1,32}){0,2}")
# Files beside the zones: the machine's own zone is no name others know, and `right/` counts leap seconds.
_NO_ZONES = ("localtime", "posixrules", "posix/", "right/")


def resolve_timezone(name: str) -> ZoneInfo:
    """The zone of an IANA name such as Europe/Paris."""
    if not isinstance(name, str):
        raise JobsError(f"time zone: expected a name, got {type(name).__name__}; write one such as 'Europe/Paris'.")
    return _find_zone(name)


@lru_cache(maxsize=1024)
def _find_zone(name: str) -> ZoneInfo:
    if not _NAME.fullmatch(name) or name.startswith(_NO_ZONES):
        raise JobsError(f"time zone {shorten(name)} is not an IANA name; write one such as 'Europe/Paris' or 'UTC'.")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, a file that is no zone, a folder
        raise JobsError(f"time zone {name!r} is unknown; {_remedy(name)}") from None


def _remedy(name: str) -> str:
    known = _known_names()
    close = known.get(name.lower()) or next(iter(get_close_matches(name, known.values(), 1)), None)
    return f"did you mean {close!r}?" if close else "write an IANA name such as 'Europe/Paris' or 'UTC'."


@lru_cache(maxsize=1)
def _known_names() -> dict[str, str]:
    return {name.lower(): name for name in sorted(available_timezones())}
