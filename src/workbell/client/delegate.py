"""Verbs of a part, offered by the object that holds it: `get = delegate(Runs.get, "runs")` in a class body."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def delegate(verb: Callable[Concatenate[Any, P], R], part: str) -> Callable[Concatenate[Any, P], R]:
    """A method that calls this verb of the part; with its parameters, types and docstring."""
    find = attrgetter(f"{part}.{verb.__name__}")
    if inspect.iscoroutinefunction(verb):

        async def acall(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            return await find(self)(*args, **kwargs)

        return cast(Callable[Concatenate[Any, P], R], functools.wraps(verb)(acall))

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return find(self)(*args, **kwargs)

    return cast(Callable[Concatenate[Any, P], R], functools.wraps(verb)(call))
