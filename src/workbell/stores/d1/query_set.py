"""The query set: every statement that a bridge executes, by name, and the digest that a client names it by.

A bridge is written with the set of its own version and with that of the version before, so that both work while a new
version is deployed. At a release, the set is kept for the next one:

    python -m workbell.stores.d1.query_set > src/workbell/stores/d1/previous.json
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files

import msgspec

from workbell.stores import migrate
from workbell.stores.d1.answers import Answering, answering
from workbell.stores.kumofire.queries import kumofire_queries
from workbell.stores.queries import migrations, parse
from workbell.stores.sqlite.dialect import QUERIES, SQLITE
from workbell.version import __version__

PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
FILE, PREVIOUS = "d1.sql", "previous.json"


class QuerySet(msgspec.Struct, frozen=True):
    """The queries of one version of Workbell."""

    version: str
    queries: dict[str, str]

    @property
    def digest(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self.queries, order="sorted")).hexdigest()[:16]


@cache
def answerings() -> dict[str, Answering]:
    """Every statement of this version, by name."""
    texts = QUERIES | parse(files(__package__).joinpath(FILE).read_text("utf-8")) | kumofire_queries()
    texts |= {"make_meta": migrate.META}
    for number, _, _ in migrations(SQLITE.engine):
        texts |= dict(migration_steps(number))
    return {name: answering(text) for name, text in texts.items()}


@cache
def migration_steps(number: int) -> list[tuple[str, str]]:
    """The statements of a migration, with the names that they have in the set."""
    _, name, script = next(each for each in migrations(SQLITE.engine) if each[0] == number)
    plain = "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("--"))
    parts = [part.strip().removesuffix(";") for part in f"{plain}\n".split(";\n")]
    return [(f"{name}/{index:02}", part) for index, part in enumerate(part for part in parts if part)]


@cache
def query_set() -> QuerySet:
    return QuerySet(__version__, {name: each.sql for name, each in sorted(answerings().items())})


@cache
def digest() -> str:
    return query_set().digest


@cache
def parameters(sql: str) -> tuple[str, ...]:
    """The names of the parameters of a statement, each once."""
    return tuple(dict.fromkeys(PARAMETER.findall(sql)))


def previous_set() -> QuerySet | None:
    """The set of the version before, if there was one with a bridge."""
    file = files(__package__).joinpath(PREVIOUS)
    return read_set(file.read_text("utf-8")) if file.is_file() else None


def read_set(text: str) -> QuerySet:
    return msgspec.json.decode(text, type=QuerySet)


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(query_set()), indent=1).decode())  # noqa: T201
