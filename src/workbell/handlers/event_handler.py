"""Event handlers: wrappers that fill in the parameters `ctx`, `event` and `execution` of a function.

To the rest of Workbell such a function is an ordinary job: the wrapper takes a context, and finds the event of its run.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from inspect import Parameter
from types import UnionType
from typing import Any

from workbell.errors import EventNotFound, InvalidEvent, InvalidOption, JobsError
from workbell.handlers.context import Context, bring_event, fetch_event
from workbell.handlers.job_function import JobFunction
from workbell.handlers.signature import Signature
from workbell.model.cancel_snooze import Cancel, Snooze, TryAgain
from workbell.model.event import Event
from workbell.model.execution import Execution, execution_of
from workbell.model.patterns import check_pattern

KINDS: dict[str, type] = {"ctx": Context, "event": Event, "execution": Execution}


def accept_events(job: JobFunction[Any, Any], *, dict_only: bool = False) -> None:
    """Let events start a job. With `dict_only` it may return a dict or nothing, as a processor does."""
    if job.processor:
        return
    handler = Handler(job.name, job.function, dict_only=dict_only)
    function = handler.wrapped(job.is_async)
    signature = EventSignature(job.name, function) if handler.needs_event else Signature(job.name, function)
    job.function, job.signature, job.processor = function, signature, True
    job.check_limits()


def add_pattern(job: JobFunction[Any, Any], pattern: str) -> None:
    """Add a pattern of events that start a job; each is a trigger of its own."""
    try:
        check_pattern(pattern)
    except InvalidEvent as error:
        raise JobsError(f"job {job.name}: {error}") from error
    if pattern in job.patterns:
        raise JobsError(f"job {job.name}: the pattern {pattern!r} is given twice; once is enough.")
    job.patterns = (*job.patterns, pattern)


class EventSignature(Signature):
    """Signature of a function that needs an event: only events start it, an enqueue is refused."""

    def encode(self, arguments: dict[str, Any]) -> str:
        raise InvalidOption(
            f"job {self.job}: it takes an event, and only events start it; emit one that it listens to, with "
            "bell.emit(type, data) or `workbell events emit`."
        )


class Handler:
    """Wrapper of one function, with the values that fill its parameters."""

    def __init__(self, job: str, function: Callable[..., Any], *, dict_only: bool = False) -> None:
        self._job = job
        self._function = function
        self._dict_only = dict_only
        try:
            self._parameters = list(inspect.signature(function).parameters.values())
            hints = typing.get_type_hints(function)
        except (NameError, TypeError, ValueError) as error:
            raise JobsError(f"job {job}: its parameters cannot be read: {error}.") from error
        self._filled = {
            parameter.name: kind for parameter in self._parameters if (kind := self._kind(parameter, hints))
        }
        self._parameter_of = {kind: name for name, kind in self._filled.items()}
        self._rest = [parameter for parameter in self._parameters if parameter.name not in self._filled]
        self._check_rest()
        wanted = [p for p in self._parameters if self._filled.get(p.name) in ("event", "execution")]
        self.takes_event = bool(wanted)
        self.needs_event = any(parameter.default is Parameter.empty for parameter in wanted)

    def _kind(self, parameter: Parameter, hints: dict[str, Any]) -> str | None:
        """The kind of a parameter, by its type; without a type, by its name."""
        hint = hints.get(parameter.name)
        choices = typing.get_args(hint) if _is_union(hint) else (hint,)
        for kind, type_ in KINDS.items():
            if type_ in choices or (parameter.name == kind and hint in (None, Any, object)):
                return kind
        if parameter.name in KINDS:
            shown = getattr(hint, "__name__", str(hint))
            type_ = KINDS[parameter.name]
            raise JobsError(
                f"job {self._job}: the parameter {parameter.name!r} is {_an(type_.__name__)}, and not {_an(shown)}"
                + ("; take event.data." if parameter.name == "event" else ".")
            )
        return None

    def _check_rest(self) -> None:
        if len(self._parameter_of) < len(self._filled):
            raise JobsError(f"job {self._job}: two of its parameters ask for the same; one is enough.")
        for parameter in self._rest:
            if parameter.default is Parameter.empty and parameter.kind not in (
                Parameter.VAR_KEYWORD,
                Parameter.VAR_POSITIONAL,  # refused elsewhere, with its own reason
            ):
                raise JobsError(
                    f"job {self._job}: an event brings nothing for the parameter {parameter.name!r}; a function that "
                    "events start takes event, execution and ctx. Give it a default, or take it from event.data."
                )

    def wrapped(self, is_async: bool) -> Callable[..., Any]:
        """The function as a handler; unchanged if only a context is to be filled in."""
        asks = self.takes_event or (is_async and "ctx" in self._parameter_of)
        if not asks and not self._dict_only:
            return self._function

        @functools.wraps(self._function)
        def call_plain(*args: Any, **kwargs: Any) -> Any:
            return self._checked_result(self._call(args, kwargs))

        @functools.wraps(self._function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], Context):
                await fetch_event(args[0])
            return self._checked_result(await self._call(args, kwargs))

        call: Any = call_async if is_async else call_plain
        parameters, annotations = list(self._rest), dict(getattr(self._function, "__annotations__", {}))
        for name in self._filled:
            annotations.pop(name, None)
        if self._filled:
            parameters.insert(0, Parameter("ctx", Parameter.POSITIONAL_ONLY, annotation=Context))
            annotations["ctx"] = Context
        call.__signature__ = inspect.Signature(parameters)
        call.__annotations__ = annotations
        return typing.cast(Callable[..., Any], call)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self._filled:
            return self._function(*args, **kwargs)
        context, *given = args
        if given or kwargs.keys() & self._filled.keys():
            return self._call_directly(context, given, kwargs)
        values: dict[str, Any] = kwargs
        for name, kind in self._filled.items():
            value = self._value(kind, context)
            if value is not None:
                values[name] = value
        positional = [p.name for p in self._parameters if p.kind is Parameter.POSITIONAL_ONLY and p.name in values]
        return self._function(*[values.pop(name) for name in positional], **values)

    def _call_directly(self, context: Context, given: list[Any], kwargs: dict[str, Any]) -> Any:
        """Direct call, as in a test: the caller passes the event and the other arguments."""
        brought = next((value for value in (*given, *kwargs.values()) if isinstance(value, Event)), None)
        bring_event(context, brought)
        name = self._parameter_of.get("ctx")
        if name is None or name in kwargs:
            return self._function(*given, **kwargs)
        if name == self._parameters[0].name:
            return self._function(context, *given, **kwargs)
        return self._function(*given, **{name: context}, **kwargs)

    def _value(self, kind: str, context: Context) -> Any:
        """Value of a parameter; None leaves it to its default."""
        if kind == "ctx":
            return context
        if context.run.event is None:
            if self.needs_event:
                raise TryAgain(
                    f"job {self._job}: this run was not started by an event, and its function takes one; emit one "
                    "that it listens to, with bell.emit(type, data).",
                    again=False,
                )
            return None
        if kind == "execution":
            return execution_of(context.run)
        try:
            return context.event
        except EventNotFound as error:
            raise TryAgain(f"job {self._job}: {error}", again=False) from error

    def _checked_result(self, value: Any) -> Any:
        if self._dict_only and value is not None and not isinstance(value, dict | Cancel | Snooze):
            shown = f"{value!r:.60}"
            raise TryAgain(
                f"processor {self._job}: it returned {shown} ({type(value).__name__}); a processor returns a dict, "
                "which is stored, or nothing.",
                again=False,
            )
        return value


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, UnionType)


def _an(word: str) -> str:
    return f"{'an' if word[:1] in 'AEIOUaeiou' else 'a'} {word}"
