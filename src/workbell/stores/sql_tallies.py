"""The verbs about tallies that every SQL store has alike.

Each is added twice: to its minute, and to the total that stands at the beginning of time. So the totals are read
without adding anything up, and stay what they are when old minutes go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from workbell.model.clock import EPOCH
from workbell.model.tally import Tally, TallySum
from workbell.stores import service_rows
from workbell.stores.added_up import Place, add_up, place_of, with_totals
from workbell.stores.service_rows import TALLY, tally_from
from workbell.stores.session import Session

T = TypeVar("T")

PLACE = TALLY[:5]
KEPT = timedelta(days=14)  # how long single minutes are kept


class SqlTallies(ABC):
    """What ended, added up, over a `Session`."""

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def spell(self, columns: Sequence[str], values: Sequence[Sequence[Any]]) -> dict[str, Any]: ...

    def add_tallies(self, tallies: Sequence[Tally]) -> None:
        if not tallies:
            return
        # In one order, so that two writers of the same ones do not wait for each other crosswise.
        new = dict(sorted(with_totals(tallies).items()))
        self.write(lambda session: self._add_tallies(session, new))

    def _add_tallies(self, session: Session, new: dict[Place, Tally]) -> None:
        added = session.rows("add_tallies", **self.spell_tallies(list(new.values())))
        first = {tuple(row) for row in added}
        later = [tally for place, tally in new.items() if place not in first]
        if later:
            places = [place_of(tally) for tally in later]
            known = [tally_from(row) for row in session.rows("lock_tallies", **self.spell(PLACE, places))]
            sums = add_up([*known, *later])
            session.rows("put_tallies", **self.spell_tallies([sums[place] for place in places]))

    def spell_tallies(self, tallies: Sequence[Tally]) -> dict[str, Any]:
        return self.spell(TALLY, [service_rows.tally_row(tally) for tally in tallies])

    def list_tallies(self, *, tenant: str | None, since: datetime) -> list[Tally]:
        values: dict[str, Any] = {"since": _after_totals(since)}
        name = "tallies"
        if tenant is not None:
            name, values["tenant"] = "list_tallies", tenant
        return sorted(self.read(lambda s: [tally_from(row) for row in s.rows(name, **values)]), key=place_of)

    def sum_tallies(
        self, tenant: str, *, since: datetime, until: datetime, step: int, job: str | None, queue: str | None
    ) -> list[TallySum]:
        values = {"tenant": tenant, "since": _after_totals(since), "until": until, "step": step}
        found = self.read(lambda session: session.rows("sum_tallies", job=job, queue=queue, **values))
        return [TallySum(*row) for row in found]

    def total_tallies(self) -> list[Tally]:
        found = self.read(lambda session: [tally_from(row) for row in session.rows("totals", minute=EPOCH)])
        return sorted(found, key=place_of)

    def delete_tallies_in(self, session: Session, now: datetime, limit: int) -> int:
        """Minutes that are long over."""
        return len(session.rows("delete_tallies", total=EPOCH, before=now - KEPT, limit=limit))


def _after_totals(since: datetime) -> datetime:
    return max(since, EPOCH + timedelta(microseconds=1))
