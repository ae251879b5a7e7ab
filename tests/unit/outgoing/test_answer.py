"""What is kept of an answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from workbell.outgoing.answer import HttpAnswer, readable_start

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", ""),
        (b'{"ok": true}\r\n\tx', '{"ok": true}\n\tx'),
        (b"x" * 2000, "x" * 1024),
        ("ä".encode() * 2000, "ä" * 512),
        (b"x" + "ä".encode() * 2000, "x" + "ä" * 511),  # the letter at the edge is left out, not broken
        (b"x" + "ä".encode()[:1], "x\ufffd"),
        (b"\x00\x1b[31m\xff\x7f", "\ufffd\ufffd[31m\ufffd\ufffd"),
        ("\u202e\u2028".encode(), "\ufffd\ufffd"),
    ],
)
def test_the_start_of_a_body(body: bytes, text: str) -> None:
    assert readable_start(body) == text


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 7 ", 7),
        ("Tue, 01 Jan 2030 12:01:00 GMT", 60),
        ("Tue, 01 Jan 2030 12:01:00", 60),
        ("Tue, 01 Jan 2030 13:01:00 +0100", 60),
        ("Tue, 01 Jan 2030 11:00:00 GMT", 0),
        ("9" * 100, float("9" * 12)),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("soon", None),
        ("", None),
        ("Tue, 99 Jan 2030 99:99:99 GMT", None),
        ("Tue, 01 Jan 99999999999 00:00:00 GMT", None),
    ],
)
def test_when_to_come_again(header: str, seconds: float | None) -> None:
    assert HttpAnswer(503, {"retry-after": header}, "", 0.1).retry_after(NOW) == seconds


def test_an_answer_that_does_not_say() -> None:
    assert HttpAnswer(503, {}, "", 0.1).retry_after(NOW) is None
