"""What handlers work with besides the store: the application's own database, its files, and the way out to others."""

from __future__ import annotations

from typing import NamedTuple

from workbell.logs.secrets import without_secrets
from workbell.settings import Settings

_DEFAULTS = Settings()


class Resources(NamedTuple):
    """Where they are; nothing is opened or made before a handler uses it."""

    database: str = _DEFAULTS.database
    storage: str = _DEFAULTS.storage
    webhook_allow: tuple[str, ...] = ()
    webhook_disable_after: float = _DEFAULTS.webhook_disable_after
    secret_key: str | None = None

    def __repr__(self) -> str:
        """Without the key, and the password of the database."""
        return f"Resources(database={without_secrets(self.database)!r}, storage={self.storage!r})"

    @classmethod
    def from_settings(cls, settings: Settings) -> Resources:
        return cls(**{name: getattr(settings, name) for name in cls._fields})
