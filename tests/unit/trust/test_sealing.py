"""Secrets at rest: with a key and without, with a new key and a wrong one, and never shown."""

from __future__ import annotations

import base64
import sys
from typing import Any

import pytest
from cryptography.fernet import Fernet

from workbell.errors import MissingPackage, SecretSealed, SettingsError
from workbell.model.alert import shown_url
from workbell.trust.sealing import Sealer, new_key

TEXT = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ONE, TWO, THREE = (base64.urlsafe_b64encode(bytes(range(first, first + 32))).decode() for first in (0, 100, 200))


def test_without_a_key_texts_are_kept_as_they_are() -> None:
    sealer = Sealer.from_setting(None)
    assert not sealer.seals
    assert sealer.seal(TEXT) == f"plain:{TEXT}"
    assert sealer.open(f"plain:{TEXT}") == TEXT


def test_with_a_key_the_text_cannot_be_seen() -> None:
    sealer = Sealer([ONE])
    stored = sealer.seal(TEXT)
    assert sealer.seals
    assert stored.startswith("sealed:")
    assert TEXT not in stored
    assert base64.b64encode(TEXT.encode()).decode() not in stored
    assert sealer.open(stored) == TEXT
    assert sealer.seal(TEXT) != stored
    assert Fernet(ONE).decrypt(stored.removeprefix("sealed:")).decode() == TEXT


def test_what_was_stored_before_there_was_a_key_still_opens() -> None:
    assert Sealer([ONE]).open(Sealer().seal(TEXT)) == TEXT


def test_the_first_key_seals_and_every_key_opens() -> None:
    old = Sealer.from_setting(ONE).seal(TEXT)
    both = Sealer.from_setting(f" {TWO} , {ONE},")
    assert both.open(old) == TEXT
    assert Sealer([TWO]).open(both.seal(TEXT)) == TEXT
    with pytest.raises(SecretSealed):
        Sealer([ONE]).open(both.seal(TEXT))


@pytest.mark.parametrize("keys", [[], [TWO], [TWO, THREE]])
def test_a_missing_or_wrong_key_is_named(keys: list[str]) -> None:
    stored = Sealer([ONE]).seal(TEXT)
    with pytest.raises(SecretSealed, match="WORKBELL_SECRET_KEY") as caught:
        Sealer(keys).open(stored)
    assert stored.removeprefix("sealed:") not in str(caught.value)


@pytest.mark.parametrize("stored", ["", TEXT, "sealed:", "sealed:x", "sealed:ä", "SEALED:x", f"sealed:{TEXT}"])
def test_what_is_damaged_does_not_open(stored: str) -> None:
    with pytest.raises(SecretSealed) as caught:
        Sealer([ONE]).open(stored)
    assert TEXT not in str(caught.value)


@pytest.mark.parametrize("text", ["", "ä\x00\U0001f600", "plain:x", "sealed:x", "x" * 10000])
def test_any_text_comes_back(text: str) -> None:
    for sealer in (Sealer(), Sealer([ONE])):
        assert sealer.open(sealer.seal(text)) == text


@pytest.mark.parametrize("key", ["passphrase", "x" * 44, ONE[:-1], ONE + "=", "ä" * 44, "!" * 44, "=" * 44])
def test_a_wrong_key_is_refused_with_the_command_that_makes_one(key: str) -> None:
    with pytest.raises(SettingsError, match=r"secret_key .* `workbell webhooks new-key` makes one") as caught:
        Sealer.from_setting(key)
    assert key not in str(caught.value)
    with pytest.raises(SettingsError, match="key 2 of 2"):
        Sealer.from_setting(f"{ONE},{key}")


def test_a_new_key_is_one_of_cryptography() -> None:
    Fernet(new_key())
    assert new_key() != new_key()


def test_keys_are_not_shown() -> None:
    sealer = Sealer([ONE, TWO])
    sealer.seal(TEXT)
    assert repr(sealer) == str(sealer) == "<Sealer with 2 keys>"


def test_without_cryptography(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where a key is set is it needed."""
    stored = Sealer([ONE]).seal(TEXT)
    for name in [name for name in sys.modules if name.split(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    missing: dict[str, Any] = {"cryptography": None, "cryptography.fernet": None}
    for name, value in missing.items():
        monkeypatch.setitem(sys.modules, name, value)
    assert Sealer().open(Sealer().seal(TEXT)) == TEXT
    for use in (lambda: Sealer([ONE]).seal(TEXT), lambda: Sealer([ONE]).open(stored)):
        with pytest.raises(MissingPackage, match=r"pip install 'workbell\[webhooks\]'"):
            use()


URL = "https://hooks.example.com:8443/services/T0?key=hush"


def test_a_url_is_stored_as_it_is_without_a_key() -> None:
    """One without a key reads it too."""
    assert Sealer().seal_url(URL) == URL
    assert Sealer([ONE]).open_url(URL) == URL


def test_a_sealed_url_shows_its_host_alone() -> None:
    stored = Sealer([ONE]).seal_url(URL)
    assert "hush" not in stored
    assert "services" not in stored
    assert shown_url(stored) == shown_url(URL) == "https://hooks.example.com:8443/…"
    assert Sealer([TWO, ONE]).open_url(stored) == URL
    for keys in ([], [TWO]):
        with pytest.raises(SecretSealed, match="WORKBELL_SECRET_KEY"):
            Sealer(keys).open_url(stored)


def test_the_same_url_is_known_again() -> None:
    """Else every declaration would be a change: sealed twice, it is two texts."""
    one, plain = Sealer([ONE]), Sealer()
    assert one.same_url(URL, one.seal_url(URL))
    assert Sealer([TWO, ONE]).same_url(URL, one.seal_url(URL))
    assert plain.same_url(URL, URL)
    for sealer, stored in ((one, None), (one, URL), (plain, one.seal_url(URL)), (Sealer([TWO]), one.seal_url(URL))):
        assert not sealer.same_url(URL, stored)
    assert not one.same_url(URL + "1", one.seal_url(URL))
