"""Event patterns: the rules for types and patterns, and an index over many patterns.

A type is segments joined by dots (`posts.created`). In a pattern `*` stands for exactly one segment, `**` at the end
for one or more, and `*` alone for every type. Workbell's own events are matched only by patterns whose first segment is
written out, so that a pattern for everything is not flooded by the events of every run.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from threading import Lock
from typing import Generic, TypeVar

from workbell.errors import InvalidEvent

TYPE_LIMIT = 256
MOST_SEGMENTS = 32
MOST_CACHED_ANSWERS = 1024
MOST_CACHED_VALUES = 200_000  # over all cached answers: 1.6 MB of references
SHOWN = 60

T = TypeVar("T", bound=Hashable)

_TYPE = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")
_FOREIGN_TO_TYPE = re.compile(r"[^A-Za-z0-9_.]")
_FOREIGN_TO_PATTERN = re.compile(r"[^A-Za-z0-9_.*]")

_Numbers = int | tuple[int, ...]  # a set of patterns: as bits when that is the smaller form, else listed


def check_type(value: object) -> str:
    """The type as it is, or InvalidEvent saying what is wrong with it."""
    text = _check_text("event type", value)
    if "*" in text:
        raise _refusal("event type", text, "an event has one type and * is for patterns", "Write every segment out")
    _check_segments("event type", text, _FOREIGN_TO_TYPE, "letters a-z, A-Z, digits and _, with dots between them")
    return text


def check_pattern(value: object) -> str:
    """The pattern as it is, or InvalidEvent saying what is wrong with it."""
    text = _check_text("pattern", value)
    segments = _check_segments("pattern", text, _FOREIGN_TO_PATTERN, "letters a-z, A-Z, digits, _, . and *")
    for segment in segments:
        if "*" in segment and segment not in ("*", "**"):
            remedy = "Write the segment out, or put * alone between the dots, as in posts.* or *.created"
            raise _refusal("pattern", text, f"{_shown(segment)} mixes * with more, but * is one whole segment", remedy)
    if "**" in segments[:-1]:
        raise _refusal("pattern", text, "** may only be the last segment", "Use * for one segment in the middle")
    return text


def is_literal(pattern: str) -> bool:
    """Whether the pattern is simply the one type it matches."""
    return "*" not in pattern


def matches(pattern: str, event_type: str, *, system: bool = False) -> bool:
    """Whether one pattern matches one type. Both are checked: this is for trying patterns out."""
    return bool(PatternIndex([(pattern, True)]).match(check_type(event_type), system=system))


class PatternIndex(Generic[T]):
    """The values whose patterns match a type, found without trying the patterns one by one.

    Patterns without a star are found in a dict. Each of the others has a number, and for every position the index knows
    the set of numbers that accept a given segment there; the matching ones are the intersection over the positions of
    the type. Sets are bits of integers, so that even patterns made to agree for as long as possible cost one pass over
    a few kilobytes for each segment, where walking a tree of segments would visit each of its nodes.

    It never changes once built, and may be used by several threads.
    """

    def __init__(self, entries: Iterable[tuple[str, T]]) -> None:
        """Index pairs of pattern and value; a value may come under several patterns, a pattern with several values."""
        ranks: dict[T, int] = {}
        found: dict[str, dict[int, None]] = {}
        for pattern, value in entries:
            rank = ranks.setdefault(value, len(ranks))
            found.setdefault("**" if pattern == "*" else check_pattern(pattern), {})[rank] = None
        self._values = tuple(ranks)
        self._exact = {pattern: tuple(by) for pattern, by in found.items() if is_literal(pattern)}
        starred = [pattern for pattern in found if not is_literal(pattern)]
        self._starred = [tuple(found[pattern]) for pattern in starred]
        self._lay_out(starred)
        self._answers: dict[tuple[str, bool], tuple[T, ...]] = {}
        self._values_cached = 0
        self._lock = Lock()

    def match(self, event_type: str, *, system: bool = False) -> tuple[T, ...]:
        """Every value with a matching pattern, once, in the order they first came in.

        `system` says that the event is one of Workbell's own. An invalid type matches nothing rather than raising:
        one odd row in the store must not stop the events behind it.
        """
        answer = self._answers.get((event_type, system))
        if answer is None:
            if len(event_type) > TYPE_LIMIT or not _TYPE.fullmatch(event_type):
                return ()
            answer = self._find(event_type, system)
            self._cache((event_type, system), answer)
        return answer

    def _lay_out(self, patterns: list[str]) -> None:
        """Turn the starred patterns into sets of numbers, by position."""
        written: list[dict[str, list[int]]] = [{} for _ in range(MOST_SEGMENTS)]
        starred: list[list[int]] = [[] for _ in range(MOST_SEGMENTS)]
        ended: list[list[int]] = [[] for _ in range(MOST_SEGMENTS)]
        endless: list[list[int]] = [[] for _ in range(MOST_SEGMENTS)]
        for number, pattern in enumerate(patterns):
            segments = pattern.split(".")
            last = len(segments) - 1
            (endless if segments[last] == "**" else ended)[last].append(number)
            for position, segment in enumerate(segments):
                if segment == "*":
                    starred[position].append(number)
                elif segment != "**":
                    written[position].setdefault(segment, []).append(number)
        self._width = len(patterns) // 8 + 1
        self._any: list[int] = []  # by position: those that accept any segment there
        self._ending: list[int] = []  # by position: those that accept it as the last one
        onward = 0
        for position in range(MOST_SEGMENTS):
            onward |= self._bits(endless[position])
            self._any.append(onward | self._bits(starred[position]))
            self._ending.append(onward | self._bits(ended[position]))
        self._written: list[dict[str, _Numbers]] = [
            {segment: self._smaller(numbers) for segment, numbers in by_segment.items()} for by_segment in written
        ]

    def _smaller(self, numbers: list[int]) -> _Numbers:
        """Bits take as much room for one number as for all: a list for few makes the index linear in its patterns."""
        return self._bits(numbers) if len(numbers) * 8 >= self._width else tuple(numbers)

    def _bits(self, numbers: Iterable[int]) -> int:
        bits = bytearray(self._width)
        for number in numbers:
            bits[number >> 3] |= 1 << (number & 7)
        return int.from_bytes(bits, "little")

    def _find(self, event_type: str, system: bool) -> tuple[T, ...]:
        segments = event_type.split(".")
        if len(segments) > MOST_SEGMENTS:
            return ()
        alive = self._ending[len(segments) - 1]
        for position, segment in enumerate(segments):
            if not alive:
                break
            accepting = 0 if system and position == 0 else self._any[position]
            numbers = self._written[position].get(segment)
            if numbers is not None:
                accepting |= numbers if isinstance(numbers, int) else self._bits(numbers)
            alive &= accepting
        groups = [self._starred[number] for number in _ones(alive)]
        ranks = set(self._exact.get(event_type, ())).union(*groups)
        return tuple([self._values[rank] for rank in sorted(ranks)])

    def _cache(self, key: tuple[str, bool], answer: tuple[T, ...]) -> None:
        """Cache an answer, as types repeat: up to a number of answers, and of values in them; the oldest go first."""
        if len(answer) > MOST_CACHED_VALUES:
            return
        with self._lock:
            if key in self._answers:
                return
            while self._answers and (
                len(self._answers) >= MOST_CACHED_ANSWERS or self._values_cached + len(answer) > MOST_CACHED_VALUES
            ):
                self._values_cached -= len(self._answers.pop(next(iter(self._answers))))
            self._answers[key] = answer
            self._values_cached += len(answer)


def _ones(bits: int) -> Iterator[int]:
    """The positions of the set bits, lowest first."""
    digits = bin(bits)[:1:-1]
    number = digits.find("1")
    while number >= 0:
        yield number
        number = digits.find("1", number + 1)


def _check_text(kind: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidEvent(f"The {kind} is {type(value).__name__}, not a string. Write one like 'posts.created'.")
    if not value:
        raise _refusal(kind, value, "it is empty", "Write one like 'posts.created'")
    if len(value) > TYPE_LIMIT:
        raise _refusal(kind, value, f"it has {len(value)} characters", f"Keep it to {TYPE_LIMIT} at most")
    return value


def _check_segments(kind: str, text: str, foreign: re.Pattern[str], allowed: str) -> list[str]:
    strange = foreign.search(text)
    if strange:
        raise _refusal(kind, text, f"it contains {strange.group()!r}", f"Use only {allowed}")
    segments = text.split(".")
    if "" in segments:
        raise _refusal(kind, text, "it has an empty segment", "Put one dot between segments and none at the ends")
    if len(segments) > MOST_SEGMENTS:
        raise _refusal(kind, text, f"it has {len(segments)} segments", f"Keep it to {MOST_SEGMENTS} at most")
    return segments


def _refusal(kind: str, text: str, reason: str, remedy: str) -> InvalidEvent:
    return InvalidEvent(f"The {kind} {_shown(text)} cannot be used: {reason}. {remedy}.")


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")
