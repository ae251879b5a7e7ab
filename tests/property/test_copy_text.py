"""Texts for PostgreSQL that are built by hand: they must read back as what they were, for any value.

The parsers here follow PostgreSQL's manual (COPY's text format; array input), not our code.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.makers import NOW, run_in
from workbell.model.run import NewRun, Status
from workbell.stores.postgres.arrays import array_text
from workbell.stores.postgres.copy_text import copy_rows, escape
from workbell.stores.rows import NEW, new_values

# No NUL and no surrogates: those are refused or cleaned before.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
awkward = st.text(st.sampled_from("\\\n\t\r\b\f\v\"'{},N. ab"))
words = texts | awkward

ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def read_copy(data: str) -> list[list[str | None]]:
    """What COPY FROM would make of a text."""
    assert data.endswith("\n")
    return [[read_field(field) for field in line.split("\t")] for line in data[:-1].split("\n")]


def read_field(field: str) -> str | None:
    assert "\r" not in field, "a bare carriage return would be taken for the end of a line"
    if field == "\\N":
        return None
    found, place = "", 0
    while place < len(field):
        if field[place] == "\\":
            place += 1
            assert place < len(field), "a backslash at the end joins two lines"
            # Octal and hexadecimal numbers would be read here too; we never write them.
            assert field[place] not in "01234567xN.", f"\\{field[place]} has a meaning of its own"
            found += ESCAPES.get(field[place], field[place])
        else:
            found += field[place]
        place += 1
    return found


@given(words)
def test_any_text_survives_copy(text: str) -> None:
    assert read_copy(escape(text) + "\n") == [[text]]


keys = st.none() | words
runs = st.builds(
    lambda number, key, tag, text, by, delay: NewRun(
        msgspec.structs.replace(
            run_in(Status.SCHEDULED, key=key, tag=tag, input_text=text, accepted_by=by),
            id=f"01890000-0000-7000-8000-{number:012x}",
            scheduled_for=NOW + timedelta(microseconds=delay),
            expires_at=None if delay % 2 else NOW.astimezone(timezone(timedelta(minutes=delay % 800))),
        )
    ),
    st.integers(0, 2**48 - 1), keys, keys, keys, keys, st.integers(0, 10**12),
)  # fmt: skip


@given(st.lists(runs, min_size=1, max_size=6))
def test_runs_survive_copy(new: list[NewRun]) -> None:
    columns, data = copy_rows([new_values(request) for request in new])
    lines = read_copy(data.decode())
    assert len(lines) == len(new)
    for request, line in zip(new, lines, strict=True):
        found = dict(zip(columns, line, strict=True))
        for name, value in zip(NEW, new_values(request), strict=True):
            text = found.get(name)
            if isinstance(value, datetime):
                assert text is not None
                assert datetime.fromisoformat(text) == value, name
            else:
                assert text == (None if value is None else str(value)), name


def read_array(text: str) -> list[str | None]:
    """What array input would make of a text."""
    assert text[0] == "{"
    assert text[-1] == "}"
    found: list[str | None] = []
    place, end = 1, len(text) - 1
    while place < end:
        if text[place] == '"':
            item, place = "", place + 1
            while text[place] != '"':
                if text[place] == "\\":
                    place += 1
                item += text[place]
                place += 1
            found.append(item)
            place += 1
        else:
            stop = text.find(",", place)
            stop = end if stop < 0 else stop
            bare = text[place:stop]
            assert bare, "an empty element must be quoted"
            assert not set(bare) & set('{}"\\ \t\n'), bare
            found.append(None if bare.upper() == "NULL" else bare)
            place = stop
        assert place == end or text[place] == ","
        place += 1
    return found


@given(st.lists(st.none() | words | st.sampled_from(["NULL", "null", "", "{}"]), max_size=8))
def test_any_list_of_texts_survives_as_an_array(values: list[str | None]) -> None:
    assert read_array(array_text(values)) == values


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=8))
def test_numbers_survive_as_an_array(values: list[int | None]) -> None:
    assert read_array(array_text(values)) == [None if value is None else str(value) for value in values]
