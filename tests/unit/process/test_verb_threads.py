"""Threads for async code: never those of the loop's own executor, which the application may keep busy."""

from __future__ import annotations

import ast
import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import workbell
from workbell.process.verb_threads import on_own_thread

SOURCE = Path(workbell.__file__).parent

noted: ContextVar[str] = ContextVar("noted")


class Full(ThreadPoolExecutor):
    """An executor all of whose threads are busy for ever."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        return Future()


@pytest.mark.anyio
async def test_a_call_on_its_own_thread() -> None:
    """It has the context of its caller, and nothing is left of it."""
    asyncio.get_running_loop().set_default_executor(Full(1))
    noted.set("here")
    name, value = await asyncio.wait_for(
        on_own_thread("test", lambda: (threading.current_thread().name, noted.get())), 10
    )
    assert (name, value) == ("workbell-test_0", "here")
    assert name not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(LookupError):
        await on_own_thread("test", {}.__getitem__, 1)


@pytest.mark.anyio
async def test_it_goes_on_when_its_caller_is_cancelled() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert go_on.wait(30)
        ended.set()

    task = asyncio.ensure_future(on_own_thread("test", work))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert ended.wait(30)


def test_nothing_of_ours_needs_the_loops_own_executor() -> None:
    found = {}
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        if "to_thread" in text or "run_in_executor" in text:
            calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            found[str(path.relative_to(SOURCE))] = [ast.unparse(call) for call in calls if _uses_it(call)]
    assert not {file for file, calls in found.items() if calls}, "use on_own_thread, or a pool of Threads"
    assert found, "pools of ours are used so"
    assert any(
        _uses_it(call) for call in ast.walk(ast.parse("loop.run_in_executor(None, f)")) if isinstance(call, ast.Call)
    )


def _uses_it(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name.endswith("run_in_executor"):
        return isinstance(call.args[0], ast.Constant)
    return name == "asyncio.to_thread"
