"""The page about the architecture names files and functions that exist."""

from __future__ import annotations

from pathlib import Path

from tests.docs.architecture_page import FILE, PAGE, defined, functions, way
from tests.docs.pages import ROOT, text_of
from tests.support.way import HOME

PLACES = [Path(HOME), ROOT]
WAYS = ["A run", "A tick", "An event", "A death"]


def test_files_exist() -> None:
    """By their path below the package or the project; a bare name, anywhere below the package."""
    missing = [
        name
        for name in sorted(set(FILE.findall(text_of(PAGE))))
        if not any((place / name).exists() for place in PLACES) and not any(Path(HOME).rglob(name))
    ]
    assert missing == []


def test_functions_of_the_ways_exist() -> None:
    named = functions(" → ".join(way(title) for title in WAYS))
    assert [str(one) for one in named if one.name not in defined(one.file)] == []
    assert len(named) > 50  # all of them were read
