"""Syntax tree of a module's source: the names it binds at the top level, their line numbers, and its imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)  # all that parsing can raise


class Binding(NamedTuple):
    """A name bound at the top level of a module."""

    line: int
    kind: str  # value, function, class or import
    value: ast.expr | None = None  # of a plain assignment


class SourceFile:
    """Source of one file, parsed. `tree` is None if it is no Python; then `error` has the reason."""

    def __init__(self, file: Path, data: bytes) -> None:
        self.file = file
        self.digest = blake2b(data, digest_size=16).hexdigest()
        self.tree: ast.Module | None = None
        self.error: BaseException | None = None
        self.bindings: dict[str, Binding] = {}
        self.takes_all = False  # `from x import *`: its source does not show what it binds
        try:
            self.tree = ast.parse(data, str(file))
        except UNREADABLE as error:
            self.error = error
            return
        self._read(self.tree.body)

    def _read(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.bindings[statement.name] = Binding(statement.lineno, "function")
                case ast.ClassDef():
                    self.bindings[statement.name] = Binding(statement.lineno, "class")
                case ast.Import() | ast.ImportFrom():
                    for alias in statement.names:
                        self.takes_all |= alias.name == "*"
                        name = alias.asname or alias.name.split(".")[0]
                        self.bindings[name] = Binding(statement.lineno, "import")
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        self._bind(target, value if isinstance(target, ast.Name) else None)
                case ast.AnnAssign(target=target, value=annotated) if annotated is not None:
                    self._bind(target, annotated)
                case ast.AugAssign(target=target):
                    self._bind(target, None)
                case _:
                    for block in _blocks(statement):
                        self._read(block)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.bindings[node.id] = Binding(target.lineno, "value", value)

    def line_of(self, name: str) -> int | None:
        binding = self.bindings.get(name)
        return None if binding is None else binding.line

    def literals(self) -> dict[str, Any]:
        """The values that can be read without executing anything."""
        found: dict[str, Any] = {}
        for name, binding in self.bindings.items():
            if binding.value is not None:
                try:
                    found[name] = ast.literal_eval(binding.value)
                except (*UNREADABLE, TypeError):
                    continue
        return found

    def imports(self, module: str, is_package: bool) -> set[str]:
        """Every module that it may import by name, also inside functions, with the packages above them."""
        package = module if is_package else module.rpartition(".")[0]
        wanted: set[str] = set()
        for node in () if self.tree is None else ast.walk(self.tree):
            if isinstance(node, ast.Import):
                wanted.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                with suppress(ImportError):  # above the top package; it fails when it is executed
                    start = resolve_name("." * node.level + (node.module or ""), package)
                    wanted.update(f"{start}.{alias.name}" for alias in node.names)
        return {above for name in wanted for above in accumulate(name.split("."), "{}.{}".format)}


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of an `if`, `try`, `with`, `for`, `while` or `match`: still the top level of the module."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield inner.body
