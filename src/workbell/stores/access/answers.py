"""Answers to HTTP requests under an Idempotency-Key, in the store."""

from __future__ import annotations

from datetime import datetime

import msgspec

from workbell.model.idempotency import Remembered
from workbell.stores.database import Database, Statement, write_rows
from workbell.stores.times import fields_in_utc

ANSWER = Remembered.__struct_fields__


class Answers:
    """Answers by idempotency key: the same request with the same key gets the same answer until that expires."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, asked: Remembered) -> Remembered | None:
        """Take a key for a request. None: the key was free, and is taken now; else the answer stored under it."""
        key = {"tenant": asked.tenant, "key": asked.key}
        # The first statement locks the row until the second has read it.
        batch = [Statement("remember", msgspec.structs.asdict(asked)), Statement("find_answer", key)]
        taken, found = self._database.write(batch)
        return None if taken else Remembered(**fields_in_utc(ANSWER, found[0]))

    def put(self, answered: Remembered) -> None:
        """Store the answer to the request that took the key."""
        values = msgspec.structs.asdict(answered)
        del values["created_at"]
        write_rows(self._database, "answer", **values)

    def remove(self, tenant: str, key: str, fingerprint: str) -> None:
        """Release a key whose request failed."""
        write_rows(self._database, "forget", tenant=tenant, key=key, fingerprint=fingerprint)

    def prune(self, now: datetime, limit: int) -> int:
        """Remove expired answers; how many."""
        return len(write_rows(self._database, "delete_answers", now=now, limit=limit))
