"""Filters on runs in Python: the definition that counts for every store, whatever its database finds first."""

from __future__ import annotations

from operator import attrgetter

from workbell.model.input_fields import has_fields
from workbell.model.run import Run
from workbell.stores.port import Filter
from workbell.stores.reports.filters import COMPARISONS, CONDITIONS, conditions_of

FIELDS = {word: attrgetter(condition.field or condition.column) for word, condition in CONDITIONS.items()}


def matches(run: Run, wanted: Filter) -> bool:
    """Whether a run matches by its own fields; not by fields of its input, nor by whether it was retried."""
    return (not wanted.status or run.status in wanted.status) and all(
        COMPARISONS[condition.comparison](FIELDS[word](run), value) for word, condition, value in conditions_of(wanted)
    )


def matches_all(run: Run, wanted: Filter) -> bool:
    return matches(run, wanted) and has_fields(run.input_text, wanted.input)
