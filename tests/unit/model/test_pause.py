"""Pauses: which lanes they cover, and their order in lists."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from workbell.model.pause import Pause, any_covers
from workbell.model.run import Lane

NOW = datetime(2026, 11, 16, tzinfo=UTC)
NAMES = st.sampled_from("ab")
LANES = st.builds(Lane, NAMES, NAMES, NAMES)
PAUSES = st.builds(Pause, NAMES, st.none() | NAMES, st.none() | NAMES, st.just(NOW))


@given(st.lists(PAUSES), LANES)
def test_many_pauses_cover_what_one_of_them_covers(pauses: list[Pause], lane: Lane) -> None:
    assert any_covers(pauses)(lane) is any(pause.covers(lane) for pause in pauses)


def test_the_place_in_a_list_is_that_of_the_words_and_of_one_pause_alone() -> None:
    pauses = [
        Pause("a", None, "x", NOW),
        Pause("a", None, "x in queue y", NOW),
        Pause("a", "y", "x", NOW),
        Pause("a", "y", None, NOW),
        Pause("a", "y z", None, NOW),
    ]
    positions = [pause.position for pause in pauses]
    assert positions == sorted(set(positions))
    assert [str(pause) for pause in pauses] == sorted(map(str, pauses))
