"""Error texts as tracebacks: in Python's order, ending with the exception."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbell.django.tracebacks import as_traceback
from workbell.model.error_text import describe_error


def raised(error: BaseException, cause: BaseException | None = None) -> str:
    try:
        raise error from cause
    except BaseException as caught:
        return describe_error(caught)


def test_causes_come_first() -> None:
    error = ValueError("no such order")
    error.add_note("order 7")
    text = as_traceback(raised(error, KeyError(7)))
    lines = text.splitlines()
    assert text.endswith("\nValueError: no such order\n")
    assert lines.index("Caused by: KeyError: 7") < lines.index("Traceback (most recent call last):")
    assert lines.index("Note: order 7") < lines.index("Traceback (most recent call last):")
    assert "    raise error from cause" in lines


def test_an_exception_without_frames_is_its_last_line() -> None:
    assert as_traceback(describe_error(OSError("gone"))) == "OSError: gone\n"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=50).map(str.strip).filter(bool))
def test_it_always_ends_with_the_message(message: str) -> None:
    assert as_traceback(raised(LookupError(message))).endswith(f"\nLookupError: {message}\n")
