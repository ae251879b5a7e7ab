"""Stack frames of another thread: which line of the application's code it executes."""

from __future__ import annotations

import asyncio
import os
import sysconfig
from pathlib import Path
from types import FrameType
from typing import NamedTuple

_OURS = str(Path(__file__).parents[1]) + os.sep
_ASYNCIO = str(Path(asyncio.__file__).parent) + os.sep
_STANDARD = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib")})
_INSTALLED = ("site-packages", "dist-packages")
_OF_THE_LOOP = {"_run_once", "run_forever", "run_until_complete", "Runner.run"}


class Frame(NamedTuple):
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


def innermost(frame: FrameType | None) -> Frame | None:
    """The innermost frame of the application within what the event loop is calling; none, if it calls nothing.

    If only installed packages are on the stack, theirs; frames of the standard library and of our code are skipped.
    """
    installed = None
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_ASYNCIO) and code.co_qualname.removeprefix("BaseEventLoop.") in _OF_THE_LOOP:
            break  # further out is the code that started the loop
        if _is_installed(code.co_filename):
            installed = installed or _frame_of(frame)
        elif not code.co_filename.startswith((*_STANDARD, _OURS, "<")):
            return _frame_of(frame)
        frame = frame.f_back
    return installed


def _is_installed(file: str) -> bool:
    return any(f"/{folder}/" in file.replace("\\", "/") for folder in _INSTALLED) and not file.startswith(_OURS)


def _frame_of(frame: FrameType) -> Frame:
    return Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)
