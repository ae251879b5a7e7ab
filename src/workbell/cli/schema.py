"""Which engine's SQL the store of a URL needs."""

from __future__ import annotations


def engine_of(url: str) -> str:
    """The engine whose SQL a URL needs."""
    return "postgres" if url.startswith(("postgresql:", "postgres:")) else "sqlite"
