"""Log lines for people (B11): message first, the facts in a stable order, and nothing that could deceive."""

from __future__ import annotations

from typing import Any

from tests.unit.logs.making import Unshowable, record
from workbell.logs.text_lines import TextFormatter


def shown(*args: Any, colours: bool = False, **extra: Any) -> str:
    text = TextFormatter({"worker_id": "host/1/2/abc"}, colours=colours).format(record(*args, **extra))
    return text if colours else text.split(" ", 1)[1]


def test_message_then_facts() -> None:
    facts = {"attempt": 2, "job": "send", "run_id": "r1", "queue": "mail", "tenant": "t", "duration_s": 0.5}
    told = "info     hello you  run_id=r1  job=send  queue=mail  attempt=2  tenant=t  worker_id=abc  duration_s=0.5"
    assert shown("hello %s", "you", **facts) == told


def test_what_is_as_ever_is_left_out() -> None:
    assert shown(queue="default", tenant="default") == "info     hello  worker_id=abc"


def test_the_traceback_stands_below() -> None:
    first, second, *_, last = shown(error=ValueError("no")).splitlines()
    assert first == "info     hello  worker_id=abc"
    assert second == "    Traceback (most recent call last):"
    assert last == "    ValueError: no"
    assert shown(**{"error.type": "E", "error.message": "m", "error.stack": '  File "x"'}) == (
        'info     hello  worker_id=abc  error.type=E  error.message=m\n      File "x"'
    )


def test_nothing_steers_the_terminal_or_looks_like_a_line() -> None:
    text = shown("one\x1b[2J\n12:00:00 error forged\r", odd='a\nb\x07 "c"', other=Unshowable())
    assert "\x1b" not in text
    assert text.splitlines() == [
        "info     one [2J",
        "    12:00:00 error forged   worker_id=abc  odd=\"a b  'c'\"  other=(Unshowable)",
    ]


def test_colours_only_where_asked() -> None:
    assert "\x1b[32minfo" in shown(colours=True)
    assert "\x1b" not in shown()
