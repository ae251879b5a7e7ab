"""The text of a token: made once, shown once, and stored only as its SHA-256.

`wb_`, 32 random bytes as base64url, and a checksum of these. The prefix lets scanners for leaked secrets find one; the
checksum lets a mistyped one be refused without a read of the store; it adds no secrecy.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import string
from typing import Any, NamedTuple
from zlib import crc32

from workbell.model.access import Token

PREFIX = "wb_"
BYTES = 32  # as many bits as the SHA-256 that is stored: to guess a token is as hard as to undo its hash
BODY = 43  # characters that these are as base64url, without the padding
CHECK = 6  # characters of the checksum: 62**6 is more than 2**32
LENGTH = len(PREFIX) + BODY + CHECK

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_FORM = re.compile(rf"{PREFIX}([A-Za-z0-9_-]{{{BODY}}})([A-Za-z0-9]{{{CHECK}}})", re.ASCII)


class NewToken(NamedTuple):
    """A token, and its text: this once, and never again."""

    token: Token
    text: str

    def __repr__(self) -> str:
        return f"NewToken({self.token!r}, text=…)"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("token", self.token), ("text", "…")]


def new_text() -> str:
    return text_of(secrets.token_bytes(BYTES))


def text_of(body: bytes) -> str:
    """The text for 32 bytes."""
    text = base64.urlsafe_b64encode(body).rstrip(b"=").decode()
    return PREFIX + text + _checksum(text)


def is_token(text: object) -> bool:
    """Whether a text could be one of ours; whether it is valid, the store knows."""
    found = _FORM.fullmatch(text) if isinstance(text, str) and len(text) == LENGTH else None
    return found is not None and _checksum(found[1]) == found[2]


def hash_of(text: str) -> str:
    """SHA-256 of a token, which is stored. Its text is random, so it needs neither salt nor a slow hash."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def without_tokens(text: str) -> str:
    """A text for logs and lists: whatever has the form of a token is left out."""
    return _FORM.sub("…", text) if PREFIX in text else text


def _checksum(body: str) -> str:
    number, digits = crc32(body.encode()), ""
    for _ in range(CHECK):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
