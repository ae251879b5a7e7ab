"""Answers to HTTP requests under an Idempotency-Key, in the store."""

from __future__ import annotations

from datetime import datetime

import msgspec

from workbell.model.idempotency import Remembered
from workbell.stores.database import Database, Statement, write_rows
from workbell.stores.times import fields_in_utc

ANSWER = Remembered.__struct_fields__


class Answers:
    """The same request with the same key has the same answer, as long as it is kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, asked: Remembered) -> Remembered | None:
        """Take a key for a request; none: it is yours. Else what stands there, as long as its time is not over."""
        key = {"tenant": asked.tenant, "key": asked.key}
        # The first statement keeps others from removing the row until the second has read it.
        batch = [Statement("remember", msgspec.structs.asdict(asked)), Statement("find_answer", key)]
        taken, found = self._database.write(batch)
        return None if taken else Remembered(**fields_in_utc(ANSWER, found[0]))

    def put(self, answered: Remembered) -> None:
        """Keep the answer to the request that took the key."""
        values = msgspec.structs.asdict(answered)
        del values["created_at"]
        write_rows(self._database, "answer", **values)

    def remove(self, tenant: str, key: str, fingerprint: str) -> None:
        """Let go of a key whose request came to nothing."""
        write_rows(self._database, "forget", tenant=tenant, key=key, fingerprint=fingerprint)

    def prune(self, now: datetime, limit: int) -> int:
        """Remove answers whose time is over; how many."""
        return len(write_rows(self._database, "delete_answers", now=now, limit=limit))
