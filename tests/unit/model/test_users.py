"""Ids of users: numbers and texts, and the number that stands for each in storage."""

from __future__ import annotations

import pytest

from tests.docs.pages import DOCS, table_rows, text_of
from workbell.model.run_settings import read_user
from workbell.model.users import MOST, UserId, user_number

UUID = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"


@pytest.mark.parametrize(
    ("given", "user"),
    [
        (0, 0),
        (MOST - 1, MOST - 1),
        ("42", 42),
        ("0", 0),
        (str(MOST), str(MOST)),
        ("007", "007"),
        (UUID, UUID),
        ("ada@example.org", "ada@example.org"),
        ("٣", "٣"),
    ],
)
def test_what_is_a_user(given: UserId, user: UserId) -> None:
    """The text of a number is the number: a URL cannot tell them apart. What only looks like one is a text."""
    assert read_user(given) == user


def test_texts_have_numbers_of_their_own() -> None:
    numbers = {user_number(text) for text in (UUID, "ada", "bob", "007", str(MOST))}
    assert len(numbers) == 5
    assert all(-MOST <= number < 0 for number in numbers)
    assert [user_number(number) for number in (0, 42, MOST - 1)] == [0, 42, MOST - 1]


def test_they_are_those_of_the_protocol() -> None:
    rows = table_rows(text_of(DOCS / "protocol.md"), "Users")
    assert {text.strip("`"): int(number) for text, number in rows} == {
        text: user_number(text) for text in ("ada", UUID)
    }
