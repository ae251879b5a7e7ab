"""Arguments of a task, checked where it is enqueued: their names, what JSON can carry, and the type hints."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from django.db.models import Model, QuerySet

from workbell.django.compat import normalize_json
from workbell.django.errors import InvalidArgument
from workbell.errors import InvalidInput, JobsError
from workbell.handlers.signature import Signature

NAMED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class TaskArguments:
    """Parameters of a task's function, without its context."""

    def __init__(self, task: str, function: Callable[..., Any], takes_context: bool) -> None:
        self._task = task
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except Exception:  # noqa: BLE001  a hint may name what only type checkers import, and is then not checked
            hints = {}
        known = list(inspect.signature(function).parameters.values())[1 if takes_context else 0 :]
        self._signature = inspect.Signature([one.replace(annotation=hints.get(one.name, one.empty)) for one in known])
        self._checked = [
            one.name for one in known if one.kind in NAMED and one.name in hints and _is_of_json(hints[one.name])
        ]
        self._types = self._read_types()

    def _read_types(self) -> Signature | None:
        """The type hints, as those of a job are read: by name, also where the task takes them by position only."""

        def stand_in() -> None: ...

        parameters = [self._signature.parameters[name] for name in self._checked]
        by_name = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        stand_in.__signature__ = inspect.Signature(by_name)  # type: ignore[attr-defined]
        stand_in.__annotations__ = {one.name: one.annotation for one in parameters}
        try:
            return Signature(self._task, stand_in)
        except JobsError:  # types that cannot come from JSON: Django passes values on as they are
            return None

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
        try:
            return self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidArgument(f"task {self._task}: {error}; it takes {self._signature}.") from None

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raise InvalidArgument for the first argument that the task cannot take."""
        given = self.bind(args, kwargs).arguments
        plain = {name: self._plain(name, value) for name, value in given.items()}
        if self._types is None:
            return
        try:
            self._types.encode({name: plain[name] for name in self._checked if name in plain})
        except InvalidInput as error:
            raise InvalidArgument(f"task{str(error).removeprefix('job')}") from None

    def _plain(self, name: str, value: Any) -> Any:
        try:
            return normalize_json(value)
        except (TypeError, ValueError) as error:
            what = _of_the_database(value) or f": {error}; pass what JSON can carry: texts, numbers, lists, dicts."
            raise InvalidArgument(f"task {self._task}: the argument {name!r}{what}") from None


@lru_cache(maxsize=1000)
def arguments_of(task: str, function: Callable[..., Any], takes_context: bool) -> TaskArguments:
    return TaskArguments(task, function, takes_context)


def _is_of_json(hint: Any) -> bool:
    """Whether a value of this type can come from JSON; of another, Django passes on what it got."""
    try:
        msgspec.json.Decoder(hint)  # refuses a union of types that look the same in JSON
        msgspec.json.schema(hint, schema_hook=_schema_of_other)
    except TypeError:
        return False
    return True


def _schema_of_other(kind: type) -> dict[str, Any]:
    """Of a model that reads itself, any; there is none for other types that msgspec does not know."""
    if callable(getattr(kind, "model_validate", None)):
        return {"title": kind.__name__}  # an empty one means none
    raise NotImplementedError


def _of_the_database(value: Any, verb: str = "is") -> str | None:
    """What is wrong with a value that is, or has in it, an object of Django's; none, if it has none."""
    match value:
        case Model():
            return f" {verb} an instance of the model {type(value).__name__}; pass its pk."
        case QuerySet():
            return f" {verb} a QuerySet; pass a list of pks."
        case Mapping():
            return next(filter(None, (_of_the_database(one, "has") for one in value.values())), None)
        case list() | tuple():
            return next(filter(None, (_of_the_database(one, "has") for one in value)), None)
        case _:
            return None
