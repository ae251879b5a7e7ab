"""Pages that are bounded in bytes: no row is lost or shown twice, and no step reads more than fits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.http import bounded_pages
from workbell.http.bounded_pages import PageSource, read_page


class Row(msgspec.Struct, frozen=True):
    id: int
    text: str


class Source:
    """A list that notes what it is asked for."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.rows = [Row(number, "x" * size) for number, size in enumerate(sizes)]
        self.steps: list[int] = []

    def read(self, after: int | None, limit: int) -> Sequence[Row]:
        first = 0 if after is None else after + 1
        found = self.rows[first : first + limit]
        self.steps.append(sum(len(row.text) for row in found))
        return found

    def page_source(self, largest: int) -> PageSource[Row, int]:
        return PageSource(self.read, lambda row: row.id, largest=largest)


@given(st.lists(st.integers(0, 60), max_size=40), st.integers(1, 20))
def test_whoever_follows_next_has_every_row_once(sizes: list[int], limit: int) -> None:
    was, bounded_pages.MOST_BYTES = bounded_pages.MOST_BYTES, 200
    try:
        source = Source(sizes)
        seen: list[Row] = []
        start: int | None = None
        while True:
            page = read_page(source.page_source(60), start, limit)
            assert len(page.found) <= limit
            assert len(page.found) == 1 or sum(len(text) for _, text in page.found) <= 200
            seen += [row for row, _ in page.found]
            if page.last is None:
                break
            start = page.last.id
        assert seen == source.rows
    finally:
        bounded_pages.MOST_BYTES = was


def test_long_rows_are_never_read_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 1000)
    source = Source([250] * 100)
    page = read_page(source.page_source(250), None, 100)
    assert (len(page.found), page.more) == (3, True)
    assert max(source.steps) <= 1000


def test_short_rows_take_two_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 10_000)
    source = Source([2] * 100)
    page = read_page(source.page_source(1000), None, 100)
    assert (len(page.found), page.more, len(source.steps)) == (100, True, 2)
    assert read_page(source.page_source(1000), 99, 100).answer(lambda row: str(row.id)) == {"items": [], "next": None}


def test_one_row_always_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 10)
    page = read_page(Source([100, 1]).page_source(100), None, 5)
    assert page.answer(lambda row: str(row.id))["next"] == "0"
