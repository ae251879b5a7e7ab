"""The verbs about pauses that every SQL store has alike. In the table, an empty name stands for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from workbell.model.pause import Pause
from workbell.stores.session import Row, Session

T = TypeVar("T")


class SqlPauses(ABC):
    """Pauses over a `Session`."""

    @abstractmethod
    def read(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def write(self, work: Callable[[Session], T]) -> T: ...

    @abstractmethod
    def wake(self) -> None: ...

    def pause(self, tenant: str, queue: str | None, job: str | None, now: datetime) -> Pause:
        values = {"tenant": tenant, "queue": queue or "", "job": job or ""}

        def work(session: Session) -> Row:
            session.rows("add_pause", created_at=now, **values)
            return session.rows("find_pause", **values)[0]

        made = pause_from(self.write(work))
        self.wake()
        return made

    def resume(self, tenant: str, queue: str | None, job: str | None) -> int:
        gone = self.write(lambda session: session.rows("remove_pauses", tenant=tenant, queue=queue, job=job))
        self.wake()
        return len(gone)

    def list_pauses(self, tenant: str | None = None) -> list[Pause]:
        return [pause for pause in self.read(read_pauses) if tenant in (None, pause.tenant)]


def read_pauses(session: Session) -> list[Pause]:
    return sorted(map(pause_from, session.rows("pauses")), key=lambda pause: (pause.tenant, str(pause)))


def pause_from(row: Row) -> Pause:
    return Pause(row[0], row[1] or None, row[2] or None, row[3].astimezone(UTC))
