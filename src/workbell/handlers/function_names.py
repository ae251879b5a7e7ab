"""Names and locations of an application's functions: for messages, and for processes that look them up again."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbell.errors import JobsError


def function_name(function: Callable[..., Any]) -> str:
    """`module:function`, by which another process finds it."""
    return f"{function.__module__}:{function.__qualname__}"


def location_of(function: Callable[..., Any]) -> str:
    """`shop/hooks.py:12`, from the current folder where it is below that."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return function.__module__
    path, here = Path(code.co_filename), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return f"{shown}:{code.co_firstlineno}"


def find_by_name(name: str) -> Any:
    """The attribute of `module:function`, its module imported; None if there is none.

    In a process that another one started, the main program is imported already, under another name.
    """
    module_name, _, path = name.partition(":")
    found: Any = sys.modules["__main__"] if module_name == "__main__" else importlib.import_module(module_name)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def find_hook(name: str) -> Callable[..., Any]:
    """The function of a hook that the worker has, in a process that the worker started."""
    found = find_by_name(name)
    module_name, _, path = name.partition(":")
    if isinstance(find_by_name(name.rpartition(".")[0]) if "." in path else None, type):
        raise JobsError(
            f"its process cannot call the hook {path} of {module_name}: it is a method, of an object that this process "
            "has not; declare it where the module of the job is imported, or run the worker by `workbell start --app`."
        )
    if not callable(found):
        raise JobsError(
            f"its process finds no hook {path} in {module_name}; declare it at the top level of a module, and start "
            "the program from a file."
        )
    return found  # type: ignore[no-any-return]
