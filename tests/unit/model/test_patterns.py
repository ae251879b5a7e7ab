"""Patterns of event types: what each form matches, what is refused with which words, and the index (C2)."""

from __future__ import annotations

import tracemalloc
from itertools import product
from threading import Barrier, Thread

import pytest

from workbell.errors import InvalidEvent, WorkbellError
from workbell.model import patterns
from workbell.model.patterns import (
    MOST_SEGMENTS,
    TYPE_LIMIT,
    PatternIndex,
    check_pattern,
    check_type,
    is_literal,
    matches,
)


@pytest.mark.parametrize(
    ("pattern", "event_type", "expected"),
    [
        ("posts.created", "posts.created", True),
        ("posts.created", "posts.createdx", False),
        ("posts.created", "posts.created.late", False),
        ("posts.created", "Posts.created", False),
        ("posts.*", "posts.created", True),
        ("posts.*", "posts", False),
        ("posts.*", "posts.created.late", False),
        ("posts.*", "postsx.created", False),
        ("*.created", "posts.created", True),
        ("*.created", "created", False),
        ("*.created", "a.b.created", False),
        ("a.*.c", "a.b.c", True),
        ("a.*.c", "a.b.d", False),
        ("*.*", "a.b", True),
        ("*.*", "a", False),
        ("*", "a", True),
        ("*", "a.b.c", True),
        ("**", "a", True),
        ("**", "a.b.c", True),
        ("a.**", "a", False),
        ("a.**", "a.b", True),
        ("a.**", "a.b.c.d", True),
        ("a.**", "b.a.c", False),
        ("*.**", "a", False),
        ("*.**", "a.b.c", True),
        ("a.*.**", "a.b", False),
        ("a.*.**", "a.b.c", True),
    ],
)
def test_meaning(pattern: str, event_type: str, expected: bool) -> None:
    assert matches(pattern, event_type) is expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("job.completed", True),
        ("job.*", True),
        ("job.**", True),
        ("*", False),
        ("**", False),
        ("*.completed", False),
        ("*.*", False),
        ("*.**", False),
    ],
)
def test_own_events_need_a_first_segment_written_out(pattern: str, expected: bool) -> None:
    """A7: whoever asks for everything does not get the life of every run."""
    assert matches(pattern, "job.completed", system=True) is expected
    assert matches(pattern, "job.completed") is True


@pytest.mark.parametrize("event_type", ["a", "_", "posts.created", "A9_.b", "a" * TYPE_LIMIT, ".".join(["a"] * 32)])
def test_good_types(event_type: str) -> None:
    assert check_type(event_type) == event_type
    assert check_pattern(event_type) == event_type


@pytest.mark.parametrize(
    "pattern", ["*", "**", "posts.*", "*.created", "a.*.c", "a.**", "*.*.**", ".".join(["*"] * 31 + ["**"])]
)
def test_good_patterns(pattern: str) -> None:
    assert check_pattern(pattern) == pattern
    assert not is_literal(pattern)
    assert is_literal("posts.created")
    with pytest.raises(InvalidEvent, match=r"\* is for patterns\. Write every segment out\.$"):
        check_type(pattern)


@pytest.mark.parametrize("check", [check_type, check_pattern])
@pytest.mark.parametrize(
    ("value", "reason", "remedy"),
    [
        ("", "'' cannot be used: it is empty", "posts.created"),
        (None, "NoneType, not a string", "posts.created"),
        (b"posts", "bytes, not a string", "posts.created"),
        ("a" * 257, "it has 257 characters", "Keep it to 256 at most"),
        (".".join("a" * 33), "it has 33 segments", "Keep it to 32 at most"),
        ("a..b", "'a..b' cannot be used: it has an empty segment", "none at the ends"),
        (".a", "an empty segment", "none at the ends"),
        ("a.", "an empty segment", "none at the ends"),
        (".", "an empty segment", "none at the ends"),
        ("a b", "it contains ' '", "Use only letters"),
        ("a-b", "it contains '-'", "Use only letters"),
        ("posts.created\n", r"it contains '\n'", "Use only letters"),
        ("pösts", "it contains 'ö'", "Use only letters"),
        ("a.\u0663", "it contains '\u0663'", "Use only letters"),
        ("a\x00", r"it contains '\x00'", "Use only letters"),
        ("a\ud800", r"it contains '\ud800'", "Use only letters"),
    ],
)
def test_refused_as_type_and_as_pattern(check: object, value: object, reason: str, remedy: str) -> None:
    assert callable(check)
    with pytest.raises(InvalidEvent) as caught:
        check(value)
    message = str(caught.value)
    assert reason in message
    assert remedy in message
    assert message.startswith("The pattern " if check is check_pattern else "The event type ")
    message.encode()  # can be printed whatever was handed in


@pytest.mark.parametrize("pattern", ["post*", "*post", "a.b*.c", "***", "a.***", "a.*b*"])
def test_a_star_is_one_whole_segment(pattern: str) -> None:
    with pytest.raises(InvalidEvent, match=r"\* is one whole segment\. Write the segment out, or put \* alone"):
        check_pattern(pattern)


@pytest.mark.parametrize("pattern", ["**.a", "a.**.b", "**.**", "**.*"])
def test_two_stars_only_at_the_end(pattern: str) -> None:
    with pytest.raises(InvalidEvent, match=r"\*\* may only be the last segment\. Use \* for one segment"):
        check_pattern(pattern)


def test_what_is_long_is_shown_cut() -> None:
    with pytest.raises(InvalidEvent) as caught:
        check_type("b" * 59 + "c" * 300)
    assert "b" * 59 + "…'" in str(caught.value)
    assert "c" not in str(caught.value).split("cannot")[0]
    assert isinstance(caught.value, WorkbellError)


def test_each_value_once_in_the_order_of_first_insertion() -> None:
    index = PatternIndex(
        [
            ("x.y", "late"),
            ("posts.*", "second"),
            ("*.created", "third"),
            ("posts.created", "second"),
            ("posts.*", "third"),
            ("posts.created", "fourth"),
            ("posts.**", "late"),
            ("posts.*", "second"),
        ]
    )
    assert index.match("posts.created") == ("late", "second", "third", "fourth")
    assert index.match("posts.edited") == ("late", "second", "third")
    assert index.match("x.y") == ("late",)
    assert index.match("x.created") == ("third",)
    assert index.match("y") == ()


def test_the_index_knows_own_events_from_others() -> None:
    index = PatternIndex([("*", 1), ("job.*", 2), ("*.failed", 3), ("job.failed", 4)])
    for _ in range(2):  # found, then kept
        assert index.match("job.failed") == (1, 2, 3, 4)
        assert index.match("job.failed", system=True) == (2, 4)


def test_an_empty_index_matches_nothing() -> None:
    assert PatternIndex[str]([]).match("posts.created") == ()


def test_the_index_refuses_a_bad_pattern() -> None:
    with pytest.raises(InvalidEvent, match="'post\\*' cannot be used"):
        PatternIndex([("posts.created", 1), ("post*", 2)])


@pytest.mark.parametrize("event_type", ["", "a..b", "a b", "*", "a\n", "a" * 257, ".".join("a" * 33), "pösts"])
def test_no_type_at_all_matches_nothing_in_the_index(event_type: str) -> None:
    """One odd row in the store must not stop the events behind it; trying a pattern out does say what is wrong."""
    index = PatternIndex([("*", 1), ("**", 2), ("*.*", 3)])
    assert index.match(event_type) == ()
    with pytest.raises(InvalidEvent):
        matches("*", event_type)


def test_longest_types_reach_every_position() -> None:
    longest = ["a"] * MOST_SEGMENTS
    entries = [(".".join([*longest[:at], "*", *longest[at + 1 :]]), at) for at in range(MOST_SEGMENTS)]
    entries += [(".".join([*longest[:at], "**"]), 100 + at) for at in range(MOST_SEGMENTS)]
    index = PatternIndex(entries)
    assert index.match(".".join(longest)) == (*range(MOST_SEGMENTS), *range(100, 100 + MOST_SEGMENTS))
    longest[20] = "b"
    assert index.match(".".join(longest)) == (20, *range(100, 121))


def test_thousands_of_patterns_that_agree_until_the_last_segment() -> None:
    agreeing = [".".join(head) + ".a.a.a.b" for head in product("a*", repeat=12)]
    index = PatternIndex([*((pattern, place) for place, pattern in enumerate(agreeing)), ("a.**", -1)])
    assert index.match(".".join("a" * 16)) == (-1,)
    assert len(index.match(".".join("a" * 15) + ".b")) == 2**12 + 1


def test_rare_and_common_segments_in_one_index() -> None:
    """A segment few patterns name is held otherwise than one many name."""
    entries = [(f"rare{number}.*.x", number) for number in range(2000)]
    entries += [(f"common.*.t{number % 7}", 10_000 + number) for number in range(2000)]
    index = PatternIndex([*entries, ("*.a.*", 99_999)])
    assert index.match("rare1234.a.x") == (1234, 99_999)
    assert index.match("rare1234.b.y") == ()
    assert index.match("common.b.t3") == tuple(10_000 + number for number in range(2000) if number % 7 == 3)


def test_cached_answers_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_CACHED_ANSWERS", 10)
    monkeypatch.setattr(patterns, "MOST_CACHED_VALUES", 250)
    index = PatternIndex([*(("big.*", number) for number in range(100)), *(("huge.*", n) for n in range(251))])
    for number in range(50):
        assert index.match(f"small.t{number}") == ()
        assert len(index._answers) <= 10
    for number in range(10):
        assert len(index.match(f"big.t{number}")) == 100
        assert sum(map(len, index._answers.values())) == index._values_cached <= 250
    assert ("big.t9", False) in index._answers
    assert ("big.t0", False) not in index._answers
    assert len(index.match("huge.t")) == 251
    assert ("huge.t", False) not in index._answers
    assert index.match("big.t0") == tuple(range(100))


def test_memory_stays_in_proportion_to_the_patterns() -> None:
    """Segments that all differ must not each cost a set as wide as the index: that would be squared."""
    entries = [(".".join([*(f"s{number}_{at}" for at in range(4)), "*"]), number) for number in range(12_000)]
    tracemalloc.start()
    try:
        index = PatternIndex(entries)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / (12_000 * 4) < 500  # bytes a segment: about 200, and 1,000 if each had its bits
    assert index.match("s77_0.s77_1.s77_2.s77_3.z") == (77,)


def test_threads_share_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_CACHED_ANSWERS", 3)
    index = PatternIndex([("*.created", "c"), ("posts.*", "p")])
    start, wrong = Barrier(4), []

    def ask(seed: int) -> None:
        start.wait(30)
        try:
            for number in range(500):
                expected = ("c", "p") if number % 2 else ("p",)
                answer = index.match("posts.created" if number % 2 else f"posts.t{number % 5}_{seed % 2}")
                if answer != expected:
                    wrong.append(answer)
        except Exception as problem:  # a thread's error would be lost otherwise
            wrong.append((repr(problem),))

    threads = [Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(index._answers) <= 3
