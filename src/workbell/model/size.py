"""Sizes of memory in words: `512MB`, `1.5GB`, `256MiB`."""

from __future__ import annotations

import re

from workbell.errors import InvalidOption

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?(|B|KB|MB|GB|TB|KIB|MIB|GIB|TIB)\Z", re.ASCII)
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def read_size(name: str, value: int | str) -> int:
    """Bytes. `MB` is a million of them, `MiB` is 1,048,576."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InvalidOption(f"{name}: expected bytes or a text such as '512MB', got {type(value).__name__}.")
    found = _SIZE.match(str(value).strip().upper())
    if found is None:
        raise InvalidOption(f"{name}: {str(value)[:40]!r} is not a size; write one such as 512MB, 1.5GB or 256MiB.")
    number, unit = found.groups()
    base = 1024 if unit.endswith("IB") else 1000
    size = int(float(number) * base ** _POWER[unit.removesuffix("B").removesuffix("I")])
    if not 0 < size < 2**62:
        raise InvalidOption(f"{name}: {value} is not a size of 1 byte or more.")
    return size
