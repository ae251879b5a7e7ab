"""JSON in and out of a run: encoding with limits, and cleaning of what could not be stored otherwise.

Two doors. What a *caller* hands in is checked and refused (`encode`). What a *handler* leaves behind must always
be bookable, so it is cleaned instead (`clean_text`, and `describe_error` of `error_text`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from workbell.errors import InvalidPayload

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


def encode(what: str, value: Any, limit: int = LIMIT) -> str:
    """A value as JSON text, within the limits of size and depth."""
    try:
        data = _encoder.encode(value)
    except Exception as error:
        raise InvalidPayload(f"{what} cannot be written as JSON: {clean_text(str(error), 500)}.") from error
    if len(data) > limit:
        raise InvalidPayload(
            f"{what} is {len(data):,} bytes as JSON and the limit is {limit:,}; store it elsewhere and pass its id."
        )
    # Counting brackets is cheap and settles almost every payload; only then is the depth really measured.
    if data.count(b"{") + data.count(b"[") > DEPTH and _depth(msgspec.json.decode(data)) > DEPTH:
        raise InvalidPayload(f"{what} is nested deeper than {DEPTH} levels; flatten it.")
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
