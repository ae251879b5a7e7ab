"""JSON of inputs and results: encoding with limits, and cleaning of what could not be stored otherwise.

Two doors. What a *caller* passes in is checked and refused (`encode`). What a *handler* leaves behind must always
be bookable, so it is cleaned instead (`encode_result`, `clean_text`, and `describe_error` of `error_text`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec

from workbell.errors import InvalidInput

LIMIT = 256 * 1024
DEPTH = 32
ERROR_LIMIT = 16 * 1024


def encode_other(value: Any) -> Any:
    """Pydantic models are taken as they are; everything else unknown is refused."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise NotImplementedError(f"{type(value).__qualname__} cannot be written as JSON")


_encoder = msgspec.json.Encoder(enc_hook=encode_other)
_strict = json.JSONEncoder(allow_nan=False, check_circular=False)  # for plain values: others are a TypeError to it


def _encode_raw(value: Any) -> Any:
    """The same with the floats of a Pydantic model as they are: in its own JSON, NaN is null already."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="python")
    raise NotImplementedError(f"{type(value).__qualname__} cannot be written as JSON")


def encode(what: str, value: Any, limit: int = LIMIT) -> str:
    """A value as JSON text, within the limits of size and depth. NaN and infinities, which JSON lacks, are refused."""
    text = encode_result(what, value, limit)
    if "null" in text:  # most have none, and need not be walked through
        check_finite(what, value)
    return text


def check_finite(what: str, value: Any) -> None:
    """Raise InvalidInput if a value has floats that JSON cannot carry: msgspec writes them as null."""
    try:  # in C: 3 µs for a small one, and not 9
        _strict.encode(value)
        return
    except (TypeError, ValueError, RecursionError):
        found = find_not_finite(_as_builtins(value))
    if found is not None:
        path, number = found
        where = f"{what}: {clean_text(path, 200) if path.isprintable() else repr(path)[:200]}" if path else what
        raise InvalidInput(f"{where} is {number}, which JSON cannot carry; leave it out, or use None or a text.")


def _as_builtins(value: Any) -> Any:
    hooks: list[Callable[[Any], Any]] = [_encode_raw, encode_other]
    for hook in hooks:
        try:
            return msgspec.to_builtins(value, str_keys=True, enc_hook=hook)
        except Exception:  # noqa: BLE001, S112  a model may hold what only its own JSON can show
            continue
    return None


def find_not_finite(value: Any) -> tuple[str, float] | None:
    """The first NaN or infinity in plain values, and its path, such as `prices[3].net`; None, if all is JSON."""
    stack = [("", value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return path, item
        elif isinstance(item, dict):
            stack.extend((f"{path}.{name}" if path else str(name), part) for name, part in reversed(item.items()))
        elif isinstance(item, list | tuple):
            stack.extend((f"{path}[{number}]", part) for number, part in reversed([*enumerate(item)]))
    return None


def encode_result(what: str, value: Any, limit: int = LIMIT) -> str:
    """A handler's result as JSON text, within the same limits; NaN and infinities become null."""
    return within_limits(what, encode_any(what, value), limit)


def encode_any(what: str, value: Any) -> bytes:
    """A value as JSON of any size."""
    try:
        return _encoder.encode(value)
    except Exception as error:
        raise InvalidInput(f"{what} cannot be written as JSON: {clean_text(str(error), 500)}.") from error


def within_limits(what: str, data: bytes, limit: int = LIMIT) -> str:
    """JSON as text; raises InvalidInput if it is too large or nested too deeply."""
    if len(data) > limit:
        raise InvalidInput(
            f"{what} is {len(data):,} bytes as JSON and the limit is {limit:,}; store it elsewhere and pass its id."
        )
    # Counting brackets is cheap and settles almost every input; only then is the depth really measured.
    if data.count(b"{") + data.count(b"[") > DEPTH and _depth(msgspec.json.decode(data)) > DEPTH:
        raise InvalidInput(f"{what} is nested deeper than {DEPTH} levels; flatten it.")
    return data.decode()


def decode(text: str | None) -> Any:
    """JSON text back to plain values."""
    return None if text is None else msgspec.json.decode(text)


def _depth(value: Any) -> int:
    deepest, stack = 0, [(value, 1)]
    while stack:
        item, level = stack.pop()
        if isinstance(item, dict | list):
            deepest = max(deepest, level)
            children = item.values() if isinstance(item, dict) else item
            stack.extend((child, level + 1) for child in children)
    return deepest


def clean_text(text: str, limit: int = ERROR_LIMIT) -> str:
    """Text that every store accepts: no NUL, no lone surrogates, and a bounded length (the middle is cut out)."""
    if len(text) > limit:
        half = max(limit // 2 - 40, 1)
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
