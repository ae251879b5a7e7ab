"""Inputs: for any text and any value."""

from __future__ import annotations

import math
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.errors import InvalidInput
from workbell.model.json_text import DEPTH, LIMIT, clean_text, decode, encode

any_text = st.text(st.characters(exclude_categories=()))  # lone surrogates too
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=40,
)  # fmt: skip


@given(any_text, st.integers(100, 400))
def test_cleaned_text_can_be_stored_and_is_within_its_limit(text: str, limit: int) -> None:
    cleaned = clean_text(text * 10, limit)
    assert len(cleaned) <= limit
    assert "\x00" not in cleaned
    cleaned.encode("utf-8")
    assert clean_text(cleaned, limit) == cleaned


@given(st.text(string.ascii_letters, max_size=100))
def test_good_text_is_left_alone(text: str) -> None:
    assert clean_text(text, 100) == text


@given(json_values)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert decode(encode("it", value)) == value


@given(json_values, st.sampled_from((math.nan, math.inf, -math.inf)), st.data())
def test_a_number_that_json_lacks_is_refused_wherever_it_is(value: Any, number: float, data: st.DataObject) -> None:
    with pytest.raises(InvalidInput, match=rf"it(: .*)? is {number}, which JSON cannot carry"):
        encode("it", _placed(value, number, data))


def _placed(value: Any, number: float, data: st.DataObject) -> Any:
    """The value with the number in a place of it."""
    if isinstance(value, dict) and value:
        name = data.draw(st.sampled_from(sorted(value)))
        return value | {name: _placed(value[name], number, data)}
    if isinstance(value, list) and value:
        place = data.draw(st.integers(0, len(value) - 1))
        return [_placed(one, number, data) if at == place else one for at, one in enumerate(value)]
    return number


@given(st.integers(1, 60), json_values)
def test_depth_is_measured_rightly(depth: int, value: Any) -> None:
    inner = _depth(value)
    for _ in range(depth):
        value = [value]
    try:
        text = encode("it", value)
    except InvalidInput:
        assert depth + inner > DEPTH
    else:
        assert depth + inner <= DEPTH
        assert len(text.encode()) <= LIMIT


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
