"""What the audit log keeps of an action: no secrets, not too much, and always something."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from workbell.access.detail import LIMIT, detail_text, shown_text
from workbell.access.secret_text import new_text


def kept(detail: Any) -> Any:
    text = detail_text(detail)
    return None if text is None else msgspec.json.decode(text)


@pytest.mark.parametrize(
    "name",
    "token Token api_token secret client-secret password passwd key apiKey X-Api-Key authorization Proxy-Authorization "
    "Set-Cookie credentials".split(),
)
def test_values_of_secret_names_are_left_out(name: str) -> None:
    assert kept({name: "hush", "with": {name: ["hush"]}, "list": [{name: {"a": "hush"}}]}) == {
        name: "…",
        "with": {name: "…"},
        "list": [{name: "…"}],
    }


def test_secrets_within_texts_are_left_out() -> None:
    token = new_text()
    told = kept({"url": "postgresql://me:hush@host/db", "note": f"it was {token}", token: 1, "n": [token]})
    assert "hush" not in str(told)
    assert token not in str(told)


def test_the_half_of_a_token_is_not_kept_either() -> None:
    """What is long is cut: never through a token, which is nearly as good as whole then."""
    for before in range(150, 260):
        token = new_text()
        text = shown_text("." * before + token + "." * 1000)
        assert token[3:15] not in text
        assert token[-15:] not in text


def test_plain_values_stay() -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)
    assert kept(None) is None
    assert kept({"a": 1, "b": 1.5, "c": None, "d": True, "e": ["x", ("y",)], "at": now}) == {
        "a": 1,
        "b": 1.5,
        "c": None,
        "d": True,
        "e": ["x", ["y"]],
        "at": str(now),
    }


@pytest.mark.parametrize(
    "detail",
    [
        {f"field {number}": "x" * 400 for number in range(50)},
        {"x" * 10_000: 1},
        ["x" * 400] * 50,
        {"number": 10**5000},
        {"text": "\x00\ud800"},
        {"nan": float("nan")},
        {1: object},
    ],
)
def test_an_entry_can_always_be_written(detail: Any) -> None:
    text = detail_text(detail)
    assert text is not None
    assert len(text.encode()) <= LIMIT
    assert "\x00" not in text


def test_what_is_nested_without_end_is_cut() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = {"in": deep}
    assert "…" in (detail_text(deep) or "")


def test_the_ids_of_the_actor_are_never_left_out_or_replaced() -> None:
    by = {"kind": "token", "token": "t1"}
    for detail in (None, {"by": "somebody"}, ["x"], "x", {"long": ["x" * 400] * 20}):
        found = msgspec.json.decode(detail_text(detail, by) or "")
        assert found["by"] == by, detail
    assert msgspec.json.decode(detail_text(["x"], by) or "")["detail"] == ["x"]
    assert detail_text({"n": 1}) == '{"n":1}'
