"""What is sent again, how often and how soon; and what is made of answers that are errors."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from workbell import errors
from workbell.errors import ServiceUnavailable, WorkbellError
from workbell.remote.call import Reply
from workbell.remote.problems import error_of
from workbell.remote.tries import Tries

SHOWN = "https://bells.example.com"
PROBLEM = "application/problem+json"


def tries() -> Tries:
    return Tries(SHOWN, Random(1))


def reply(status: int, retry_after: str | None = None, content: bytes = b"") -> Reply:
    return Reply(status, PROBLEM, retry_after, content)


def test_pauses_double_with_some_jitter_and_the_third_failure_is_the_last() -> None:
    tried = tries()
    assert 0.2 <= tried.after_trouble("no connection") <= 0.3
    assert 0.4 <= tried.after_trouble("no connection") <= 0.6
    with pytest.raises(ServiceUnavailable, match=r"https://bells\.example\.com: no answer in time, 3 times") as caught:
        tried.after_trouble("no answer in time")
    assert caught.value.exit_code == 69


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_in_trouble_is_asked_again_as_late_as_it_says(status: int) -> None:
    tried = tries()
    assert tried.after_reply(reply(status)) is not None
    assert tried.after_reply(reply(status, "7")) == 7
    assert tried.after_reply(reply(status)) is None


@pytest.mark.parametrize(
    ("retry_after", "again"), [("10", True), ("11", False), ("Mon, 16 Nov 2026", False), (None, False)]
)
def test_too_many_requests_are_put_off_only_for_a_while(retry_after: str | None, again: bool) -> None:
    assert (tries().after_reply(reply(429, retry_after)) is not None) is again


@pytest.mark.parametrize("status", [200, 201, 204, 301, 400, 401, 403, 404, 409, 412, 422, 500])
def test_every_other_answer_is_the_answer(status: int) -> None:
    assert tries().after_reply(reply(status)) is None


def test_a_key_that_is_taken_by_our_own_lost_try_is_waited_for() -> None:
    taken = reply(409, content=b'{"type":"urn:workbell:error:KeyReused"}')
    assert tries().after_reply(taken) is None
    tried = tries()
    tried.after_trouble("no answer in time")
    assert tried.after_reply(taken) is not None
    assert tried.after_reply(reply(409, content=b'{"type":"urn:workbell:error:DuplicateRun"}')) is None


def kinds() -> list[type[WorkbellError]]:
    return sorted(
        (kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, WorkbellError)),
        key=lambda kind: kind.__name__,
    )


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_error_comes_back_as_itself_with_its_words(kind: type[WorkbellError]) -> None:
    told = {"type": f"urn:workbell:error:{kind.__name__}", "detail": "Why: so.", "run_id": "the-run", "more": 1}
    found = error_of(reply(400, content=msgspec.json.encode(told)), SHOWN)
    assert type(found) is kind
    assert str(found) == "Why: so."
    assert getattr(found, "run_id", "the-run") == "the-run"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (422, errors.InvalidOption),
        (418, WorkbellError),
        (500, WorkbellError),
    ],
)
@pytest.mark.parametrize("name", ["urn:workbell:error:FromTheFuture", "urn:workbell:error:annotations"])
def test_an_error_that_is_not_known_here_is_told_by_its_status(
    status: int, kind: type[WorkbellError], name: str
) -> None:
    found = error_of(reply(status, content=msgspec.json.encode({"type": name, "title": "Title."})), SHOWN)
    assert type(found) is kind
    assert str(found) == "Title."


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Reply(404, "text/html; charset=utf-8", None, b"<h1>Not Found</h1>"), "text/html"),
        (Reply(300, "", None, b""), "redirect (status 300)"),
        (Reply(302, "", None, b""), "redirect (status 302)"),
        (Reply(399, "", None, b""), "redirect (status 399)"),
        (Reply(400, "text/html", None, b"<h1>Bad Request</h1>"), "status 400 came with text/html"),
        (Reply(403, PROBLEM, None, b'{"type":"about:blank","detail":"Blocked."}'), "status 403"),
        (Reply(500, PROBLEM, None, b"{"), "no answer of Workbell"),
        (Reply(500, PROBLEM, None, b"[1]"), "no answer of Workbell"),
        (Reply(500, PROBLEM, None, b'{"type":"\xff"}'), "no answer of Workbell"),
        (Reply(500, PROBLEM, None, b'{"new":' + b"[" * 100_000), "no answer of Workbell"),
        (Reply(404, "application/json", None, b'{"type":"urn:workbell:error:RunNotFound"}'), "check the URL"),
    ],
)
def test_whatever_else_answers_there_is_not_taken_for_the_service(answer: Reply, words: str) -> None:
    found = error_of(answer, SHOWN)
    assert type(found) is ServiceUnavailable
    assert words in str(found)
    assert SHOWN in str(found)
