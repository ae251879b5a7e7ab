"""A finding of the doctor: what was checked, its state, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

MOST = 20  # findings of one kind that are listed one by one


class Finding(NamedTuple):
    level: str  # ok, note or risk
    what: str
    says: str
    remedy: str | None = None

    @property
    def text(self) -> str:
        """Finding and remedy in one sentence."""
        return self.says if self.remedy is None else f"{self.says}; {self.remedy}"


def with_remedy(level: str, what: str, text: str) -> Finding:
    """A sentence that says after its last semicolon what to do."""
    says, _, remedy = text.rpartition("; ")
    return Finding(level, what, says, remedy) if says else Finding(level, what, remedy)


def each_unserved(unserved: Sequence[str]) -> Iterator[Finding]:
    """Findings about queued runs that no worker takes, the first of them one by one."""
    for text in unserved[:MOST]:
        yield with_remedy("risk", "unserved", text)
    if len(unserved) > MOST:
        yield Finding("risk", "unserved", f"and {len(unserved) - MOST:,} more.")
