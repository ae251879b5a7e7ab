"""Filters in Python: by each word, a run that is meant, and one that is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.unit.makers import ID, run_in
from workbell.model.input_fields import FieldFilter
from workbell.model.run import Lane, Status
from workbell.stores.matching import matches, matches_all
from workbell.stores.port import Filter

OTHER = "01890000-0000-7000-8000-000000000002"
MADE = datetime.fromtimestamp(0x018900000000 / 1000, UTC)  # as its id says
RUN = run_in(
    Status.QUEUED,
    lane=Lane("a", "mail", "send", "press", "k"),
    tag="t",
    schedule=OTHER,
    user_number=7,
    event=OTHER,
    retry_of=OTHER,
    input_text='{"n":1}',
)


@pytest.mark.parametrize(
    ("word", "meant", "not_meant"),
    [
        ("tenant", "a", "b"),
        ("status", [Status.FAILED, Status.QUEUED], [Status.FAILED]),
        ("job", "send", "mail"),
        ("queue", "mail", "default"),
        ("tag", "t", "u"),
        ("schedule", OTHER, ID),
        ("user_id", 7, 8),
        ("target", "press", "label:press"),
        ("event", OTHER, ID),
        ("retry_of", OTHER, ID),
        ("since", MADE, MADE + timedelta(milliseconds=1)),
        ("until", MADE + timedelta(milliseconds=1), MADE),
        ("before", OTHER, ID),
        ("lane_key", "k", "l"),
    ],
)
def test_words(word: str, meant: Any, not_meant: Any) -> None:
    assert matches(RUN, Filter(**{"tenant": None, word: meant}))
    assert not matches(RUN, Filter(**{"tenant": None, word: not_meant}))


def test_no_word_is_no_condition() -> None:
    assert matches(RUN, Filter(None))
    assert matches(run_in(Status.FAILED), Filter(None))


def test_all_words_must_be_met() -> None:
    assert matches(RUN, Filter("a", job="send", tag="t"))
    assert not matches(RUN, Filter("a", job="send", tag="u"))


def test_fields_of_the_input() -> None:
    assert matches_all(RUN, Filter("a", input=[FieldFilter("n", 1)]))
    assert not matches_all(RUN, Filter("a", input=[FieldFilter("n", 2)]))
    assert not matches_all(RUN, Filter("b", input=[FieldFilter("n", 1)]))
