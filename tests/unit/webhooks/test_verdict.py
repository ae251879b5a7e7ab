"""What an answer means: every status, and how long somebody may ask to be left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from workbell.outgoing.answer import HttpAnswer
from workbell.webhooks.verdict import DELIVERED, LONGEST_WAIT, DeliveryVerdict, summary_of, verdict

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def judged(status: int, retry_after: str | None = None) -> DeliveryVerdict:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return verdict(HttpAnswer(status, headers, "", 0.1), NOW)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 226, 299])
def test_any_2xx_is_success(status: int) -> None:
    assert judged(status, "60") is DELIVERED


@pytest.mark.parametrize("status", [100, 199, 400, 401, 404, 408, 409, 418, 429, 500, 501, 503, 599, 600, 999])
def test_anything_else_is_a_failure_that_is_tried_again(status: int) -> None:
    assert judged(status) == DeliveryVerdict(f"It answered {status}.")


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308, 399])
def test_a_redirect_is_a_failure_and_says_what_to_do(status: int) -> None:
    found = judged(status)
    assert found.words == f"It answered {status}, a redirect, and those are not followed; change the endpoint's URL."
    assert (found.wait, found.disable) == (0, None)


@pytest.mark.parametrize("retry_after", [None, "3600"])
def test_gone_is_for_good(retry_after: str | None) -> None:
    found = judged(410, retry_after)
    assert (found.words, found.wait) == ("It answered 410 Gone.", 0)
    assert found.disable == "the endpoint answered 410 Gone: it wants no more"


def at(seconds: float) -> str:
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("status", [429, 503, 500, 302])
@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("0", 0),
        (at(90), 90),
        (at(-90), 0),
        (at(86400), 86400),
        (at(86401), LONGEST_WAIT),
        ("86401", LONGEST_WAIT),
        ("9" * 400, LONGEST_WAIT),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_WAIT),
        ("-5", 0),
        ("1.5", 0),
        ("١٢", 0),
        ("soon", 0),
        ("", 0),
    ],
)
def test_who_asks_to_be_left_alone_is_for_a_day_at_most(status: int, said: str, wait: float) -> None:
    found = judged(status, said)
    assert found.wait == wait
    assert found.words is not None
    assert (f"left alone for {wait:g} s" in found.words) == bool(wait)
    assert found.disable is None


def test_what_is_kept_of_an_answer() -> None:
    assert summary_of(HttpAnswer(503, {"retry-after": "5"}, "no", 0.12345)) == {
        "status_code": 503,
        "duration_ms": 123.5,
        "answer": "no",
    }
