"""Sizes in words."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.errors import InvalidOption
from workbell.model.size import read_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("512MB", 512_000_000), ("1.5 GB", 1_500_000_000), ("256MiB", 1 << 28), ("2kb", 2000), ("77", 77), (1024, 1024)],
)
def test_what_is_meant(text: int | str, size: int) -> None:
    assert read_size("memory_limit", text) == size


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "1.2.3GB", "5 apples", "٣MB", "0", "1e9", True, 1.5, None])
def test_what_is_refused(text: object) -> None:
    with pytest.raises(InvalidOption, match="memory_limit"):
        read_size("memory_limit", text)  # type: ignore[arg-type]


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidOption):
        assert read_size("x", text) > 0
