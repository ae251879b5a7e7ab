"""Filter of runs, in queries, bulk actions and live views."""

from __future__ import annotations

from typing import Any

from workbell.model.run_filter import WORDS, QueryWords
from workbell.wire.operation import Query

FIELD = "input."  # in a query: fields of the input by dotted paths


class RunFilter(Query, QueryWords, frozen=True, kw_only=True):
    """Which runs. Fields of the input are asked for as `input.customer.id=42`, by a JSON value or a plain text."""


def filter_words(wanted: QueryWords) -> dict[str, Any]:
    """Options of `bell.runs` that are given, but for paging; a query string has no word for the input."""
    return {name: value for name in WORDS if (value := getattr(wanted, name, None)) not in (None, [])}
