"""A parser of SQL queries, as far as tests of their guards need it: scopes, their tables, and their conditions.

A scope is one SELECT, UPDATE, INSERT or DELETE: the statement itself, a CTE, a subquery, a part of a UNION. It knows
the tables it is about and the conditions that must all hold for a row (`conjuncts`). An `INSERT … SELECT` is one scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Nodes = list["str | Nodes"]

_TOKEN = re.compile(
    r"'(?:[^']|'')*'|:[a-z_]+|\{[^}]*\}|[A-Za-z_]\w*(?:\.(?:[A-Za-z_]\w*|\*))?|\d+(?:\.\d+)?|->>|<>|<=|>=|\|\||=>|\S"
)
_VERBS = ("SELECT", "UPDATE", "INSERT", "DELETE")
_BEFORE_TABLE = ("FROM", "JOIN", "UPDATE", "INTO", "USING", ",", "LATERAL")
_NO_ALIAS = re.compile(
    r"WHERE|SET|ON|USING|CROSS|LEFT|FULL|JOIN|ORDER|GROUP|LIMIT|RETURNING|FOR|VALUES|SELECT|UNION|OFFSET|DEFAULT"
)
_AFTER_WHERE = ("GROUP", "ORDER", "LIMIT", "RETURNING", "FOR", "OFFSET", "ON")


def tokens(text: str) -> Nodes:
    """The tokens of a text, those between parentheses as lists of their own."""
    top: Nodes = []
    stack = [top]
    for token in _TOKEN.findall(text):
        if token == "(":
            inner: Nodes = []
            stack[-1].append(inner)
            stack.append(inner)
        elif token == ")":
            stack.pop()
        else:
            stack[-1].append(token)
    return top


@dataclass(eq=False)
class Scope:
    verb: str
    nodes: Nodes
    outer: Scope | None
    ctes: dict[str, list[Scope]]
    inner: dict[int, list[Scope]] = field(default_factory=dict)  # by the id of the list between the parentheses
    tables: dict[str, str] = field(default_factory=dict)  # by alias

    @property
    def target(self) -> str | None:
        """The table that the scope writes; none for a SELECT."""
        if self.verb == "SELECT":
            return None
        return next(str(node) for node in self.nodes if isinstance(node, str) and node.startswith("workbell_"))

    @property
    def locks(self) -> bool:
        """Whether it locks the rows that it selects."""
        flat = [node if isinstance(node, str) else "" for node in self.nodes]
        return "FOR" in flat and flat[flat.index("FOR") + 1 :][:1] in (["UPDATE"], ["NO"])

    def conjuncts(self) -> list[Nodes]:
        """The conditions that must all hold. Of those that are joined by OR, none must."""
        if "WHERE" not in self.nodes:
            return []
        rest = self.nodes[self.nodes.index("WHERE") + 1 :]
        end = next((place for place, node in enumerate(rest) if node in _AFTER_WHERE), len(rest))
        return list(_conjuncts(rest[:end]))

    def table_of(self, column: str, having: Sequence[str] = ()) -> str | None:
        """The table of a column, by its alias; without one the only table there is, or the only one that has it."""
        alias, _, _ = column.rpartition(".")
        if alias:
            found = self.tables.get(alias)
            return found if found is not None or self.outer is None else self.outer.table_of(column)
        there = set(self.tables.values())
        if len(there) != 1:
            there &= set(having)
        return there.pop() if len(there) == 1 else None

    def read_from(self) -> Iterator[Scope]:
        """The scopes whose rows it reads: subqueries among its tables, and CTEs."""
        for before, node in zip(self.nodes, self.nodes[1:], strict=False):
            if before in _BEFORE_TABLE:
                yield from self.inner.get(id(node), ()) if isinstance(node, list) else self.ctes.get(str(node), ())


def _conjuncts(nodes: Nodes) -> Iterator[Nodes]:
    if "OR" in nodes:
        return
    part: Nodes = []
    for node in [*nodes, "AND"]:
        if node != "AND":
            part.append(node)
            continue
        if len(part) == 1 and isinstance(part[0], list):
            yield from _conjuncts(part[0])
        elif part:
            yield part
        part = []


def scopes(text: str) -> list[Scope]:
    """All scopes of a query, those within others as well."""
    found: list[Scope] = []
    _read(tokens(text), None, {}, found)
    return found


def _read(nodes: Nodes, outer: Scope | None, ctes: dict[str, list[Scope]], found: list[Scope]) -> list[Scope]:
    """The scopes of a query and of the parts of its UNION; those within them are added to `found` as well."""
    ctes = dict(ctes)
    if nodes[0] == "WITH":
        nodes = _read_ctes(nodes[1:], outer, ctes, found)
    made = []
    for part in _split_union(nodes):
        if len(part) == 1 and isinstance(part[0], list):
            made += _read(part[0], outer, ctes, found)
            continue
        scope = Scope(str(part[0]), part, outer, ctes)
        scope.tables = dict(_tables(part))
        found.append(scope)
        made.append(scope)
        _read_inner(scope, part, found)
    return made


def _read_ctes(nodes: Nodes, outer: Scope | None, ctes: dict[str, list[Scope]], found: list[Scope]) -> Nodes:
    """Read `name AS (…), …`; what follows is the query itself."""
    name = ""
    for place, node in enumerate(nodes):
        if node in _VERBS:
            return nodes[place:]
        if isinstance(node, list):
            if nodes[place - 1] in ("AS", "MATERIALIZED"):
                ctes[name] = _read(node, outer, ctes, found)
        elif node not in ("AS", "MATERIALIZED", "RECURSIVE", ","):
            name = node
    raise ValueError("a WITH without a query")


def _read_inner(scope: Scope, nodes: Nodes, found: list[Scope]) -> None:
    for node in nodes:
        if isinstance(node, list) and node:
            if node[0] in (*_VERBS, "WITH"):
                scope.inner[id(node)] = _read(node, scope, scope.ctes, found)
            else:
                _read_inner(scope, node, found)


def _split_union(nodes: Nodes) -> Iterator[Nodes]:
    part: Nodes = []
    for before, node in zip(["", *nodes], nodes, strict=False):
        if node == "UNION":
            yield part
            part = []
        elif not (node == "ALL" and before == "UNION"):
            part.append(node)
    yield part


def _tables(nodes: Nodes) -> Iterator[tuple[str, str]]:
    """Aliases and tables. A table without an alias is called by its name."""
    for place, node in enumerate(nodes):
        if isinstance(node, str) and node.startswith("workbell_") and nodes[place - 1] in _BEFORE_TABLE:
            after = [word for word in nodes[place + 1 : place + 3] if word != "AS"][:1]
            named = (
                after and isinstance(after[0], str) and after[0].isidentifier() and not _NO_ALIAS.fullmatch(after[0])
            )
            yield (str(after[0]) if named else node), node
