"""Tokens as texts: each is known again, and one changed character is refused without a look into the store."""

from __future__ import annotations

import base64
import string

from hypothesis import assume, given
from hypothesis import strategies as st

from workbell.access.secret_text import BODY, LENGTH, PREFIX, hash_of, is_token, text_of

bodies = st.binary(min_size=32, max_size=32)
LETTERS = string.ascii_letters + string.digits + "_-"


@given(bodies)
def test_round_trip(body: bytes) -> None:
    text = text_of(body)
    assert is_token(text)
    assert len(text) == LENGTH
    assert base64.urlsafe_b64decode(text[len(PREFIX) : len(PREFIX) + BODY] + "=") == body


@given(bodies, st.integers(0, LENGTH - 1), st.one_of(st.sampled_from(LETTERS), st.characters()))
def test_one_changed_character_is_refused(body: bytes, place: int, letter: str) -> None:
    text = text_of(body)
    assume(text[place] != letter)
    assert not is_token(text[:place] + letter + text[place + 1 :])


@given(bodies)
def test_no_letter_anywhere_can_be_exchanged(body: bytes) -> None:
    """All of them, for one token: also the last of the body, of which base64 ignores two bits."""
    text = text_of(body)
    for place in range(LENGTH):
        others = [letter for letter in LETTERS if letter != text[place]]
        assert not any(is_token(text[:place] + letter + text[place + 1 :]) for letter in others[place % 8 :: 8])


@given(bodies, st.integers(0, LENGTH - 2))
def test_two_exchanged_neighbours_are_refused(body: bytes, place: int) -> None:
    text = text_of(body)
    assume(text[place] != text[place + 1])
    assert not is_token(text[:place] + text[place + 1] + text[place] + text[place + 2 :])


@given(bodies, st.integers(0, LENGTH))
def test_one_left_out_or_added_is_refused(body: bytes, place: int) -> None:
    text = text_of(body)
    assert not is_token(text[:place] + text[place + 1 :]) or place == LENGTH
    assert not is_token(text[:place] + "A" + text[place:])


@given(st.text())
def test_whatever_comes_is_answered(text: str) -> None:
    assert not is_token(text)
    assert len(hash_of(text)) == 64
