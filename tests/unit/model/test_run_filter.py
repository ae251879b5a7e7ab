"""Words of a filter of runs: one definition, from which everything else comes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbell
from workbell.cli.runs.filters import TYPES
from workbell.model.run_filter import WORDS, Filter, FilterOptions, RunWords, WordKind, check_names, names_of
from workbell.runs.filters import READ
from workbell.stores.reports.filters import CONDITIONS

SOURCES = Path(workbell.__file__).parent
# Files that may name the words: the two to edit, and those that are generated from them.
DEFINED = {"model/run_filter.py", "stores/reports/filters.py"}
GENERATED = {
    "http/dashboard/static/components/run-words.js",
    "http/dashboard/types/api.d.ts",
    "remote/verbs.py",
}
# Files with the fields of a run or of its options, which have the names of many words.
OF_RUNS = {
    "cli/runs/show.py",
    "http/dashboard/static/components/schedule-body.js",
    "http/dashboard/static/screens/run.js",
    "job_files/job_folder.py",
    "job_files/settings.py",
    "model/request.py",
    "model/run.py",
    "model/run_defaults.py",
    "model/run_settings.py",
    "stores/rows.py",
    "wire/agents.py",
    "wire/runs.py",
}
MANY = 6
NOT_IN_SQL_TABLE = {"status", "retried", "input"}  # `streams_of` and `search` have their conditions
OF_THE_CALLER = {"tenant", "before", "limit", "lane_key"}


def test_the_words_are_the_same_in_all_three_forms() -> None:
    assert RunWords.__struct_fields__ == tuple(WORDS)
    assert tuple(FilterOptions.__annotations__) == tuple(WORDS)
    assert [name for name in Filter._fields if name not in OF_THE_CALLER] == list(WORDS)


def test_every_word_has_a_condition() -> None:
    assert set(CONDITIONS) | NOT_IN_SQL_TABLE == set(WORDS) | OF_THE_CALLER - {"limit"}


def test_every_kind_can_be_read_and_typed() -> None:
    assert set(READ) == set(TYPES) == set(WordKind) == {word.kind for word in WORDS.values()}


def test_words_of_a_kind() -> None:
    assert names_of(*WordKind) == tuple(WORDS)
    assert names_of(WordKind.INPUT, WordKind.STATUSES) == ("status", "input")
    assert names_of() == ()


def test_an_unknown_word_is_refused() -> None:
    check_names(dict.fromkeys(WORDS))
    with pytest.raises(workbell.InvalidOption, match=r"'colour' in a filter; the words are status, job, .*, input\."):
        check_names({"colour": "red"})


def test_no_other_file_names_the_words() -> None:
    """A new word is a change of two files: whoever needs the words takes them from the definition."""
    naming = {path.relative_to(SOURCES).as_posix() for path in _sources() if _names_many(path)}
    assert naming - DEFINED - GENERATED - OF_RUNS == set()
    assert naming >= DEFINED | OF_RUNS, "A file of these lists names the words no longer; take it out."


@pytest.mark.parametrize("name", sorted(OF_RUNS))
def test_files_about_the_fields_of_a_run_do_not_name_all_words(name: str) -> None:
    assert set(WORDS) - _named(SOURCES / name), f"{name} looks like a list of the filter's words."


def _sources() -> Iterator[Path]:
    for path in SOURCES.rglob("*"):
        parts = path.relative_to(SOURCES).parts
        if path.suffix in (".py", ".js", ".ts") and parts[0] != "testing" and "vendor" not in parts:
            yield path


def _names_many(path: Path) -> bool:
    text = path.read_text("utf-8")
    # To parse a file costs a hundred times what a search does, and few have so many of the words at all.
    return sum(word in text for word in WORDS) >= MANY and len(_named(path) & set(WORDS)) >= MANY


def _named(path: Path) -> set[str]:
    """Names in a file that may be words: short texts, annotated fields, keys of objects."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return {quoted or key for quoted, key in re.findall(r"""["'](\w+)["']|\b(\w+)\??:""", text)}
    found = set[str]()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Constant(value=str(value)) if len(value) < 200:
                found.update(value.split())
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found
