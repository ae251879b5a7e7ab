"""Attributes that are built when they are first read: a program loads and holds what it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

R = TypeVar("R")


class on_first_use(Generic[R]):  # noqa: N801 - a decorator
    """An attribute made by the function below when it is first read; from then on a plain attribute, without a call.

    Two threads get the same object: the first that is put into the instance stays. No lock is taken, which a fork could
    leave held; so the function must have no effect but the object that it returns.
    """

    def __init__(self, build: Callable[[Any], R]) -> None:
        self.build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, item: None, owner: type) -> Self: ...

    @overload
    def __get__(self, item: object, owner: type) -> R: ...

    def __get__(self, item: object | None, owner: type) -> Self | R:
        if item is None:
            return self
        built: R = item.__dict__.setdefault(self._name, self.build(item))
        return built
