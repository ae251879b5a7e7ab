"""The page about cron (A4, B6, F3) says what the code does: every example is computed again."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from tests.docs.pages import DOCS, table_rows, text_of
from workbell import Cron, JobsError
from workbell.timing import Window
from workbell.timing.expression import MACROS

TEXT = text_of(DOCS / "reference" / "cron.md")


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def instants(cell: str) -> list[datetime]:
    return [datetime.fromisoformat(word) for word in words(cell)]


EXAMPLES = table_rows(TEXT, "Examples")
CHANGES = table_rows(TEXT, "When the clocks change")
REFUSED = table_rows(TEXT, "What is refused")


@pytest.mark.parametrize("row", EXAMPLES + CHANGES, ids=lambda row: f"{row[0]} {row[1]}")
def test_ticks(row: list[str]) -> None:
    expression, zone, after, ticks, _ = row
    (start,), expected = instants(after), instants(ticks)
    assert len(expected) >= 2
    assert Cron(words(expression)[0], zone).ticks(start, len(expected)) == expected


@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: f"{row[0]} {row[1]}")
def test_words(row: list[str]) -> None:
    assert Cron(words(row[0])[0], row[1]).describe() == row[4]


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row[0])
def test_refusals(row: list[str]) -> None:
    expression = words(row[0])[0]
    with pytest.raises(JobsError) as refused:
        Cron(expression)
    assert str(refused.value) == f"cron {expression!r}: {row[1]}"


def test_macros() -> None:
    rows = table_rows(TEXT, "Macros")
    assert {words(name)[0].upper(): words(text)[0] for name, text in rows} == MACROS


def test_forms_are_read() -> None:
    """Each form, in a field that it is said to belong to."""
    rows = table_rows(TEXT, "What may stand in a field")
    assert len(rows) >= 14
    for forms, where, _ in rows:
        for form in words(forms):
            if where == "weekday":
                Cron(f"0 0 * * {form}")
            elif where.startswith("day of month"):
                Cron(f"0 0 {form} * *")
            else:
                field = 1 if form.startswith("22") else 0
                Cron(" ".join([*["0"] * field, form, *["*"] * (4 - field)]))


def test_windows() -> None:
    rows = table_rows(TEXT, "Windows")
    assert len(rows) >= 4
    for start, end, zone, after, opening in rows:
        window = Window.parse(words(start)[0], words(end)[0], zone)
        assert [window.next_start(instants(after)[0])] == instants(opening)


def test_the_tables_are_there() -> None:
    assert (len(EXAMPLES) >= 10, len(CHANGES) >= 6, len(REFUSED) >= 10) == (True, True, True)
