"""An error while a file was loaded, as a problem: on which line, and in a sentence instead of a traceback."""

from __future__ import annotations

import traceback
from pathlib import Path

from workbell.errors import Untrusted, WorkbellError
from workbell.job_files.job_file import FileProblem
from workbell.job_files.locations import ProjectFolders
from workbell.model.error_text import in_a_sentence


def unreadable(place: ProjectFolders, file: Path, error: BaseException) -> FileProblem:
    """A file that cannot be read or may not be, or is no Python."""
    if isinstance(error, Untrusted):
        return FileProblem(place.shown(file), None, error.reason)
    if isinstance(error, OSError):
        return FileProblem(place.shown(file), None, f"it cannot be read: {error.strerror}; change its permissions.")
    return FileProblem(place.shown(file), getattr(error, "lineno", None), f"{_no_python(error)}; correct it.")


def failed(place: ProjectFolders, file: Path, error: BaseException) -> FileProblem:
    """A file that raised when it was executed, or something that it imports."""
    line, where = None, ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == str(file):
            line, where = frame.lineno, ""
        elif place.is_own(frame.filename):
            where = f"{place.shown(frame.filename)}:{frame.lineno}: "
    if isinstance(error, SyntaxError) and error.filename is not None and error.filename != str(file):
        where = f"{place.shown(error.filename)}:{error.lineno}: "
    return FileProblem(place.shown(file), line, where + _sentence(error))


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
