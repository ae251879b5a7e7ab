"""Where a thread is in the application's code, as seen from another thread."""

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
    """The innermost place of the application within what the event loop is calling; none, if it calls nothing.

    Where only installed packages are on the stack, theirs; the standard library and our own code are nobody's place.
    """
    installed = None
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_ASYNCIO) and code.co_qualname.removeprefix("BaseEventLoop.") in _OF_THE_LOOP:
            break  # further out is whoever started the loop
        if _is_installed(code.co_filename):
            installed = installed or _place(frame)
        elif not code.co_filename.startswith((*_STANDARD, _OURS, "<")):
            return _place(frame)
        frame = frame.f_back
    return installed


def _is_installed(file: str) -> bool:
    return any(f"/{folder}/" in file.replace("\\", "/") for folder in _INSTALLED) and not file.startswith(_OURS)


def _place(frame: FrameType) -> Frame:
    return Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)
