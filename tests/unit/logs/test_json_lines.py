"""JSON log lines (B11): the keys in their order, one line each, whatever a record was given."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.logs.making import Unshowable, record
from workbell.logs.json_lines import LIMIT, JsonFormatter

ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


def read(*args: Any, constant: dict[str, Any] | None = None, ascii_only: bool = False, **extra: Any) -> dict[str, Any]:
    text = JsonFormatter(constant, ascii_only=ascii_only).format(record(*args, **extra))
    assert len(text.splitlines()) == 1
    found: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    text.encode("ascii" if ascii_only else "utf-8")
    return found


def test_the_keys_and_their_order() -> None:
    facts = {"zebra": 1, "duration_s": 0.5, "tenant": "t", "attempt": 2, "queue": "q", "job": "send", "run_id": "r"}
    found = read("hello %s", "you", constant={"worker_id": "w"}, **facts)
    assert list(found) == ("ts level event logger run_id job queue attempt tenant worker_id duration_s zebra".split())
    assert found["ts"] == "2030-03-17T17:46:40.250Z"
    assert (found["level"], found["event"], found["logger"]) == ("info", "hello you", "workbell.test")
    assert (found["worker_id"], found["attempt"], found["duration_s"]) == ("w", 2, 0.5)


def test_a_record_has_the_last_word_over_the_process() -> None:
    assert read(constant={"worker_id": "mine"}, worker_id="theirs")["worker_id"] == "theirs"


def test_an_error_is_taken_apart() -> None:
    found = read("failed", error=ValueError("no\ngood"))
    assert (found["error.type"], found["error.message"]) == ("builtins.ValueError", "no\ngood")
    assert found["error.stack"].startswith("Traceback")
    assert "making.py" in found["error.stack"]


def test_no_error_though_there_was_to_be_one() -> None:
    made = record("failed")
    made.exc_info = (None, None, None)
    assert "error.type" not in json.loads(JsonFormatter().format(made))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (object, "<class 'object'>"),
        (Unshowable(), "(Unshowable that cannot be shown)"),
        (float("nan"), None),
        (10**5000, "(int that cannot be shown)"),
        (ENDLESS, [[[["…"]]]]),
        ({("a", 1): 2, 3: "x"}, {"('a', 1)": 2, "3": "x"}),
        ("a\udc80b\x00", "a?b\N{REPLACEMENT CHARACTER}"),
        (["a\udc80b"], ["a?b"]),
        (datetime(2030, 1, 1, tzinfo=UTC), "2030-01-01T00:00:00Z"),
        ("a\u2028b\x85c", "a\u2028b\x85c"),
        ([Unshowable(), "\udc80", float("inf")], ["(Unshowable that cannot be shown)", "?", "inf"]),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_odd_values(value: Any, shown: Any, ascii_only: bool) -> None:
    assert read(odd=value, ascii_only=ascii_only)["odd"] == shown


def test_keys_of_the_line_are_not_taken_over() -> None:
    found = read("hello", event="theirs", level="theirs")
    assert (found["event"], found["level"]) == ("hello", "info")
    assert (found["extra.event"], found["extra.level"]) == ("theirs", "theirs")


def test_arguments_that_do_not_fit() -> None:
    assert read("%d of %s", "x")["event"] == "%d of %s ('x',)"
    assert read("%s", Unshowable())["event"].startswith("%s (")
    assert "cannot be shown" in read(Unshowable())["event"]


@pytest.mark.parametrize(
    "given",
    [
        {"message": "x" * 10**6},
        {"odd": "y" * 10**6},
        {"odd": ["z" * 10**5] * 100},
        {"odd": dict.fromkeys(range(10**5))},
    ],
    ids=["message", "text", "list", "dict"],
)
def test_huge_ones_are_cut(given: dict[str, Any]) -> None:
    message = given.pop("message", "hello")
    text = JsonFormatter().format(record(message, error=RuntimeError("e" * 10**6), **given))
    assert json.loads(text)["level"] == "info"
    assert len(text) < 20 * LIMIT


@pytest.mark.parametrize("ascii_only", [False, True])
def test_letters_beyond_ascii(ascii_only: bool) -> None:
    text = JsonFormatter(ascii_only=ascii_only).format(record("grüße"))
    assert json.loads(text)["event"] == "grüße"
    assert text.isascii() is ascii_only


URL = "postgresql://me:secret@host/db"


@pytest.mark.parametrize("given", [{"odd": URL}, {"odd": {"deep": [URL]}}, {"error": ValueError(f"at {URL}")}])
def test_secrets_of_urls_are_hidden(given: dict[str, Any]) -> None:
    text = JsonFormatter().format(record(f"see {URL}", **given))
    assert "secret" not in text
    assert text.count("postgresql://me:…@host/db") >= 2
