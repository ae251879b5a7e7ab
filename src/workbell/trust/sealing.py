"""Secrets at rest: sealed with the operator's key where one is set, and otherwise stored as they are.

What is stored says which it is (`sealed:` or `plain:`), so that a key can be set later and replaced by another:
the first key seals, every key opens. A URL that is not sealed is stored as it is, without a word before it.
"""

from __future__ import annotations

import base64
import secrets as randomness
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from workbell.errors import MissingPackage, SecretSealed, SettingsError
from workbell.model.alert import SEALED, shown_url

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

PLAIN = "plain:"
VARIABLE = "WORKBELL_SECRET_KEY"
COMMAND = "workbell webhooks new-key"


def new_key() -> str:
    """A key for the setting `secret_key`."""
    return base64.urlsafe_b64encode(randomness.token_bytes(32)).decode()


class Sealer:
    """Seals and opens texts. Neither keys nor texts are ever shown by it."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        for number, key in enumerate(keys, 1):
            if not _is_key(key):
                which = f"key {number} of {len(keys)}" if len(keys) > 1 else "the key"
                raise SettingsError(
                    f"Settings: secret_key ({VARIABLE}): {which} is not 32 bytes in base64; `{COMMAND}` makes one."
                )
        self._keys = tuple(keys)

    @classmethod
    def from_setting(cls, secret_key: str | None) -> Sealer:
        """The sealer that the setting `secret_key` describes: no key, one, or several with commas between them."""
        return cls([key.strip() for key in (secret_key or "").split(",") if key.strip()])

    def __repr__(self) -> str:
        return f"<Sealer with {len(self._keys)} keys>"

    @property
    def seals(self) -> bool:
        """Whether there is a key at all."""
        return bool(self._keys)

    def seal(self, text: str) -> str:
        """The text as it is stored."""
        if not self._keys:
            return PLAIN + text
        return SEALED + self._fernet.encrypt(text.encode("utf-8")).decode("ascii")

    def open(self, stored: str) -> str:
        """The text as it was before it was stored, whether sealed or not."""
        if stored.startswith(PLAIN):
            return stored.removeprefix(PLAIN)
        if not stored.startswith(SEALED):
            raise SecretSealed(
                "A stored secret is damaged: it is neither sealed nor plain; give the endpoint a new one."
            )
        if not self._keys:
            raise SecretSealed(
                f"A stored secret is sealed, and no key is set here; set {VARIABLE} to the key it was made with."
            )
        fernet = self._fernet
        from cryptography.fernet import InvalidToken

        try:
            return fernet.decrypt(stored.removeprefix(SEALED)).decode("utf-8")
        except (InvalidToken, ValueError):
            raise SecretSealed(
                f"A stored secret was sealed with another key than those of {VARIABLE}; "
                "add the old key after the new one, with a comma between them."
            ) from None

    def seal_url(self, url: str) -> str:
        """A URL as it is stored. Its host stays readable for lists without the key."""
        return f"{SEALED}{shown_url(url)} {self.seal(url).removeprefix(SEALED)}" if self._keys else url

    def open_url(self, stored: str) -> str:
        """The URL as it was before it was stored, whether sealed or not."""
        if not stored.startswith(SEALED):
            return stored
        return self.open(SEALED + stored.rpartition(" ")[2])

    def same_url(self, url: str, stored: str | None) -> bool:
        """Whether this URL is stored, and as it would be stored now: sealing the same again gives another text."""
        if stored is None or stored.startswith(SEALED) is not self.seals:
            return False
        try:
            return self.open_url(stored) == url
        except SecretSealed:
            return False

    @cached_property
    def _fernet(self) -> MultiFernet:
        try:
            from cryptography.fernet import Fernet, MultiFernet
        except ImportError as error:
            raise MissingPackage("Sealing secrets needs cryptography: pip install 'workbell[webhooks]'.") from error
        return MultiFernet([Fernet(key) for key in self._keys])


def _is_key(key: str) -> bool:
    try:
        return len(key) == 44 and len(base64.b64decode(key, altchars=b"-_", validate=True)) == 32
    except ValueError:
        return False
