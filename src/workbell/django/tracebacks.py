"""Error text of an attempt as a Python traceback: the exceptions behind it first, the raised one last."""

from __future__ import annotations

import re

from workbell.model.error_text import read_error

HEAD = "Traceback (most recent call last):"
_BEHIND = re.compile(r"^\n?(?=(?:Note|Caused by|While handling): |\d+ of \d+: |  \| )", re.MULTILINE)


def as_traceback(text: str) -> str:
    """The text that `TaskError.traceback` holds; it ends with the exception and its message, as Python prints it."""
    parts = read_error(text)
    name = (parts.type or "").removeprefix("builtins.")
    last = ": ".join(part for part in (name, parts.message) if part)
    frames, behind = _split(parts.stack)
    lines = [behind.rstrip("\n"), ""] if behind else []
    if frames:
        lines += [HEAD, frames.rstrip("\n")]
    return "\n".join([*lines, last, ""])


def _split(stack: str) -> tuple[str, str]:
    """Frames of the exception itself, and what follows them."""
    found = _BEHIND.search(stack)
    frames = stack if found is None else stack[: found.start()]
    plain = re.sub(r"^> File", "  File", frames, flags=re.MULTILINE)
    return plain, "" if found is None else stack[found.start() :].lstrip("\n")
