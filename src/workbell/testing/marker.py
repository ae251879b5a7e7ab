"""The marker `@pytest.mark.workbell(…)`: its options, read and checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from workbell.errors import InvalidOption
from workbell.model.suggestions import list_options

NAME = "workbell"


class MarkerOptions(NamedTuple):
    """Arguments of the marker `workbell` for one test. A nearer marker overrides those of its class and module."""

    inline: bool = False
    real_store: bool = False


def read_marker(item: pytest.Item) -> MarkerOptions:
    """The options of a test; InvalidOption for words that the marker does not know."""
    options = MarkerOptions()
    for mark in reversed(list(item.iter_markers(NAME))):
        options = options._replace(**_checked(mark))
    return options


def _checked(mark: pytest.Mark) -> dict[str, Any]:
    if mark.args:
        raise InvalidOption(
            f"pytest.mark.{NAME}: {mark.args[0]!r:.40} has no name; write {NAME}(inline=True) or "
            f"{NAME}(real_store=True)."
        )
    for word, value in mark.kwargs.items():
        if word not in MarkerOptions._fields:
            listed = list_options(word, MarkerOptions._fields)
            raise InvalidOption(f"pytest.mark.{NAME}: there is no option {word!r}; {listed}")
        if not isinstance(value, bool):
            raise InvalidOption(f"pytest.mark.{NAME}: {word}={value!r:.40} is not True or False.")
    return dict(mark.kwargs)
