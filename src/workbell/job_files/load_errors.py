"""Errors of a load as problems: file, line number, and a sentence instead of a traceback."""

from __future__ import annotations

import traceback
from pathlib import Path

from workbell.errors import Untrusted, WorkbellError
from workbell.job_files.job_file import FileProblem
from workbell.job_files.locations import ProjectFolders
from workbell.model.error_text import in_a_sentence


def unreadable(folders: ProjectFolders, file: Path, error: BaseException) -> FileProblem:
    """Problem of a file that cannot be read, is not trusted, or is no Python."""
    if isinstance(error, Untrusted):
        return FileProblem(folders.shown(file), None, error.reason)
    if isinstance(error, OSError):
        return FileProblem(folders.shown(file), None, f"it cannot be read: {error.strerror}; change its permissions.")
    return FileProblem(folders.shown(file), getattr(error, "lineno", None), f"{_no_python(error)}; correct it.")


def failed(folders: ProjectFolders, file: Path, error: BaseException) -> FileProblem:
    """Problem of a file that raised while it was executed, or whose imports did."""
    line, origin = None, ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == str(file):
            line, origin = frame.lineno, ""
        elif folders.is_own(frame.filename):
            origin = f"{folders.shown(frame.filename)}:{frame.lineno}: "
    if isinstance(error, SyntaxError) and error.filename is not None and error.filename != str(file):
        origin = f"{folders.shown(error.filename)}:{error.lineno}: "
    return FileProblem(folders.shown(file), line, origin + _sentence(error))


def _sentence(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return (
            "it ends the process (SystemExit) while it is loaded; put that into run, "
            'or below if __name__ == "__main__".'
        )
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"there is no module {error.name!r}; install it, or correct the import."
    if isinstance(error, SyntaxError):
        return f"{_no_python(error)}; correct it."
    if isinstance(error, WorkbellError):
        return str(error)
    return f"{in_a_sentence(error)} (while it was loaded); correct it, or move the code into run."


def _no_python(error: BaseException) -> str:
    reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
    return f"it cannot be read as Python: {reason}"
