"""Resources of handlers besides the store: the application's database, file storage, and webhooks."""

from __future__ import annotations

from typing import NamedTuple

from workbell.logs.secrets import url_without_secrets
from workbell.settings import Settings

_DEFAULTS = Settings()


class Resources(NamedTuple):
    """Settings of the resources; nothing is opened before a handler uses it."""

    url: str = _DEFAULTS.url  # of the store
    database: str = _DEFAULTS.database
    storage: str = _DEFAULTS.storage
    webhook_allow: tuple[str, ...] = ()
    webhook_disable_after: float = _DEFAULTS.webhook_disable_after
    secret_key: str | None = None

    def __repr__(self) -> str:
        """Without the key, and the password of the database."""
        return f"Resources(database={url_without_secrets(self.database)!r}, storage={self.storage!r})"

    @classmethod
    def from_settings(cls, settings: Settings) -> Resources:
        return cls(**{name: getattr(settings, name) for name in cls._fields})
