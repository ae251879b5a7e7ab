"""What a caller says, as it goes out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from workbell import Client, InvalidInput, InvalidOption, JobsError, Retry
from workbell.remote import options
from workbell.remote.options import RemoteRequest, pages

client = Client("https://bells.example.com")


def sent(job: str = "send", input: Any = None, **given: Any) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(client.request(job, input, **given).body)
    return body


def test_options_stand_beside_the_job_and_its_input_as_plain_json() -> None:
    zone = timezone(timedelta(hours=2))
    assert sent(
        "send",
        {"to": "a@b.c"},
        run_at=datetime(2030, 1, 1, 14, tzinfo=zone),
        expires=timedelta(minutes=5),
        key="k",
        on_duplicate="reject",
        key_for=60,
        tag="t",
        replace_tag=True,
        priority=7,
        queue="q",
        user_id=3,
        target="label:gpu",
        retry=Retry(attempts=5, delay=2, give_up_on=[ValueError]),
        timeout=timedelta(seconds=1.5),
        persistent=False,
        auto_reschedule=10,
        remove_delay=0,
    ) == {
        "job": "send",
        "input": {"to": "a@b.c"},
        "run_at": "2030-01-01T12:00:00Z",
        "expires": 300.0,
        "key": "k",
        "on_duplicate": "reject",
        "key_for": 60.0,
        "tag": "t",
        "replace_tag": True,
        "priority": 7,
        "queue": "q",
        "user_id": 3,
        "target": "label:gpu",
        "retry": {
            "attempts": 5,
            "delay": 2.0,
            "factor": 2.0,
            "cap": 60.0,
            "jitter": 0.1,
            "give_up_on": ["ValueError"],
            "only_on": [],
        },
        "timeout": 1.5,
        "persistent": False,
        "auto_reschedule": 10.0,
        "remove_delay": 0.0,
    }
    assert sent() == {"job": "send"}
    assert sent(expires=datetime(2030, 1, 1, tzinfo=UTC)) == {"job": "send", "expires": "2030-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("input", "given", "kind", "words"),
    [
        ({}, {"dely": 1}, InvalidOption, "Unknown option 'dely'"),
        ({}, {"run_at": datetime(2030, 1, 1)}, InvalidOption, "no time zone"),  # noqa: DTZ001
        ({}, {"delay": -1}, InvalidOption, "delay"),
        ({}, {"delay": "soon"}, InvalidOption, "delay"),
        ({}, {"retry": "3"}, InvalidOption, "expected a Retry"),
        ({}, {"tag": object()}, InvalidOption, "cannot be written as JSON"),
        ({}, {"tenant": " x"}, InvalidOption, "tenant"),
        ({}, {"connection": object()}, InvalidOption, "cannot share yours"),
        ([1], {}, InvalidInput, "must be a dict"),
        ({"x": object()}, {}, InvalidInput, "JSON"),
        ({"x": "y" * 300_000}, {}, InvalidInput, "limit"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is(
    input: Any, given: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        client.request("send", input, **given)


def test_verbs_refuse_a_connection_and_a_job_without_a_name() -> None:
    with pytest.raises(InvalidOption, match="connection"):
        client.emit("posts.created", connection=object())
    with pytest.raises(JobsError):
        client.enqueue("")


@pytest.mark.parametrize("strange", ["send", ("send", {}, 3), (1, {}), None, {"job": "send"}])
def test_enqueue_many_takes_requests_and_pairs_only(strange: Any) -> None:
    with pytest.raises(InvalidOption, match="is no request"):
        client.enqueue_many([strange])


def asked(size: int = 10, tenant: str | None = None, keyed: bool = False) -> RemoteRequest:
    return RemoteRequest(msgspec.Raw(b"x" * size), tenant, keyed)


def test_pages_are_of_one_tenant_not_too_long_and_not_too_large() -> None:
    def lengths(requests: list[RemoteRequest]) -> list[int]:
        found = list(pages(requests))
        assert [one for page in found for one in page] == requests  # all of them, in their order
        return [len(page) for page in found]

    assert lengths([]) == []
    assert lengths([asked()] * 2500) == [1000, 1000, 500]
    assert lengths([asked()] * 1000) == [1000]
    assert lengths([asked(tenant="a"), asked(tenant="a"), asked(tenant="b"), asked(tenant="a")]) == [2, 1, 1]
    assert lengths([asked(options.PAGE_BYTES * 2 // 3)] * 3) == [1, 1, 1]
    assert lengths([asked()] * 120 + [asked(keyed=True)]) == [100, 21]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_json_lacks_are_not_sent(number: float) -> None:
    for verb, args, given in (
        (client.enqueue, ("send", {"to": number}), {}),
        (client.emit, ("a.b", {"n": number}), {}),
        (client.notify, (7, {"n": number}), {}),
        (client.broadcast, ([number],), {}),
        (client.schedules.put, ("nightly",), {"job": "send", "cron": "0 3 * * *", "input": {"n": number}}),
    ):
        with pytest.raises(InvalidInput, match=r"is (nan|inf), which JSON cannot carry"):
            verb(*args, **given)  # type: ignore[operator]
