"""The text of a token: its form, and that it is not shown by accident."""

from __future__ import annotations

import io
import logging

import pytest
from rich.console import Console
from rich.pretty import Pretty

from workbell import Workbell
from workbell.access.secret_text import LENGTH, hash_of, is_token, new_text, text_of, without_tokens

KNOWN = "wb_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh84O7WPJ"


def test_the_form_stays() -> None:
    """Tokens that were handed out must be known for ever."""
    text = text_of(bytes(range(32)))
    assert text == KNOWN
    assert len(text) == LENGTH == 52
    assert hash_of(text) == "726a02d9dd21c3c357822115d2db6f51518c82a346afc609e68ebfc674d82cae"


def test_each_is_another_one() -> None:
    texts = {new_text() for _ in range(100)}
    assert len(texts) == 100
    assert all(is_token(text) for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"wb_" + b"A" * 49,
        "",
        "wb_",
        "wb_" + "A" * 49,  # a wrong checksum
        KNOWN[3:],
        KNOWN + "\n",
        KNOWN + " ",
        " " + KNOWN,
        KNOWN.upper(),
        KNOWN[:-1] + "٣",  # a digit, but not one of ours
        "wb_" + "\ud800" * 49,
        "wb_" * 100_000,
    ],
)
def test_what_is_none(text: object) -> None:
    assert not is_token(text)


def test_tokens_are_left_out_of_texts() -> None:
    assert without_tokens(f"see {KNOWN}, and x{KNOWN}y") == "see …, and x…y"
    assert without_tokens("wb_ is no token") == "wb_ is no token"


def test_a_new_token_hides_its_text(bell: Workbell, caplog: pytest.LogCaptureFixture) -> None:
    new = bell.tokens.create("x")
    out = io.StringIO()
    Console(file=out, width=500).print(Pretty(new))
    logging.getLogger("workbell").warning("%s", new)
    for shown in (repr(new), str(new), f"{new}", out.getvalue(), caplog.text, repr([new]), repr(bell.tokens.list())):
        assert new.text not in shown
        assert new.text[3:20] not in shown
    assert new.token.id in repr(new)
    token, text = new
    assert is_token(text)
    assert token.hash == hash_of(text)
