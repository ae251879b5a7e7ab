"""Errors for an Idempotency-Key that another request holds: the same for runs and events."""

from __future__ import annotations

from workbell.errors import KeyReused


def key_reused(key: str, by: str) -> KeyReused:
    return KeyReused(f"Idempotency-Key {key!r} was used for another request ({by}); choose a new one.")
