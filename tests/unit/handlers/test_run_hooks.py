"""Declaration of hooks: what is refused, in which words."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.project_folder import HOURLY, ProjectFolder
from workbell import Context, InvalidOption, JobsError, Workbell


@pytest.fixture
def bell() -> Iterator[Workbell]:
    with Workbell("memory://") as bell:
        yield bell


def no_yield(ctx: Context) -> None: ...


@contextlib.contextmanager
def manager() -> Iterator[None]:
    yield


def two(ctx: Context, other: int) -> Iterator[None]:
    yield


def keyword(*, ctx: Context) -> Iterator[None]:
    yield


def hook(ctx: Context) -> Iterator[None]:
    yield


async def async_hook(ctx: Context) -> AsyncIterator[None]:
    yield


def plain() -> None: ...


async def on_loop() -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (no_yield, "around_run no_yield ("),
        (no_yield, f"test_run_hooks.py:{no_yield.__code__.co_firstlineno}): it has no yield; write what comes before"),
        (manager, "leave out @contextmanager"),
        (two, "it takes the context of the run, or nothing; write `def two(ctx):`"),
        (keyword, "write `def keyword(ctx):`"),
        (7, "expected a function with a yield, got int"),
        (functools.partial(hook, None), "expected a function with a yield, got partial"),
    ],
)
def test_no_hook(bell: Workbell, function: Any, words: str) -> None:
    with pytest.raises(JobsError) as refused:
        bell.around_run(function)
    assert words in str(refused.value)


def test_the_function_stays_what_it_is(bell: Workbell) -> None:
    assert bell.around_run(hook) is hook
    assert bell.around_run(only="plain")(hook) is hook
    assert bell.on_worker_start(plain) is plain


def test_only(bell: Workbell) -> None:
    with pytest.raises(InvalidOption, match='only=\'threads\' is not known; it is "plain" or "async"'):
        bell.around_run(only="threads")(hook)  # type: ignore[call-overload]
    with pytest.raises(JobsError, match="it is async, and no event loop runs around a plain handler"):
        bell.around_run(only="plain")(async_hook)


class TestAsyncHooksAndPlainJobs:
    """An async hook that would be left out silently is refused, whichever of the two is declared first."""

    def test_the_job_first(self, bell: Workbell) -> None:
        bell.job(plain)
        with pytest.raises(JobsError) as refused:
            bell.around_run(async_hook)
        assert "job plain: its function is plain, and around_run async_hook (" in str(refused.value)
        assert 'write @bell.around_run(only="async")' in str(refused.value)
        assert bell.registry.hooks_of(is_async=True) == []

    def test_the_hook_first(self, bell: Workbell) -> None:
        bell.around_run(async_hook)
        bell.job(on_loop)
        for declare in (bell.job, bell.on("posts.*")):
            with pytest.raises(JobsError, match="its function is plain"):
                declare(plain)
        assert "plain" not in bell.registry

    def test_for_async_handlers_only(self, bell: Workbell) -> None:
        bell.job(plain)
        bell.around_run(only="async")(async_hook)
        assert bell.job(on_loop).hooks
        assert not bell.job(name="other")(plain).hooks

    def test_a_job_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        project = ProjectFolder(tmp_path / "project")
        project.write("workbell.toml", "")
        project.write("jobs/plain_file.py", HOURLY + "def run(ctx): ...\n")
        project.write("jobs/async_file.py", HOURLY + "async def run(ctx): ...\n")
        monkeypatch.chdir(project.folder)
        with Workbell() as bell:
            bell.around_run(async_hook)
            bell.engine.reload()
            (problem,) = bell.engine.problems
            assert problem.path == "jobs/plain_file.py"
            assert "job plain_file: its function is plain" in problem.message
            found = bell.registry.find("async_file")
            assert found is not None
            assert [one.function for one in found.hooks] == [async_hook]


async def async_start() -> None: ...


def takes_more(pool: object) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (async_start, "it is async, and not every process that executes handlers has an event loop by then"),
        (hook, "it has a yield, and nothing follows a start; for each run there is around_run"),
        (takes_more, "let it take no arguments"),
        ("connect", "expected a function, got str"),
    ],
)
def test_no_start(bell: Workbell, function: Callable[..., Any], words: str) -> None:
    with pytest.raises(JobsError) as refused:
        bell.on_worker_start(function)
    assert words in str(refused.value)
