"""Completion of `bell` shows what users may call, and the reference has a word about each."""

import inspect
import re
from pathlib import Path

from workbell import Workbell

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"


def test_every_completed_name_is_in_the_reference() -> None:
    with Workbell("memory://") as bell:
        names = [name for name in dir(bell) if not name.startswith("_")]
    text = REFERENCE.read_text()
    assert {"enqueue", "runs", "schedules", "why"} <= set(names)
    assert [name for name in names if not _documented(name, text)] == []


def _documented(name: str, text: str) -> bool:
    twin = name.removeprefix("a")  # an async twin stands with its verb
    return bool(re.search(rf"^### `({name}|{twin})[(`]|bell\.{name}\b|Async: `{name}`", text, re.MULTILINE))


def test_parts_for_the_layers_inside_are_not_completed() -> None:
    with Workbell("memory://") as bell:
        assert bell.store is bell.runtime.store  # they are there
        assert not {"store", "registry", "runtime", "host", "settings", "verified"} & set(dir(bell))


def test_every_completed_name_has_words_for_help() -> None:
    with Workbell("memory://") as bell:
        names = {name for name in dir(bell) if not name.startswith("_")}
        silent = {name for name in names if not inspect.getdoc(getattr(bell, name))}
    assert {name for name in silent if name.removeprefix("a") not in names} == set()  # but twins of verbs
