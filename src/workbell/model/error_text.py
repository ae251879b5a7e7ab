"""Error text of a failed run: the exception with its frames, notes, causes and group members; written and read here.

The first line is the exception's name and message, as lists and alerts show it. Below come its class path and its
frames, the raising one last; then its notes, the members of a group, and the exceptions behind it:

    ValueError: no such order
    Traceback of builtins.ValueError (most recent call last):
    > File "/srv/shop/jobs.py", line 12, in charge
        raise ValueError("no such order") from error
    Note: order 7

    Caused by: KeyError: 7
      ...

Frames marked with `>` are the application's own; those of Workbell are left out. The class path is part of the text and
no column of its own: a run that succeeds pays nothing for it.
"""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from workbell.model.json_text import ERROR_LIMIT, clean_text
from workbell.model.retry import error_name

FRAMES = (10, 20)  # shown of one exception: the first, where it came from, and the last, where it was raised
EXTRACTED = 40  # at either end of a traceback, before Workbell's own are left out
FRAME_LIMIT = 600  # letters of a frame with its source line
NOTES = 10
TEXT_LIMIT = 1000  # letters of a note, and of the message of an exception behind another
MEMBERS = 10  # shown of one group
DEPTH = 8  # of causes, and of groups in groups
EXCEPTIONS = 40  # in one text
NAME_LIMIT = 200

UNREADABLE = "(its message could not be read)"
CAUSE, CONTEXT = "Caused by", "While handling"

_HERE = f"{Path(__file__).parents[1]}/"
_STDLIB = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
_LIBRARIES = tuple({f"{path}/" for path in [*_STDLIB, *(str(Path(path).resolve()) for path in _STDLIB)]})
_INSTALLED = ("/site-packages/", "/dist-packages/")
_FILE = re.compile(r'  File "(.*)", line ')
_TRACEBACK = re.compile(r"^Traceback of (\S+)(?: \(most recent call last\):|: none)$", re.MULTILINE)
_OWN_FRAME = re.compile(r'([ |]*)> File "(.*)", line (\d+), in (.*)')
_ANY_FRAME = re.compile(r'[> ] File "(.*)", line (\d{1,9}), in (.*)')
_SECTION = re.compile(rf"[ |]*(?:Note|{CAUSE}|{CONTEXT}|\d+ of \d+): ")
_MORE = re.compile(rf"\n+(?=(?:Note|{CAUSE}|{CONTEXT}): )")  # where no traceback stands before it
_OUR_HEADING = re.compile(r"^(?=Traceback of )", re.MULTILINE)
_OURS = re.compile(r"(workbell\.(?:\w+\.)+[A-Z]\w*)(?=: |\n|$)")


class ErrorParts(NamedTuple):
    """The parts of an error text. `type` is the class path, if it is the text of an exception."""

    type: str | None
    message: str
    stack: str


def class_path(kind: type[BaseException]) -> str:
    """`builtins.ValueError`, `httpx.ConnectError`: module and name of an exception's class, always one word."""
    try:
        path = f"{kind.__module__}.{kind.__qualname__}"
    except Exception:  # noqa: BLE001  a metaclass of the application's can do anything
        path = "unknown"
    return re.sub(r"[\s():]", "?", clean_text(path, NAME_LIMIT))


def describe_error(error: BaseException) -> str:
    """The error text of an exception, within ERROR_LIMIT. Never raises, whatever the exception does."""
    head = _escaped(clean_text(_headline(error), ERROR_LIMIT // 2 - 100))
    return _joined(head, _Writer().whole(error))


def describe_words(words: str, error: BaseException) -> str:
    """Words that a handler chose for its failure, and the exceptions behind the one that carried them."""
    return _joined(_escaped(clean_text(words, ERROR_LIMIT // 2 - 100)), _Writer().behind(error))


def read_error(text: str) -> ErrorParts:
    """An error text taken apart."""
    found = _TRACEBACK.search(text)
    if found is not None:
        head, stack = text[: found.start()].rstrip("\n"), text[found.end() :].lstrip("\n")
        return ErrorParts(found[1], _message(head, found[1].removeprefix("builtins.")), stack)
    named = _OURS.match(text)
    head, stack = text, ""
    more = _MORE.search(text)
    if more is not None:
        head, stack = text[: more.start()], text[more.end() :]
    if named is not None:
        return ErrorParts(named[1], _message(head, named[1]), stack)
    return ErrorParts(None, head, stack)


def error_type(text: str | None) -> str | None:
    """The class path of the exception that an error text is about."""
    return None if text is None else read_error(text).type


def in_a_sentence(error: BaseException) -> str:
    """An exception in one line, with what caused it: `ValueError: no such order, caused by KeyError: 7`."""
    lines = describe_error(error).split("\n")
    causes = [line.removeprefix(f"{CAUSE}: ") for line in lines if line.startswith(f"{CAUSE}: ")]
    return ", caused by ".join([" ".join(_short(_headline(error)).split()), *causes])


def own_lines(text: str, folder: str) -> list[str]:
    """Short form of an error text: the application's own frames, one line each, between notes and causes.

    Files below `folder` are named from there.
    """
    lines, shortened = text.split("\n"), []
    for index, line in enumerate(lines):
        frame = _OWN_FRAME.fullmatch(line)
        if frame is not None:
            source = lines[index + 1].strip(" |") if index + 1 < len(lines) else ""
            shortened.append(f"{frame[1]}{_frame_text(frame, folder)}{f': {source}' if source else ''}")
        elif _SECTION.match(line):
            shortened.append(line.rstrip())
    return shortened


def own_frame(text: str, folder: str) -> str:
    """Position in the application's own code where the exception was raised: `shop.py:12 in charge`, or empty."""
    raised_at = ""
    for line in text.split("\n"):
        if _SECTION.match(line):
            break
        frame = _OWN_FRAME.fullmatch(line)
        raised_at = raised_at if frame is None else _frame_text(frame, folder)
    return raised_at


def frames_of(text: str) -> list[tuple[str, int, str]]:
    """File, line and function of each frame of the exception itself, the raising one last."""
    found = []
    for line in read_error(text).stack.split("\n"):
        if _SECTION.match(line):
            break
        frame = _ANY_FRAME.fullmatch(line)
        if frame is not None:
            found.append((frame[1], int(frame[2]), frame[3]))
    return found


def is_workbells(file: str) -> bool:
    """Whether a file of code is of Workbell itself."""
    return file.startswith(_HERE)


def is_own(file: str) -> bool:
    """Whether a file of code belongs to the application: neither installed, nor of Python, nor generated."""
    if file.startswith("<") or any(part in file for part in _INSTALLED):
        return False
    return not file.startswith((_HERE, *_LIBRARIES))


class _Writer:
    """Writer of one error text: it counts exceptions, because they can refer to each other without end."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def whole(self, error: BaseException) -> list[str]:
        """Everything below the first line of an exception."""
        path, frames = class_path(type(error)), _frames(error)
        if frames:
            frames = [f"Traceback of {path} (most recent call last):", *frames]
        elif not _is_ours(error):  # the names of ours are recognised by their words
            frames = [f"Traceback of {path}: none"]
        return [*frames, *self.behind(error)]

    def behind(self, error: BaseException, depth: int = 0) -> list[str]:
        """The notes of an exception, its members if it is a group, and what is behind it."""
        self._seen.add(id(error))
        return [*_notes(error), *self._members(error, depth), *self._chain(error, depth)]

    def _chain(self, error: BaseException, depth: int) -> list[str]:
        word, behind = _behind(error)
        if behind is None or id(behind) in self._seen:
            return []
        if depth >= DEPTH or len(self._seen) >= EXCEPTIONS:
            return ["", f"{word}: more exceptions, which are left out"]
        frames = _frames(behind, of_ours=_is_ours(error))
        more = self.behind(behind, depth + 1)
        if not frames and _is_ours(error):  # the words of ours say what was behind them
            return more
        return ["", f"{word}: {_short(_headline(behind))}", *frames, *more]

    def _members(self, error: BaseException, depth: int) -> list[str]:
        members = _members_of(error)
        lines: list[str] = []
        for number, member in enumerate(members, 1):
            if number > MEMBERS or depth >= DEPTH or len(self._seen) >= EXCEPTIONS:
                lines.append(f"{len(members) - number + 1} more of this group are left out")
                break
            if id(member) in self._seen:
                continue
            inner = [*_frames(member), *self.behind(member, depth + 1)]
            lines += [f"{number} of {len(members)}: {_short(_headline(member))}", *inner]
        return [f"  | {line}".rstrip() for text in lines for line in text.split("\n")]


def _frames(error: BaseException, *, of_ours: bool = False) -> list[str]:
    """The frames as Python prints them, the raising one last; the application's own are marked."""
    try:
        found = _extract(error.__traceback__)
        others = [frame for frame in found if not is_workbells(frame.filename)]
        if not others and not of_ours and not _is_ours(error):
            others = found[-1:]  # then Workbell itself is where it happened
        first, last = FRAMES
        left_out = len(others) - first - last
        if left_out <= 0:
            return _printed(others)
        return [*_printed(others[:first]), f"  … {left_out} frames left out …", *_printed(others[-last:])]
    except Exception:  # noqa: BLE001  a broken traceback must not keep the failure from being booked
        return []


def _extract(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    depth, one = 0, trace
    while one is not None:
        depth, one = depth + 1, one.tb_next
    if depth <= 2 * EXTRACTED:
        return list(traceback.extract_tb(trace))
    return [*traceback.extract_tb(trace, limit=EXTRACTED), *traceback.extract_tb(trace, limit=-EXTRACTED)]


def _printed(frames: list[traceback.FrameSummary]) -> list[str]:
    lines = []
    for entry in traceback.StackSummary.from_list(frames).format():
        file = _FILE.match(entry)
        marked = f"> {entry[2:]}" if file is not None and is_own(file[1]) else entry
        lines.append(clean_text(marked.rstrip("\n"), FRAME_LIMIT))
    return lines


def _headline(error: BaseException) -> str:
    try:
        name = clean_text(error_name(type(error)), NAME_LIMIT)
    except Exception:  # noqa: BLE001  see class_path
        name = "unknown"
    try:
        message = clean_text(str(error), ERROR_LIMIT)
    except BaseException:  # noqa: BLE001  the class of an error is not ours to trust: it may even end the process
        message = UNREADABLE
    return f"{name}: {message}" if message else name


def _notes(error: BaseException) -> list[str]:
    try:
        notes = error.__notes__
        shown_notes = [_short(str(note)) for note in notes[:NOTES]] if isinstance(notes, list | tuple) else []
        more = [f"Note: {len(notes) - NOTES} more are left out"] if len(notes) > NOTES else []
        return [*(f"Note: {note}" for note in shown_notes), *more]
    except BaseException:  # noqa: BLE001  see _headline; most have none, which is an AttributeError
        return []


def _members_of(error: BaseException) -> tuple[BaseException, ...]:
    if not isinstance(error, BaseExceptionGroup):
        return ()
    try:
        return tuple(member for member in error.exceptions if isinstance(member, BaseException))
    except Exception:  # noqa: BLE001  see class_path
        return ()


def _behind(error: BaseException) -> tuple[str, BaseException | None]:
    """The cause of an exception, as Python would print it; none after `raise … from None`."""
    try:
        if error.__cause__ is not None:
            return CAUSE, error.__cause__
        return CONTEXT, None if error.__suppress_context__ else error.__context__
    except Exception:  # noqa: BLE001  see class_path
        return CONTEXT, None


def _is_ours(error: BaseException) -> bool:
    return class_path(type(error)).startswith("workbell.")


def _short(text: str) -> str:
    return _escaped(clean_text(text, TEXT_LIMIT))


def _escaped(text: str) -> str:
    """Indent lines of foreign text that match our headings."""
    return _OUR_HEADING.sub(" ", text)


def _joined(head: str, lines: list[str]) -> str:
    text = clean_text("\n".join(lines), ERROR_LIMIT // 2)
    return f"{head}\n{text}".rstrip()


def _frame_text(frame: re.Match[str], folder: str) -> str:
    _, file, number, function = frame.groups()
    return f"{file.removeprefix(folder.rstrip('/') + '/')}:{number} in {function}"


def _message(head: str, name: str) -> str:
    return head.removeprefix(name).removeprefix(": ")
