"""What handlers work with besides the store: the application's own database and its files."""

from __future__ import annotations

from typing import NamedTuple

from workbell.settings import Settings

_DEFAULTS = Settings()


class Resources(NamedTuple):
    """Where they are; nothing is opened or made before a handler uses it."""

    database: str = _DEFAULTS.database
    storage: str = _DEFAULTS.storage

    @classmethod
    def from_settings(cls, settings: Settings) -> Resources:
        return cls(settings.database, settings.storage)
