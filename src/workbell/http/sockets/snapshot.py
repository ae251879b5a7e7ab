"""Snapshot of a live view, and the difference between two: changed and removed rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbell.http.sockets.frames import CHUNK, SAME, body


class ViewSnapshot:
    """Encoded items by their ids, encoded log lines by attempt and line, and the cursor of what comes behind them.

    Never changed once it is made.
    """

    __slots__ = ("items", "logs", "next")

    def __init__(
        self, items: Mapping[str, str], logs: Mapping[tuple[int, int], str] | None = None, following: str | None = None
    ) -> None:
        self.items = items
        self.logs = logs or {}
        self.next = following

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ViewSnapshot)
            and self.items == other.items
            and self.logs == other.logs
            and self.next == other.next
        )

    __hash__ = object.__hash__


NOTHING = ViewSnapshot({})  # what a new subscriber has


def way(before: ViewSnapshot, now: ViewSnapshot) -> list[str]:
    """Bodies of the `changes` frames from one snapshot to another; for a new subscriber there is always one."""
    removed = [name for name in before.items if name not in now.items]
    items = [text for name, text in now.items.items() if before.items.get(name) != text]
    logs = [text for index, text in now.logs.items() if index not in before.logs]
    if not (removed or items or logs or before.next != now.next or before is NOTHING):
        return []
    following = SAME if before.next == now.next else now.next
    parts = list(_chunks(items)) or [[]]
    lines = list(_chunks(logs))
    bodies = [body(part, removed if index == 0 else None) for index, part in enumerate(parts[:-1])]
    last = body(parts[-1], removed if len(parts) == 1 else None, lines[0] if lines else None, following)
    return [*bodies, last, *(body([], None, part) for part in lines[1:])]


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    """Texts in chunks of up to CHUNK characters, one a frame."""
    part: list[str] = []
    letters = 0
    for text in texts:
        if part and letters + len(text) > CHUNK:
            yield part
            part, letters = [], 0
        part.append(text)
        letters += len(text)
    if part:
        yield part
