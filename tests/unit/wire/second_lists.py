"""Search for lists that repeat the fields of an answer of the API by hand, in Python and in the dashboard's JavaScript.

A list is one literal (of texts, of pairs, a dict, a text that is split, `dict(…)`), or all pairs that one function
yields. It repeats a struct if at least three of its names, and most of them, are fields of that struct.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

import msgspec

from workbell.model.run import Status
from workbell.wire.table import OPERATIONS

LEAST = 3
STATUSES = frozenset(Status)  # also fields of counts
_ARRAY = re.compile(r"\[\s*((?:\"\w+\"\s*,?\s*)+)\]")
_NAME = re.compile(r"\"(\w+)\"")
_DECLARED = re.compile(r"\b(?:const|let|function)\s+(\w+)")
_SPLIT = re.compile(r"\w+( \w+)+ ?")


def answer_fields() -> set[frozenset[str]]:
    """The fields of every struct that an answer of the API holds."""
    found: dict[type, frozenset[str]] = {}
    todo = [msgspec.inspect.type_info(one.answer) for one in OPERATIONS if one.answers_with is None]
    while todo:
        kind = todo.pop()
        if isinstance(kind, msgspec.inspect.StructType):
            if kind.cls in found:
                continue
            found[kind.cls] = frozenset(field.encode_name for field in kind.fields) - STATUSES
            todo += [field.type for field in kind.fields]
        for part in (getattr(kind, name) for name in kind.__struct_fields__):
            todo += [one for one in (part if isinstance(part, tuple) else (part,)) if _is_type(one)]
    return set(found.values())


def _is_type(value: object) -> bool:
    return isinstance(value, msgspec.inspect.Type)


def repeats(names: Iterable[str], fields: Set[frozenset[str]]) -> bool:
    """Whether the names are mostly those of one struct."""
    listed = set(names)
    if len(listed) < LEAST:  # most nodes of a syntax tree
        return False
    most = max(len(listed & known) for known in fields)
    return most >= LEAST and most * 3 > len(listed) * 2


def second_lists(file: Path, fields: Set[frozenset[str]]) -> set[str]:
    """Where a file repeats fields: names of functions, classes or constants."""
    text = file.read_text("utf-8")
    lists = _lists_of_script(text) if file.suffix == ".js" else _lists(ast.parse(text), "")
    return {place for place, names in lists if repeats(names, fields)}


def _lists_of_script(text: str) -> Iterator[tuple[str, list[str]]]:
    """Arrays of texts, each under the name of the declaration before it."""
    declared = [(match.start(), match[1]) for match in _DECLARED.finditer(text)]
    for match in _ARRAY.finditer(text):
        before = [name for start, name in declared if start < match.start()]
        yield before[-1] if before else "", _NAME.findall(match[1])


def _lists(node: ast.AST, place: str) -> Iterator[tuple[str, list[str]]]:
    for child in ast.iter_child_nodes(node):
        inner = _place(child, place)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yields = [one.value for one in ast.walk(child) if isinstance(one, ast.Yield) and one.value is not None]
            yield inner, [*_first_texts(yields)]
        yield inner, [*_names(child)]
        yield from _lists(child, inner)


def _place(node: ast.AST, place: str) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return f"{place}.{node.name}".lstrip(".")
    if isinstance(node, ast.Assign | ast.AnnAssign) and (not place or place[0].isupper()):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return f"{place}.{ast.unparse(target)}".lstrip(".")
    return place


def _names(node: ast.AST) -> Iterator[str]:
    """The names of a literal; none, if the node is something else."""
    match node:
        case ast.Dict():
            yield from (key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
        case ast.List() | ast.Tuple() | ast.Set():
            yield from (one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str))
            yield from _first_texts(node.elts)
        case ast.Call(func=ast.Name(id="dict")):
            yield from (word.arg for word in node.keywords if word.arg is not None)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="split")) if _SPLIT.fullmatch(text):
            yield from text.split()


def _first_texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """`queue` of `("queue", run.queue)`."""
    for node in nodes:
        if isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
            yield str(node.elts[0].value).replace(" ", "_")
