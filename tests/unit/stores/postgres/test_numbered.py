"""Numbered parameters: each word has one number, and values come in the order of the numbers."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from workbell.stores.database import Rows, Statement
from workbell.stores.postgres.dialect import QUERIES
from workbell.stores.postgres.numbered import _numbered, bind_numbered
from workbell.stores.queries import numbered_parameters

WORDS = st.lists(st.sampled_from(["id", "now", "tenant", "to_status"]), max_size=8)


def test_casts_and_times_are_no_parameters() -> None:
    sql, words = numbered_parameters("SELECT 1e6::float8, :id, '%', CAST(:now AS timestamptz) WHERE a = :id")
    assert sql == "SELECT 1e6::float8, $1, '%', CAST($2 AS timestamptz) WHERE a = $1"
    assert words == ("id", "now")


@given(WORDS)
def test_a_number_stands_for_its_word(used: list[str]) -> None:
    sql, words = numbered_parameters(", ".join(f":{word}" for word in used))
    assert [words[int(number) - 1] for number in re.findall(r"\$(\d+)", sql)] == used
    assert len(set(words)) == len(words)


def test_every_query_has_the_parameters_that_psycopg_is_given() -> None:
    for query, text in QUERIES.items():
        assert set(re.findall(r"%\((\w+)\)s", text)) == set(_numbered(query)[1]), query


def test_rows_are_a_list_for_each_column() -> None:
    columns = ["run_id", "expected_token", "started", "finished", "result_text", "removed"]
    rows = Rows(columns, [["a", 1, 2, 3, None, 4], ["b", 5, 6, 7, "{}", 8]])
    statement = Statement("finish_well", {"rows": rows, "from_status": "running", "to_status": "succeeded"})
    _, words = _numbered("finish_well")
    bound = dict(zip(words, bind_numbered(statement)[1], strict=True))
    assert (bound["run_id"], bound["result_text"], bound["to_status"]) == (["a", "b"], [None, "{}"], "succeeded")
    empty = Statement("finish_well", statement.values | {"rows": Rows(columns, [])})
    assert bind_numbered(empty)[1].count([]) == len(columns)
