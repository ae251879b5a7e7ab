"""Django with the store's database as its own, as a project has it in its settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.db import connections

if not settings.configured:
    settings.configure(USE_TZ=True, DATABASES={})
    django.setup()


def database(url: str, **options: Any) -> dict[str, Any]:
    """An entry of DATABASES."""
    if url.startswith("sqlite"):
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": url.removeprefix("sqlite:///"), "OPTIONS": options}
    parts = urlsplit(url)
    place = {"NAME": parts.path[1:], "USER": parts.username, "HOST": parts.hostname, "PORT": parts.port}
    return {"ENGINE": "django.db.backends.postgresql", "OPTIONS": options} | place


def forget() -> None:
    """Close what this thread has open. Each thread has connections of its own."""
    for opened in connections.all(initialized_only=True):
        opened.close()
        del connections[opened.alias]


@contextmanager
def databases(**entries: dict[str, Any]) -> Iterator[None]:
    """These are DATABASES for a while."""
    forget()
    before = connections.settings
    connections.settings = connections.configure_settings(entries)  # type: ignore[misc]
    try:
        yield
    finally:
        forget()
        connections.settings = before  # type: ignore[misc]
