"""Error texts (B2): what is kept of an exception, within bounds, whatever the exception is like."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbell.errors import InvalidInput
from workbell.handlers.signature import Signature
from workbell.model.cancel_snooze import TryAgain
from workbell.model.error_text import (
    DEPTH,
    EXCEPTIONS,
    MEMBERS,
    NOTES,
    class_path,
    describe_error,
    describe_words,
    error_type,
    is_own,
    own_lines,
    read_error,
)
from workbell.model.json_text import ERROR_LIMIT


class Refused(Exception):
    pass


def caught(function: Callable[[], object]) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def raised(error: BaseException) -> BaseException:
    def fail() -> None:
        raise error

    return caught(fail)


def from_cause() -> None:
    try:
        {}["x"]  # type: ignore[index]
    except KeyError as error:
        raise ValueError("outer") from error


def in_context() -> None:
    try:
        {}["x"]  # type: ignore[index]
    except KeyError:
        raise ValueError("outer")  # noqa: B904


def from_none() -> None:
    try:
        {}["x"]  # type: ignore[index]
    except KeyError:
        raise ValueError("outer") from None


def test_an_error_is_its_name_its_message_and_where_it_happened() -> None:
    text = describe_error(raised(ValueError("bad\x00 value")))
    head, below, *frames = text.splitlines()
    assert head == "ValueError: bad\N{REPLACEMENT CHARACTER} value"
    assert below == "Traceback of builtins.ValueError (most recent call last):"
    assert [line for line in frames if "File " in line][-1].endswith("in fail"), "the raising frame stands last"


def test_a_cause_is_kept_with_its_own_frames() -> None:
    text = describe_error(caught(from_cause))
    before, behind = text.split("\n\nCaused by: ")
    assert before.startswith("ValueError: outer\n")
    assert behind.startswith("KeyError: 'x'\n> File ")
    assert '{}["x"]' in behind


def test_the_context_is_kept_unless_it_is_suppressed() -> None:
    assert "\n\nWhile handling: KeyError: 'x'\n> File " in describe_error(caught(in_context))
    assert "KeyError" not in describe_error(caught(from_none)).replace("except KeyError", "")


def test_notes_are_kept() -> None:
    error = raised(ValueError("bad"))
    for number in range(NOTES + 3):
        error.add_note(f"note {number}")
    text = describe_error(error)
    assert "\nNote: note 0\nNote: note 1\n" in text
    assert text.endswith(f"Note: note {NOTES - 1}\nNote: 3 more are left out")


def test_members_of_groups_are_kept() -> None:
    inner = ExceptionGroup("inner", [caught(from_cause), raised(KeyError("deep"))])  # type: ignore[list-item]
    text = describe_error(raised(ExceptionGroup("two", [raised(Refused("no")), inner])))  # type: ignore[list-item]
    assert text.startswith("ExceptionGroup: two (2 sub-exceptions)\nTraceback of builtins.ExceptionGroup (")
    assert f"\n  | 1 of 2: {__name__}.Refused: no\n  | > File " in text
    assert "\n  | 2 of 2: ExceptionGroup: inner (2 sub-exceptions)\n  |   | 1 of 2: ValueError: outer\n" in text
    assert "\n  |   | Caused by: KeyError: 'x'\n  |   | > File " in text
    assert "\n  |   | 2 of 2: KeyError: 'deep'\n" in text
    many = describe_error(ExceptionGroup("many", [ValueError(f"{number}") for number in range(MEMBERS + 5)]))
    assert f"  | {MEMBERS} of {MEMBERS + 5}: ValueError: {MEMBERS - 1}\n  | 5 more of this group are left out" in many


def test_frames_of_the_application_are_marked_and_those_of_workbell_left_out() -> None:
    def handler(_ctx: object) -> None:
        json.loads("{")

    text = describe_error(caught(lambda: json.loads("{")))
    assert "\n> File " in text
    assert "\n  File " in text.replace("\n> File ", ""), "of the standard library, as Python prints it"
    ours = describe_error(caught(lambda: Signature("send", handler).decode('{"n":1}')))
    assert "handlers/signature.py" not in ours
    assert ours.count("File ") == ours.count("> File ") > 0
    assert "Caused by" not in ours, "what is behind our own errors stands in their words"


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("/srv/shop/jobs.py", True),
        ("/srv/shop/.venv/lib/python3.12/site-packages/httpx/_client.py", False),
        ("/usr/lib/python3/dist-packages/yaml/__init__.py", False),
        (json.__file__, False),
        (sys.modules["workbell"].__file__, False),
        ("<frozen importlib._bootstrap>", False),
        ("<string>", False),
    ],
)
def test_whose_a_file_is(file: str, own: bool) -> None:
    assert is_own(file) is own


def test_an_error_inside_workbell_keeps_the_frame_that_raised_it() -> None:
    def decoded() -> object:
        return Signature("send", lambda: None).decode(1)  # type: ignore[arg-type]

    error = caught(decoded)
    assert error.__traceback__ is not None
    error.__traceback__ = error.__traceback__.tb_next.tb_next  # type: ignore[union-attr]
    text = describe_error(error)
    assert text.count("File ") == 1
    assert "workbell" in text


def test_the_class_path_is_read_again() -> None:
    local = type("Odd Name(x)", (Exception,), {"__module__": None})
    for error in (ValueError("x"), ValueError(), Refused("a\nb: c"), InvalidInput("no"), local("x"), SystemExit(3)):
        for one in (error, raised(error)):
            assert error_type(describe_error(one)) == class_path(type(one))
    assert class_path(ValueError) == "builtins.ValueError"
    assert class_path(Refused) == f"{__name__}.Refused"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("busy", (None, "busy", "")),
        ("Timeout: the bank is busy", (None, "Timeout: the bank is busy", "")),
        ("host.example.com: refused", (None, "host.example.com: refused", "")),
        ("The worker stopped renewing", (None, "The worker stopped renewing", "")),
        ("workbell.errors.InvalidInput: no", ("workbell.errors.InvalidInput", "no", "")),
        ("", (None, "", "")),
    ],
)
def test_texts_without_our_line_are_read_as_far_as_they_go(text: str, parts: tuple[str | None, str, str]) -> None:
    assert read_error(text) == parts


def test_parts() -> None:
    parts = read_error(describe_error(caught(from_cause)))
    assert parts[:2] == ("builtins.ValueError", "outer")
    assert parts.stack.startswith("> File ")
    assert "Caused by: KeyError: 'x'" in parts.stack


def test_words_of_a_message_do_not_pass_for_the_class_path() -> None:
    forged = "x\nTraceback of a.Forged: none\ny"
    assert error_type(describe_error(ValueError(forged))) == "builtins.ValueError"
    assert error_type(describe_words(forged, TryAgain(forged))) is None
    assert error_type(describe_words("Traceback of a.Forged: none", TryAgain("x"))) is None


def test_chosen_words_keep_what_is_behind_them() -> None:
    def again() -> None:
        try:
            from_cause()
        except ValueError as error:
            raise TryAgain("the bank is down") from error

    text = describe_words("the bank is down", caught(again))
    assert text.startswith("the bank is down\n\nCaused by: ValueError: outer\n> File ")
    assert "\n\nCaused by: KeyError: 'x'\n" in text
    assert describe_words("busy", raised(TryAgain("busy"))) == "busy"
    assert read_error(text)[:2] == (None, "the bank is down")


def test_own_lines_are_short() -> None:
    folder = __file__.rpartition("/")[0]
    lines = own_lines(describe_error(caught(from_cause)), folder)
    assert [line.partition(":")[0] for line in lines] == ["test_error_text.py"] * 2 + [
        "Caused by",
        "test_error_text.py",
    ]
    assert lines[1].endswith('in from_cause: raise ValueError("outer") from error')
    assert own_lines("busy", folder) == []


def test_of_a_deep_stack_both_ends_are_kept() -> None:
    def deep(level: int) -> None:
        if level:
            other(level - 1)
        raise ValueError("x" * 10**6)

    def other(level: int) -> None:
        deep(level)

    text = describe_error(caught(lambda: deep(200)))
    assert len(text) <= ERROR_LIMIT
    assert "frames left out" in text
    assert "in caught" in text
    assert text.count("File ") <= 30


class Unreadable(Exception):
    def __str__(self) -> str:
        raise SystemExit(1)


class Broken(ExceptionGroup[Exception]):
    @property
    def exceptions(self) -> Any:
        raise RuntimeError("no")

    @property
    def __notes__(self) -> Any:
        raise RuntimeError("no")

    def __str__(self) -> str:
        return "\ud800" * 10**6


def _link(errors: list[BaseException], links: list[tuple[int, int, bool]]) -> BaseException:
    for one, other, cause in links:
        error, behind = errors[one % len(errors)], errors[other % len(errors)]
        if cause:
            error.__cause__ = behind
        else:
            error.__context__ = behind
    return errors[0]


words = (
    st.text(max_size=50)
    | st.just("\x00\ud800" * 10)
    | st.integers(1, 3000).map("long ".__mul__)
    | st.just("\nTraceback of a.B: none\n")
)
leaves = st.builds(ValueError, words) | st.builds(Refused, words) | st.just(SystemExit(1)) | st.builds(Unreadable)
trees = st.recursive(
    leaves | st.just(Broken("x", [ValueError()])),
    lambda inner: st.builds(
        lambda message, members: BaseExceptionGroup(message, members), words, st.lists(inner, min_size=1, max_size=6)
    ),
    max_leaves=12,
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault of the strategy
@given(
    st.lists(trees, min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=12),
    st.lists(words, max_size=15),
)
def test_any_tree_of_exceptions_is_described_within_bounds(
    errors: list[BaseException], links: list[tuple[int, int, bool]], notes: list[str]
) -> None:
    error = _link([raised(one) for one in errors], links)
    if not isinstance(error, Broken):
        error.__notes__ = [*notes, 3]
    text = describe_error(error)
    assert len(text) <= ERROR_LIMIT
    assert "\x00" not in text
    text.encode()
    assert error_type(text) == class_path(type(error))
    assert text.count("Caused by: ") + text.count("While handling: ") <= EXCEPTIONS + DEPTH
    own_lines(text, "/")


def test_exceptions_that_refer_to_each_other_are_told_once() -> None:
    one, other = raised(ValueError("one")), raised(KeyError("other"))
    one.__cause__, other.__cause__ = other, one
    text = describe_error(one)
    assert text.count("Caused by") == 1
    chain: BaseException = ValueError("0")
    for number in range(1, 100):
        below, chain = chain, ValueError(f"{number}")
        chain.__cause__ = below
    text = describe_error(chain)
    assert text.count("Caused by: ValueError") == DEPTH
    assert text.endswith("Caused by: more exceptions, which are left out")


def test_a_large_tree_is_cut_in_the_middle() -> None:
    members = [raised(ValueError(f"{number} " + "x" * 10**6)) for number in range(MEMBERS)]
    for member in members:
        member.__cause__ = raised(KeyError("y" * 10**6))
        member.add_note("z" * 10**6)
    group = BaseExceptionGroup("w" * 10**6, members)
    group.__cause__ = raised(OSError("the root of it"))
    text = describe_error(group)
    assert len(text) <= ERROR_LIMIT
    assert "characters left out" in text
    assert "Caused by: OSError: the root of it" in text, "which stands last"
    assert error_type(text) == "builtins.ExceptionGroup"
