"""Matching the type of an event against many patterns: the index against trying the patterns one by one.

`build` is the time to make the index, `first` the time to match a type it has not met, `again` one it has, `one by one`
the time to try a compiled regular expression for each pattern. Medians, and the slowest type of the set as `worst`
(itself the median of its rounds).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from itertools import islice, product
from random import Random
from statistics import median
from time import perf_counter
from typing import NamedTuple

from workbell.model.patterns import MOST_SEGMENTS, PatternIndex

NOUNS = [f"{area}_{thing}" for area in ("shop", "blog", "bank", "chat", "game") for thing in range(200)]
VERBS = ["created", "updated", "deleted", "published", "archived", "failed", "paid", "sent", "opened", "closed"]


class Set(NamedTuple):
    patterns: list[str]
    types: list[str]


def realistic(number: int) -> Set:
    """Two thirds exact, a quarter by noun, the rest across nouns or deeper."""
    dice = Random(1)
    forms: list[Callable[[], str]] = [
        lambda: f"{dice.choice(NOUNS)}.{dice.choice(VERBS)}",
        lambda: f"{dice.choice(NOUNS)}.{dice.choice(VERBS)}.v{dice.randrange(5)}",
        lambda: f"{dice.choice(NOUNS)}.*",
        lambda: f"*.{dice.choice(VERBS)}.v{dice.randrange(1000)}",
        lambda: f"{dice.choice(NOUNS)}.*.v{dice.randrange(5)}",
        lambda: f"{dice.choice(NOUNS)}.**",
    ]
    patterns = [forms[kind]() for kind in dice.choices(range(6), [40, 25, 15, 5, 10, 5], k=number)]
    types = [f"{dice.choice(NOUNS)}.{dice.choice(VERBS)}" for _ in range(100)]
    return Set(patterns, types + [f"{name}.v{dice.randrange(5)}" for name in types])


def agreeing(number: int) -> Set:
    """All agree with the type, each in its own way, until the very last segment: the worst for a tree."""
    heads = islice(product("a*", repeat=MOST_SEGMENTS - 1), number)
    return Set([".".join([*head, "b"]) for head in heads], [".".join("a" * MOST_SEGMENTS)])


def scattered(number: int) -> Set:
    """Stars at random in long patterns, two words: most die somewhere on the way."""
    dice = Random(2)
    patterns = [".".join(dice.choices("ab*", [2, 2, 6], k=MOST_SEGMENTS)) for _ in range(number)]
    return Set(patterns, [".".join(dice.choices("ab", k=MOST_SEGMENTS)) for _ in range(50)])


def listed(number: int) -> Set:
    """Every segment of the type is named by just so few patterns that the index lists them, and has to mark them."""
    few = number // 65
    heads = [[f"s{(place + 97 * at) % number // few}" for at in range(20)] for place in range(number)]
    return Set([".".join([*head, "*"]) for head in heads], [".".join([*heads[0], "x"])])


def distinct(number: int) -> Set:
    """No segment comes twice: the most memory."""
    patterns = [".".join([*(f"{place * 40 + at:x}" for at in range(31)), "*"]) for place in range(number)]
    return Set(patterns, [pattern.replace("*", "x") for pattern in patterns[:: number // 50]])


def endless(number: int) -> Set:
    """`**` at every depth, with a first segment of its own or a star."""
    dice = Random(3)
    depths = [dice.randrange(1, 20) for _ in range(number)]
    patterns = [".".join([dice.choice(["*", f"n{place}"]), *["*"] * depth, f"m{place}", "**"])
                for place, depth in enumerate(depths)]  # fmt: skip
    return Set(patterns, [".".join([f"n{place}", *["k"] * 20, f"m{place}", "z"]) for place in range(50)])


def everything(number: int) -> Set:
    """Every pattern matches, each another one: as much to hand back as there can be."""
    heads = islice(product("a*", repeat=MOST_SEGMENTS), number)
    return Set([".".join(head) for head in heads], [".".join("a" * MOST_SEGMENTS)])


SETS = [realistic, agreeing, scattered, listed, distinct, endless, everything]


def expression_of(pattern: str) -> re.Pattern[str]:
    escaped = re.escape(pattern).replace(r"\.\*\*", r"(?:\.[^.]+)+")
    return re.compile(escaped.replace(r"\*", r"[^.]+"))


def taken(work: Callable[[], object]) -> float:
    """Microseconds."""
    begin = perf_counter()
    work()
    return (perf_counter() - begin) * 1_000_000


def measure(made: Set, rounds: int, tried: int) -> dict[str, float]:
    entries = list(zip(made.patterns, range(len(made.patterns)), strict=True))
    builds: list[float] = []
    first: dict[str, list[float]] = {event_type: [] for event_type in made.types}
    again: list[float] = []
    for _ in range(rounds):
        begin = perf_counter()
        index = PatternIndex(entries)
        builds.append((perf_counter() - begin) * 1000)
        for event_type, times in first.items():
            times.append(taken(lambda: index.match(event_type)))  # noqa: B023
        again.extend(taken(lambda: index.match(event_type)) for event_type in first)  # noqa: B023
    expressions = [(expression_of(pattern), value) for pattern, value in entries]
    slow = []
    for event_type in made.types[:tried]:
        begin = perf_counter()
        found = tuple(value for expression, value in expressions if expression.fullmatch(event_type))
        slow.append((perf_counter() - begin) * 1_000_000)
        assert found == index.match(event_type), "the two disagree"
    by_type = [median(times) for times in first.values()]
    return {
        "build ms": median(builds),
        "matching": median(len(index.match(event_type)) for event_type in made.types),
        "first µs": median(by_type),
        "worst µs": max(by_type),
        "again µs": median(again),
        "one by one µs": median(slow),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patterns", type=int, default=10_000, help="patterns in each set")
    parser.add_argument("--rounds", type=int, default=5, help="times each index is built anew; medians are shown")
    parser.add_argument("--tried", type=int, default=5, help="types of each set to try one by one")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    rows = {make.__name__: measure(make(given.patterns), given.rounds, given.tried) for make in SETS}
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    columns = list(next(iter(rows.values())))
    print(f"{given.patterns:<12,}" + "".join(f"{column:>14}" for column in columns) + f"{'one by one ×':>14}")
    for name, row in rows.items():
        ratio = row["one by one µs"] / row["first µs"]
        print(f"{name:12}" + "".join(f"{row[column]:14.1f}" for column in columns) + f"{ratio:14.0f}")


if __name__ == "__main__":
    main()
