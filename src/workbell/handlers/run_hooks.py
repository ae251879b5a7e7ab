"""Hooks around runs (`@bell.around_run`): generators with one `yield`, at which the handler is called.

A hook cannot make a failed run succeed: an error of the handler goes on, also if the hook catches it.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from types import TracebackType
from typing import Any

from workbell.errors import InvalidOption, JobsError
from workbell.handlers.context import Context
from workbell.handlers.function_names import function_name, location_of

KINDS = ("plain", "async")


class RunHook:
    """One hook. `only` limits it to plain or to async handlers."""

    def __init__(self, function: Any, only: str | None = None) -> None:
        _check(function, only)
        self.function: Callable[..., Any] = function
        self.name = function_name(function)
        self.is_async = inspect.isasyncgenfunction(function)
        self.only = only
        self._takes_context = _takes_context(function)
        if self.is_async and only == "plain":
            raise JobsError(f"{self}: it is async, and no event loop runs around a plain handler; leave out only=.")

    def __str__(self) -> str:
        return f"around_run {self.function.__qualname__} ({location_of(self.function)})"

    def surrounds(self, *, is_async: bool) -> bool:
        """Whether it is for handlers of this kind."""
        return self.only is None or (self.only == "async") == is_async

    def check_job(self, job: str, *, is_async: bool) -> None:
        """Raise if it would have to surround a handler that it cannot."""
        if self.is_async and not is_async and self.surrounds(is_async=False):
            raise JobsError(
                f"job {job}: its function is plain, and {self} is async, which no thread can await; make the hook a "
                'plain generator, or write @bell.around_run(only="async") above it, and another for plain handlers.'
            )

    def begin(self, context: Context | None) -> Any:
        """The generator of one run, not started."""
        return self.function(context) if self._takes_context else self.function()

    def ended_early(self) -> JobsError:
        return JobsError(f"{self}: it ended without a yield, so the handler was not called; let every way reach one.")

    def yields_again(self) -> JobsError:
        return JobsError(f"{self}: it yields twice, and a run is executed once; leave one yield.")


class Surrounding:
    """Block of one plain hook around one call."""

    def __init__(self, hook: RunHook, context: Context | None) -> None:
        self._hook = hook
        self._generator: Generator[Any, None, Any] = hook.begin(context)

    def __enter__(self) -> None:
        try:
            next(self._generator)
        except StopIteration:
            raise self._hook.ended_early() from None

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None:
                next(self._generator)
            else:
                self._generator.throw(error)
        except StopIteration:  # its end; an error that it caught goes on all the same
            return
        except BaseException as raised:
            if not _is_same(raised, error):
                raise
            raised.__traceback__ = traceback  # without the way through the hook
            return
        self._generator.close()
        raise self._hook.yields_again()


class AsyncSurrounding:
    """Block of one async hook around one call."""

    def __init__(self, hook: RunHook, context: Context | None) -> None:
        self._hook = hook
        self._generator: AsyncGenerator[Any, None] = hook.begin(context)

    async def __aenter__(self) -> None:
        try:
            await anext(self._generator)
        except StopAsyncIteration:
            raise self._hook.ended_early() from None

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None:
                await anext(self._generator)
            else:
                await self._generator.athrow(error)
        except StopAsyncIteration:
            return
        except BaseException as raised:
            if not _is_same(raised, error):
                raise
            raised.__traceback__ = traceback
            return
        await self._generator.aclose()
        raise self._hook.yields_again()


def _is_same(raised: BaseException, error: BaseException | None) -> bool:
    """Whether a hook let the handler's error out as it was. Python turns some errors that leave a generator into a
    RuntimeError."""
    if isinstance(error, StopIteration | StopAsyncIteration) and isinstance(raised, RuntimeError):
        return raised.__cause__ is error
    return raised is error


def _check(function: Any, only: object) -> None:
    if only is not None and only not in KINDS:
        raise InvalidOption(f'around_run: only={only!r:.40} is not known; it is "plain" or "async".')
    if not callable(function) or not hasattr(function, "__qualname__"):
        raise JobsError(
            f"around_run: expected a function with a yield, got {type(function).__name__}; write @bell.around_run "
            "above one."
        )
    if not inspect.isgeneratorfunction(function) and not inspect.isasyncgenfunction(function):
        how = "leave out @contextmanager: " if hasattr(function, "__wrapped__") else ""
        raise JobsError(
            f"around_run {function.__qualname__} ({location_of(function)}): it has no yield; {how}write what comes "
            "before the run, `yield`, and in a `finally` what comes after it."
        )


def _takes_context(function: Callable[..., Any]) -> bool:
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters:
        return False
    first = parameters[0]
    if len(parameters) > 1 or first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        raise JobsError(
            f"around_run {function.__qualname__} ({location_of(function)}): it takes the context of the run, or "
            "nothing; write `def "
            f"{function.__name__}(ctx):`."
        )
    return True
