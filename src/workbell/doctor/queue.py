"""Queue findings of the doctor: which queue wakes workers, and whether it answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from workbell.doctor.finding import Finding, with_remedy
from workbell.errors import WorkbellError
from workbell.queues.in_store import InStoreQueue
from workbell.queues.opening import open_queue
from workbell.settings import safe_url
from workbell.stores.port import Store


@runtime_checkable
class DescribedQueue(Protocol):
    """A queue that has findings of its own; others are only named."""

    def describe(self) -> list[tuple[str, str, str]]: ...


def queue_findings(url: str, store: Store, poll: float) -> Iterator[Finding]:
    """`poll`: seconds between two looks of a worker that nothing wakes."""
    try:
        queue = open_queue(url, store)
    except WorkbellError as error:
        yield with_remedy("risk", "queue", str(error))
        return
    if isinstance(queue, InStoreQueue):
        if store.hints:
            yield Finding("ok", "queue", "the store's own hints wake workers")
        else:
            polls = f"nothing wakes workers, as the store's hints do not reach them; they poll every {poll:g} s"
            yield Finding("note", "queue", polls, "a queue (`queue_url`) wakes them at once.")
        return
    try:
        if isinstance(queue, DescribedQueue):
            for level, what, text in queue.describe():
                yield with_remedy(level, what, text)
        else:
            yield Finding("ok", "queue", f"{safe_url(url)} wakes workers")
    finally:
        queue.close()
