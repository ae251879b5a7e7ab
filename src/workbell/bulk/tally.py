"""Tally of a bulk action, stored in its progress, so that the next attempt continues from there."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbell.bulk.acts import Acted
from workbell.model.clock import EPOCH
from workbell.model.ids import first_id_at

SHOWN = 20  # errors in the result
OLDEST = first_id_at(EPOCH)  # beyond which there is nothing


class BulkTally(NamedTuple):
    """Counts of runs by outcome, and the id down to which all runs were read."""

    before: str
    matched: int = 0
    done: int = 0
    skipped: int = 0
    failed: int = 0
    errors: tuple[dict[str, str], ...] = ()

    def plus(self, matched: int, acted: Acted, before: str) -> BulkTally:
        errors = [{"run": run_id, "error": error} for run_id, error in acted.errors]
        return BulkTally(
            before,
            self.matched + matched,
            self.done + acted.done,
            self.skipped + acted.skipped,
            self.failed + len(errors),
            (*self.errors, *errors)[:SHOWN],
        )

    @property
    def message(self) -> str:
        position = "at the end" if self.before == OLDEST else f"back to run {self.before}"
        return f"{self.done:,} done, {self.skipped:,} skipped, {self.failed:,} failed; {position}"

    def position(self) -> dict[str, Any]:
        """Position in the walk as JSON, for the progress: the next attempt continues from it."""
        return self._asdict()

    def result(self) -> dict[str, Any]:
        return {"matched": self.matched, "done": self.done, "skipped": self.skipped, "errors": list(self.errors)}


def tally_from(progress: dict[str, Any] | None, start: str) -> BulkTally:
    """The tally of an earlier attempt; at first, the id of the bulk run itself: only older runs are acted on."""
    position = None if progress is None else progress.get("bulk")
    if position is None:
        return BulkTally(start)
    return BulkTally(**{**position, "errors": tuple(position["errors"])})
