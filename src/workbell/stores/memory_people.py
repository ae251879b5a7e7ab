"""Notifications in dicts: a part of the memory store."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from workbell.model.notification import Notification
from workbell.model.users import UserId, user_number
from workbell.stores.port import Batch


class MemoryPeople:
    """What it shares with the rest of the store is named here and made there."""

    _lock: threading.RLock

    def __init__(self) -> None:
        super().__init__()
        self._notifications: dict[str, Notification] = {}
        self._reads: dict[tuple[str, int], datetime] = {}

    def wake(self) -> None:
        raise NotImplementedError

    def add_notifications(self, new: Sequence[Notification]) -> None:
        if new:
            with self._lock:
                self._keep_notifications(new)
            self.wake()

    def _keep_notifications(self, new: Sequence[Notification]) -> None:
        for one in new:  # whose mark would it be?
            self._notifications.setdefault(one.id, replace(one, read_at=None))

    def list_notifications(
        self, tenant: str, user_id: UserId, *, unread: bool, before: str | None, limit: int
    ) -> list[Notification]:
        with self._lock:
            found = [one for one in self._meant_for(tenant, user_id) if before is None or one.id < before]
        return [one for one in reversed(found) if not unread or one.read_at is None][:limit]

    def _meant_for(self, tenant: str, user_id: UserId) -> list[Notification]:
        """A person's own and everybody's, oldest first, with the person's read marks."""
        person = user_number(user_id)
        return [
            replace(one, read_at=self._reads.get((one.id, person)))
            for _, one in sorted(self._notifications.items())
            if one.tenant == tenant and (one.user_id is None or user_number(one.user_id) == person)
        ]

    def new_notifications(self, after: str, limit: int) -> list[Notification]:
        with self._lock:
            return [one for key, one in sorted(self._notifications.items()) if key > after][:limit]

    def mark_read(self, tenant: str, user_id: UserId, ids: Sequence[str] | None, now: datetime) -> int:
        with self._lock:
            unread = [one for one in self._meant_for(tenant, user_id) if one.read_at is None]
            read = [one for one in unread if ids is None or one.id in ids]
            self._reads |= {(one.id, user_number(user_id)): now for one in read}
        if read:
            self.wake()
        return len(read)

    def _delete_notifications(self, before: datetime, limit: int) -> int:
        over = sorted((one.created_at, one.id) for one in self._notifications.values() if one.created_at <= before)
        gone = {key for _, key in over[:limit]}
        self._notifications = {key: one for key, one in self._notifications.items() if key not in gone}
        self._reads = {place: at for place, at in self._reads.items() if place[0] not in gone}
        return len(gone)

    def _all_reads(self) -> list[tuple[str, int, str, datetime]]:
        return [(self._notifications[key].tenant, user_id, key, at) for (key, user_id), at in self._reads.items()]

    def _load_people(self, batch: Batch) -> None:
        self._keep_notifications(batch.notifications)
        for tenant, user_id, key, at in batch.reads:
            if key in self._notifications and self._notifications[key].tenant == tenant:
                self._reads.setdefault((key, user_id), at)
