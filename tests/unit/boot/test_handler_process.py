"""Hooks in a handler's own process, where no recipe makes the Workbell again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbell import JobsError, Workbell
from workbell.boot.handler_process import HooksByName
from workbell.engine.handler_processes.entry import hook_names
from workbell.handlers.function_names import find_hook


class Marks:
    """An object with hooks, as integrations have them."""

    def __init__(self) -> None:
        self.started = 0

    def around(self) -> Iterator[None]:
        yield

    def start(self) -> None:
        self.started += 1


def test_hooks_that_are_declared_here_too_are_taken_as_they_are() -> None:
    marks = Marks()
    with Workbell("memory://") as bell:

        @bell.job
        def work() -> None: ...

        bell.around_run(marks.around)
        bell.on_worker_start(marks.start)
        hooks = [*work.hooks]
        HooksByName(hook_names(bell.registry)).put_around(work)
        assert [*work.hooks] == hooks
        assert work.hooks[0].function == marks.around
        assert marks.started == 1


def test_a_method_of_an_object_that_is_not_here_is_refused() -> None:
    with pytest.raises(JobsError, match=r"the hook Marks.around of .*test_handler_process: it is a method"):
        find_hook(f"{__name__}:Marks.around")
    assert callable(find_hook(f"{__name__}:test_a_method_of_an_object_that_is_not_here_is_refused"))
