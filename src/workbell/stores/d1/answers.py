"""Answers as JSON: SQL whose rows come back as JSON arrays, so that a bridge in JavaScript changes nothing in them.

D1 answers in JavaScript's values: an integer beyond 2^53 is rounded, and of two columns with one name one is lost. So
SQLite itself writes each row as a JSON array, and the bridge passes the text on as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

MOST_ARGUMENTS = 30  # of a function: D1 takes 32, and a run has 35 columns
PARTS = "ab"  # the columns that rows come back in

_TOKEN = re.compile(r"'(?:[^']|'')*'|[(),]|\b[A-Z]+\b")
_ALIAS = re.compile(r"\s+AS\s+(\w+)$", re.DOTALL)
_OF_TABLE = re.compile(r"^\w+\.(?=\w+$)")
_VERBS = frozenset("SELECT INSERT UPDATE DELETE CREATE ALTER DROP".split())
_AFTER_COLUMNS = frozenset("FROM WHERE UNION GROUP ORDER LIMIT".split())
_TOGETHER = frozenset("UNION DISTINCT GROUP".split())  # rows that are compared with each other, column by column


class Answering(NamedTuple):
    """SQL whose rows are JSON, and the names of the columns in them; none, if it answers nothing."""

    sql: str
    columns: tuple[str, ...]


class _Word(NamedTuple):
    """A word outside of parentheses and quotes."""

    text: str
    start: int
    end: int


@lru_cache(1024)
def answering(sql: str) -> Answering:
    """The same statement with rows of JSON."""
    words = _outer_words(sql)
    returning = next((word for word in words if word.text == "RETURNING"), None)
    if returning is not None:
        columns = _columns(sql[returning.end :])
        return Answering(f"{sql[: returning.end]} {_as_json(columns)}", _names(columns))
    verb = next((index for index, word in enumerate(words) if word.text in _VERBS), None)
    if verb is None or words[verb].text != "SELECT":
        return Answering(sql, ())
    rest = words[verb + 1 :]
    start = rest[0].end if rest and rest[0].text == "DISTINCT" else words[verb].end
    end = next((word.start for word in rest if word.text in _AFTER_COLUMNS), len(sql))
    columns = _columns(sql[start:end])
    if any(word.text in _TOGETHER for word in rest):
        names = [f"c{index}" for index in range(len(columns))]
        found = f"WITH answer({', '.join(names)}) AS ({sql})"
        return Answering(f"{found} SELECT {_as_json(names)} FROM answer", _names(columns))  # noqa: S608
    return Answering(f"{sql[: words[verb].end]} {_as_json(columns)} {sql[end:]}", _names(columns))


def _outer_words(sql: str) -> list[_Word]:
    return [word for word in _outer_tokens(sql) if word.text.isalpha()]


def _outer_tokens(sql: str) -> list[_Word]:
    depth, found = 0, []
    for token in _TOKEN.finditer(sql):
        if token[0] == "(":
            depth += 1
        elif token[0] == ")":
            depth -= 1
        elif depth == 0 and not token[0].startswith("'"):
            found.append(_Word(token[0], token.start(), token.end()))
    return found


def _columns(listed: str) -> list[str]:
    """The expressions of a list."""
    commas = [word.start for word in _outer_tokens(listed) if word.text == ","]
    indexes = [-1, *commas, len(listed)]
    return [listed[start + 1 : end].strip() for start, end in pairwise(indexes)]


def _names(columns: list[str]) -> tuple[str, ...]:
    """As SQLite names the columns of an answer."""
    return tuple(alias[1] if (alias := _ALIAS.search(each)) else _OF_TABLE.sub("", each) for each in columns)


def _as_json(columns: list[str]) -> str:
    plain = [_ALIAS.sub("", each) for each in columns]
    groups = [plain[index : index + MOST_ARGUMENTS] for index in range(0, len(plain), MOST_ARGUMENTS)]
    return ", ".join(f"json_array({', '.join(group)}) AS {name}" for group, name in zip(groups, PARTS, strict=False))
