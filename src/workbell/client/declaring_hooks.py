"""Decorators that declare hooks: `@bell.around_run` and `@bell.on_worker_start`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Literal, TypeVar, overload

from workbell.handlers.registry import Registry
from workbell.handlers.run_hooks import RunHook

H = TypeVar("H", bound=Callable[..., Iterator[Any] | AsyncIterator[Any]])
S = TypeVar("S", bound=Callable[[], object])


class HookDeclarations:
    """Makes functions into hooks of a registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @overload
    def around_run(self, function: H, /) -> H: ...

    @overload
    def around_run(self, /, *, only: Literal["plain", "async"] | None = None) -> Callable[[H], H]: ...

    def around_run(self, function: H | None = None, /, *, only: str | None = None) -> Any:
        """Call a generator around each run: what stands before its `yield` first, then the handler, then the rest.

        It takes the context of the run, or nothing, and is called in the handler's own thread or task. An error of the
        handler is raised at the `yield`, and goes on whatever the hook does; an error of the hook fails the attempt as
        one of the handler. Hooks nest in the order of their declaration. An async generator is for async handlers:
        with plain jobs beside them, write `@bell.around_run(only="async")`, and `only="plain"` for the others.
        Workbell's own jobs, such as those that send webhooks, have no hooks around them.
        """

        def declare(target: H) -> H:
            self._registry.add_hook(RunHook(target, only))
            return target

        return declare if function is None else declare(function)

    def on_worker_start(self, function: S, /) -> S:
        """Call a plain function once in each process that executes handlers, before its first run.

        That is every worker process, every process of `isolate="process"`, and a program with `bell.run()`,
        `bell.running()` or `bell.consume()`. If it raises, that process does not work, and the error names it.
        """
        self._registry.worker_start.add(function)
        return function
