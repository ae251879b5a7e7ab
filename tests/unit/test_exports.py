"""The names of `workbell`: a caller can catch by name whatever it raises."""

from __future__ import annotations

import ast
import inspect
import pickle
import sys

import pytest

import workbell
from workbell import errors


def test_every_error_is_exported() -> None:
    # `workbell.Client` raises any of them: an answer names the class that the service raised.
    there = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert there <= set(workbell.__all__)
    assert all(getattr(workbell, name) is getattr(errors, name) for name in there)


def test_every_name_is_there() -> None:
    assert all(hasattr(workbell, name) for name in workbell.__all__)
    assert set(workbell.__all__) <= set(dir(workbell))
    everything: dict[str, object] = {}
    exec("from workbell import *", everything)
    assert set(workbell.__all__) == everything.keys() - {"__builtins__"}


def test_names_are_loaded_from_where_type_checkers_find_them() -> None:
    """What is imported for type checkers is the table of what is loaded later; and both are public."""
    (block,) = (node for node in ast.parse(inspect.getsource(workbell)).body if ast.unparse(node).startswith("if TYPE"))
    assert isinstance(block, ast.If)
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert {name.name: node.module for node in imports for name in node.names} == workbell._MODULES
    there = {name for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert sorted(workbell.__all__) == sorted([*workbell._MODULES, *there, "__version__"])


def test_a_name_is_the_object_of_its_module() -> None:
    for name, module in workbell._MODULES.items():
        assert getattr(workbell, name) is getattr(sys.modules[module], name)
    assert pickle.loads(pickle.dumps(workbell.Status)) is workbell.Status


def test_a_misspelt_name_is_told() -> None:
    with pytest.raises(AttributeError, match="module 'workbell' has no attribute 'Wrokbell'"):
        _ = workbell.Wrokbell  # type: ignore[attr-defined]
