"""The port of queues: messages that wake a worker. The store is the truth, and chooses which run a worker gets.

So a message is a permit to claim, not an assignment: any of them may be lost, late, doubled or out of order. That costs
latency only, because every worker also claims by itself, at each poll and whenever a run of its own has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Sent(NamedTuple):
    """A run that has just been queued in the store."""

    run: str
    queue: str  # its queue's name: a worker may serve some of them only


class Permit(NamedTuple):
    """A message as a worker receives it. Without a run it says that something in the store has changed."""

    run: str | None = None
    receipt: str | None = None  # what the queue wants back; none: it needs no answer


class Queue(Protocol):
    """The contract of a queue; `workbell.testing.contracts.queue` is its test. Every call has a deadline of its own.

    `receive` is called by one thread, and `send` and `interrupt` by any others meanwhile.
    """

    def send(self, sent: Sequence[Sent]) -> None:
        """Announce runs; called after the commit that queued them, while the caller of the enqueue waits."""

    def receive(self, most: int, wait: float, queues: Sequence[str] | None) -> list[Permit]:
        """Up to `most` permits, for runs of these queues (none: of all); block until one is there, or `wait` seconds.

        A permit with a receipt goes to no other worker, until it is given back or the process that has it is gone.
        """

    def ack(self, receipts: Sequence[str]) -> None:
        """Acknowledge permits that were used. An unknown one is no error."""

    def give_back(self, receipts: Sequence[str], delay: float) -> None:
        """Give back permits that were not used: another worker may have them, after so many seconds."""

    def interrupt(self) -> None:
        """End a `receive` in another thread at once; where none waits, the next one may end at once."""

    def close(self) -> None: ...
