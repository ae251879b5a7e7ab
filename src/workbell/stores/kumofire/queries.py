"""The queries about Kumofire's tables, by name: for files, and for the bridge of a D1 database."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from workbell.stores.queries import parse


@cache
def kumofire_queries() -> dict[str, str]:
    return parse(files(__package__).joinpath("kumofire.sql").read_text("utf-8"))
