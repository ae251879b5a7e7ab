"""Headers that a caller adds to a request: which names and values are taken, and which belong to the connection."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbell.errors import InvalidOption

MOST = 50
LONGEST = 4096

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)?")
# Headers of the sender itself, and those that could make two programs disagree about the end or target of a request.
_OWN = frozenset(
    "accept-encoding connection content-length expect host keep-alive te trailer transfer-encoding upgrade".split()
)
_OWN_PREFIX = "proxy-"


def check_headers(headers: Mapping[str, str], reserved: tuple[str, ...] = ()) -> dict[str, str]:
    """The headers with names in lower case, or InvalidOption. `reserved` are beginnings of names that are taken.

    Values are never part of a message: they may be tokens.
    """
    if len(headers) > MOST:
        raise InvalidOption(f"headers: {len(headers)} are more than {MOST}.")
    checked: dict[str, str] = {}
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidOption(
                f"headers: {str(name)[:100]!r} is not a header's name; use letters, digits and hyphens."
            )
        lower = name.lower()
        if lower in _OWN or lower.startswith((_OWN_PREFIX, *reserved)):
            raise InvalidOption(f"headers: {name} is set by Workbell itself; leave it out.")
        if not isinstance(value, str) or len(value) > LONGEST or not _VALUE.fullmatch(value):
            raise InvalidOption(
                f"headers: the value of {name} must be a text in ASCII on one line, of {LONGEST:,} characters at most."
            )
        if lower in checked:
            raise InvalidOption(f"headers: {name} is given twice.")
        checked[lower] = value
    return checked
