"""Pages that are bounded in bytes: no row is lost or shown twice, and no step reads more than fits."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell.http.framework import bounded_pages
from workbell.http.framework.bounded_pages import PageSource, page_of, read_page
from workbell.wire.operation import ListPage


class Row(msgspec.Struct, frozen=True):
    id: int
    text: str


def _id(row: Row) -> str:
    return str(row.id)


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
    assert read_page(source.page_source(1000), 99, 100).answer(_id) == ListPage(items=[], next=None)


def test_one_row_always_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_pages, "MOST_BYTES", 10)
    page = read_page(Source([100, 1]).page_source(100), None, 5)
    assert page.answer(_id).next == "0"


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 60), max_size=20), st.integers(1, 8))
def test_a_list_in_memory_in_pages(sizes: dict[str, int], limit: int) -> None:
    """Every row once, in the order of the keys; and the last page has no `next`."""
    was, bounded_pages.MOST_BYTES = bounded_pages.MOST_BYTES, 100
    try:
        seen: list[str] = []
        after = ""
        while True:
            page = page_of([*sizes], str, after, limit, lambda name: {"text": "x" * sizes[name]})
            texts = [bytes(one) for one in page.items]
            assert len(texts) <= limit
            assert len(texts) <= 1 or sum(map(len, texts)) <= 100
            seen += sorted(name for name in sizes if name > after)[: len(texts)]
            if page.next is None:
                break
            assert page.next == seen[-1]
            after = page.next
        assert seen == sorted(sizes)
    finally:
        bounded_pages.MOST_BYTES = was
