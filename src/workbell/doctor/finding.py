"""A finding: one thing that was looked at, how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

MOST = 20  # of one kind are told one by one


class Finding(NamedTuple):
    level: str  # ok, note or risk
    what: str
    says: str
    remedy: str | None = None

    @property
    def text(self) -> str:
        """All of it in one sentence."""
        return self.says if self.remedy is None else f"{self.says}; {self.remedy}"


def with_remedy(level: str, what: str, text: str) -> Finding:
    """A sentence that says after its last semicolon what to do."""
    says, _, remedy = text.rpartition("; ")
    return Finding(level, what, says, remedy) if says else Finding(level, what, remedy)


def each_unserved(told: Sequence[str]) -> Iterator[Finding]:
    """Runs that nobody takes, the first of them one by one."""
    for text in told[:MOST]:
        yield with_remedy("risk", "unserved", text)
    if len(told) > MOST:
        yield Finding("risk", "unserved", f"and {len(told) - MOST:,} more.")
