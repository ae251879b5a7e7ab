"""The index of patterns against regular expressions tried one by one (C2)."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from workbell.errors import InvalidEvent
from workbell.model.patterns import MOST_SEGMENTS, TYPE_LIMIT, PatternIndex, check_pattern, check_type, matches

# Few different segments, so that patterns and types meet often; one is the beginning of another.
words = st.sampled_from(["a", "b", "ab", "A", "_", "0"])
event_types = st.lists(words, min_size=1, max_size=6).map(".".join)
bodies = st.lists(st.one_of(words, st.just("*")), min_size=1, max_size=5)
patterns = st.one_of(
    event_types,
    bodies.map(".".join),
    bodies.map(lambda body: ".".join([*body, "**"])),
    st.sampled_from(["*", "**", "*.*"]),
)
entries = st.lists(st.tuples(patterns, st.integers(0, 12)), max_size=40)


def expression_of(pattern: str) -> str:
    """The meaning of a pattern said in another way than the code under test does."""
    if pattern in ("*", "**"):
        return r".+"
    escaped = re.escape(pattern)
    return escaped.replace(r"\.\*\*", r"(\.[^.]+)+").replace(r"\*", r"[^.]+")


def agrees(pattern: str, event_type: str, system: bool) -> bool:
    if system and pattern.startswith("*"):
        return False
    return re.fullmatch(expression_of(pattern), event_type) is not None


@given(patterns, event_types, st.booleans())
def test_one_pattern(pattern: str, event_type: str, system: bool) -> None:
    assert matches(pattern, event_type, system=system) is agrees(pattern, event_type, system)


@given(entries, st.lists(st.tuples(event_types, st.booleans()), min_size=1, max_size=20))
def test_many_patterns(pairs: list[tuple[str, int]], asked: list[tuple[str, bool]]) -> None:
    index = PatternIndex(pairs)
    order = list(dict.fromkeys(value for _, value in pairs))
    for event_type, system in asked + asked:  # once found, once kept
        found = {value for pattern, value in pairs if agrees(pattern, event_type, system)}
        assert index.match(event_type, system=system) == tuple(value for value in order if value in found)


@given(entries, event_types, st.integers(100, 400))
def test_among_many_others(pairs: list[tuple[str, int]], event_type: str, others: int) -> None:
    """In a larger index rare segments are held in another form; the answer must not notice."""
    crowd = [(f"crowd{number}.*", -1) for number in range(others)]
    assert PatternIndex([*crowd, *pairs]).match(event_type) == tuple(
        value for value in PatternIndex([*pairs, *crowd]).match(event_type) if value != -1
    )
    assert set(PatternIndex([*crowd, *pairs]).match(event_type)) - {-1} == {
        value for pattern, value in pairs if agrees(pattern, event_type, False)
    }


loose = st.one_of(st.text("aZ0_.*-\n é", max_size=12), st.text(max_size=8), patterns)


@given(loose)
def test_what_is_accepted(text: str) -> None:
    segment = r"[A-Za-z0-9_]+"
    as_type = re.fullmatch(rf"{segment}(\.{segment})*", text) is not None
    as_pattern = re.fullmatch(rf"((({segment}|\*)\.)*({segment}|\*|\*\*))", text) is not None
    for check, expected in ((check_type, as_type), (check_pattern, as_pattern)):
        try:
            accepted = check(text) == text
        except InvalidEvent as problem:
            accepted = False
            assert "cannot be used: " in str(problem)  # noqa: PT017
        assert accepted is expected


@given(st.integers(1, 2 * MOST_SEGMENTS), st.integers(1, 9))
def test_limits(segments: int, width: int) -> None:
    text = ".".join(["x" * width] * segments)
    fits = segments <= MOST_SEGMENTS and len(text) <= TYPE_LIMIT
    for check in (check_type, check_pattern):
        try:
            check(text)
            accepted = True
        except InvalidEvent:
            accepted = False
        assert accepted is fits
    assert bool(PatternIndex([("*", 1)]).match(text)) is fits
