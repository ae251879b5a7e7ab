"""HTTP answer of a target: its status, `Retry-After`, and the beginning of its body."""

from __future__ import annotations

import codecs
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

MOST_BYTES = 1024
STORED_HEADERS = frozenset({"retry-after"})


class HttpAnswer(NamedTuple):
    """An HTTP answer. `body_start` is at most the first kilobyte, as text that can be stored and shown."""

    status: int
    headers: dict[str, str]
    body_start: str
    duration: float

    def retry_after(self, now: datetime) -> float | None:
        """`Retry-After` in seconds; None if it is missing or unclear."""
        text = self.headers.get("retry-after", "").strip()
        if text.isascii() and text.isdigit():
            return float(text[:12])
        try:
            at = parsedate_to_datetime(text)
        except (ValueError, IndexError, TypeError, OverflowError):
            return None
        # A date without a zone is in UTC, as every date of HTTP is.
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())


def readable_start(body: bytes) -> str:
    """The first kilobyte as text without control characters; a character that is cut in two is left out."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(body[:MOST_BYTES], final=len(body) <= MOST_BYTES)
    return "".join(letter if letter in "\n\t" or letter.isprintable() else _stand_in(letter) for letter in text)


def _stand_in(letter: str) -> str:
    return "" if letter == "\r" else "\N{REPLACEMENT CHARACTER}"
