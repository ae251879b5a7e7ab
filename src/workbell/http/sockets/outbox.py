"""Bounded send queue of one client; detects slow readers."""

from __future__ import annotations

from collections import deque

MOST = 1000  # messages
MOST_LETTERS = 1024 * 1024


class Outbox:
    """First in, first out. One message always fits, however long it is."""

    __slots__ = ("_letters", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._letters = 0

    def put(self, text: str) -> bool:
        """Whether there was room."""
        if self._waiting and (len(self._waiting) >= MOST or self._letters + len(text) > MOST_LETTERS):
            return False
        self._waiting.append(text)
        self._letters += len(text)
        return True

    def take(self) -> str | None:
        if not self._waiting:
            return None
        text = self._waiting.popleft()
        self._letters -= len(text)
        return text

    def __len__(self) -> int:
        return len(self._waiting)
