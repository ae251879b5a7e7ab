"""Held runs: the works that this worker has under its leases, and whether it may take more.

Consume adds to them, finish removes from them; renewals, timeouts, the loop watch and the stop read them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from workbell.engine.duty import Waker
from workbell.engine.journal import Journal
from workbell.engine.work import Work
from workbell.model.clock import Clock
from workbell.stores.port import Held


class HeldRuns:
    """The works of this worker by run id. `wakers` are woken when a slot may be free, `on_drain` by a drain."""

    def __init__(
        self,
        clock: Clock,
        wakers: Sequence[Waker] = (),
        on_drain: Sequence[Waker] = (),
        journal: Journal | None = None,
    ) -> None:
        self._clock = clock
        self._wakers = wakers
        self._on_drain = on_drain
        self._journal = journal
        self._changed = threading.Condition()  # notified of every work that is removed
        self.by_id: dict[str, Work] = {}
        self.booked = 0  # works whose outcomes were written, in all
        self.removed = 0  # the same with those that were dropped
        self.removed_at = clock.monotonic()
        self.refill_at = -1  # so few works without an outcome wake the claims
        self.unsure = False  # the store may say that we hold what we do not
        self._dropped: set[Held] = set()  # what we have begun, and let go of unbooked
        self.on_let_go: Callable[[Sequence[Work]], None] = lambda _works: None  # works that leave without a booking
        self.drained = False  # by an operator: nothing more may begin here
        self.claiming = False  # a claim is under way, which may not know of a drain yet

    def __len__(self) -> int:
        return len(self.by_id)

    def works(self) -> list[Work]:
        return list(self.by_id.values())

    def busy(self) -> list[Work]:
        """Works that have no outcome yet."""
        return [work for work in self.works() if not work.settled]

    def executing(self) -> list[Work]:
        """Works whose handlers are called at this moment."""
        return [work for work in self.busy() if work.started_at is not None]

    def add(self, work: Work) -> None:
        before = self.by_id.get(work.run.id)
        if before is not None:  # an earlier lease of ours, lost meanwhile
            before.lost = True
            self.on_let_go([before])
        self.by_id[work.run.id] = work

    def discard(self, work: Work) -> None:
        """Remove a work that has not begun."""
        self.by_id.pop(work.run.id, None)

    def has(self, work: Work) -> bool:
        return self.by_id.get(work.run.id) is work

    def note_booked(self, works: Sequence[Work]) -> None:
        """Remove works whose outcomes were written."""
        self.booked += len(works)
        self._remove(works)

    def note_dropped(self, works: Sequence[Work]) -> None:
        """Remove works without a booking. The store may still have them as ours, and a keeper would renew them."""
        for work in works:
            work.settled = True
        self._dropped |= {work.held for work in works}
        self.on_let_go(works)
        self.unsure = True
        self._remove(works)

    def _remove(self, works: Sequence[Work]) -> None:
        for work in works:
            # A run that we lost may have come back to us: then it is the new lease that is held.
            if self.by_id.get(work.run.id) is work:
                del self.by_id[work.run.id]
            if self._journal is not None:
                self._journal.wipe(work)
        self.removed += len(works)
        self.removed_at = self._clock.monotonic()
        self.refill()
        with self._changed:
            self._changed.notify_all()

    def refill(self) -> None:
        """Wake those who fill the slots."""
        self.refill_at = -1  # once is enough
        for waker in self._wakers:
            waker.wake()

    def take_dropped(self) -> set[Held]:
        """Leases dropped since the last call; later ones are for the next call."""
        self.unsure, dropped, self._dropped = False, self._dropped, set()
        return dropped

    def put_dropped(self, dropped: set[Held]) -> None:
        """Add works that could not be handed back to those of the next call."""
        self._dropped |= dropped
        self.unsure = True

    # Drain

    def drain(self, drained: bool) -> None:
        """An operator drains this worker, or lets it go on."""
        self.drained = drained
        for waker in self._on_drain:
            waker.wake()
        self.notify()

    def is_quiet(self) -> bool:
        """Whether nothing of ours will begin. Once that is so of a drained worker, it stays so.

        Asked after the drain: a claim that has not seen that is still under way, a later one delivers nothing.
        """
        return not self.claiming and all(work.started_at or work.settled for work in self.works())

    # Stop

    def notify(self) -> None:
        """Have `wait_until` check its condition again."""
        with self._changed:
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(condition, seconds)
