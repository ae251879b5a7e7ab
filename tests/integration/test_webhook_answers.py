"""What a real receiver's answers, or its silence, do to a delivery, its attempts and its endpoint (C8)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import timedelta
from email.utils import format_datetime

import pytest

from tests.support.hooks import Hooks
from tests.support.inside.values import MatchOutcome
from tests.support.webhook_scene import ONCE, Scene
from workbell import Retry, Status

POSTS = "posts.*"


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


def test_success_is_any_2xx(scene: Scene, hooks: Hooks) -> None:
    endpoint, _ = scene.webhooks.add(hooks.url(), patterns=POSTS)
    for status in (200, 201, 202, 204, 299):
        hooks.answer(status, b"" if status == 204 else b"yes")
        scene.send()
        found = scene.last(endpoint)
        assert (found.status, found.status_code, found.attempts) == ("succeeded", status, 1)
        assert (found.answer, found.error) == ("" if status == 204 else "yes", None)
        assert found.duration_ms is not None
        assert found.duration_ms > 0
    assert scene.webhooks.health(endpoint.id).failures == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_not_followed(scene: Scene, hooks: Hooks, status: int) -> None:
    endpoint, _ = scene.webhooks.add(hooks.url(), patterns=POSTS)
    hooks.answer(status, location=hooks.url("/elsewhere"))
    scene.send()
    found = scene.last(endpoint)
    assert (found.status, scene.webhooks.attempts(found.id)[0].result["status_code"]) == ("scheduled", status)
    assert "redirect" in (found.error or "")
    assert [one.path for one in hooks.arrived] == ["/"]


def test_a_failure_is_tried_again_by_the_policy_until_it_is_over(scene: Scene, hooks: Hooks) -> None:
    """Ten times over days, if the endpoint does not say otherwise; every attempt can be seen."""
    endpoint, _ = scene.webhooks.add(hooks.url(), patterns=POSTS)
    hooks.answer(500, b"out of order")
    begun = scene.clock.now()
    scene.send()
    waits = []
    while (found := scene.last(endpoint)).status is Status.SCHEDULED:
        assert found.next_attempt_at is not None
        waits.append((found.next_attempt_at - scene.clock.now()).total_seconds())
        scene.clock.advance(waits[-1])
        scene.work()
    assert found.status is Status.FAILED
    assert (found.attempts, found.error, found.finished_at) == (10, "It answered 500.", scene.clock.now())
    for wait, least in zip(waits, [5, 30, 180, 1080, 6480, 38880, 86400, 86400, 86400], strict=True):
        assert least <= wait <= least * 1.1
    assert timedelta(days=3) < scene.clock.now() - begun < timedelta(days=4)
    attempts = scene.webhooks.attempts(found.id)
    assert [(one.number, one.status, one.error) for one in attempts] == [
        (number, "failed", "It answered 500.") for number in range(1, 11)
    ]
    assert {(one.result["status_code"], one.result["answer"]) for one in attempts} == {(500, "out of order")}
    assert all(one.result["duration_ms"] > 0 for one in attempts)
    assert len({one.id for one in hooks.arrived}) == 1


def test_the_endpoints_own_policy_counts(scene: Scene, hooks: Hooks) -> None:
    config = {"max_attempts": 2, "initial_delay_ms": 40_000}
    endpoint, _ = scene.webhooks.add(hooks.url(), patterns=POSTS, retry=config)  # type: ignore[arg-type]
    hooks.answer(500)
    scene.send()
    assert scene.last(endpoint).next_attempt_at == scene.clock.advance(40)
    scene.work()
    assert (scene.last(endpoint).status, len(hooks.arrived)) == ("failed", 2)
    scene.webhooks.update(endpoint.id, retry=ONCE)
    scene.send()
    assert (scene.last(endpoint).status, len(hooks.arrived)) == ("failed", 3)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("as_date", [False, True])
def test_who_asks_for_time_gets_it(scene: Scene, hooks: Hooks, status: int, as_date: bool) -> None:
    """More than the policy would wait, but never more than a day."""
    endpoint, _ = scene.webhooks.add(hooks.url(), patterns=POSTS, retry=Retry(5, delay=60, factor=1, jitter=0))
    for asked, given in ((7200, 7200), (30, 60), (10 * 86400, 86400)):
        at = format_datetime(scene.clock.now() + timedelta(seconds=asked), usegmt=True)
        hooks.answer(status, retry_after=at if as_date else str(asked))
        scene.send()
        found = scene.last(endpoint)
        assert found.next_attempt_at == scene.clock.now() + timedelta(seconds=given)
        assert f"left alone for {min(asked, 86400)} s" in (found.error or "")


def test_an_answer_that_never_comes(scene: Scene, hooks: Hooks) -> None:
    endpoint, _ = scene.webhooks.add(hooks.url(), patterns=POSTS, timeout=0.1)
    hooks.hold()
    scene.send()
    found = scene.last(endpoint)
    assert (found.status, found.status_code, found.attempts) == ("scheduled", None, 1)
    assert found.error == f"{hooks.url()}: no complete answer came within 0.1 s."
    hooks.release()
    assert len(hooks.arrived) == 1


def test_nobody_listens(scene: Scene) -> None:
    with socket.socket() as taken:  # the port stays ours, and nothing listens at it
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        endpoint, _ = scene.webhooks.add(url, patterns=POSTS)
        scene.send()
    found = scene.last(endpoint)
    assert (found.status, found.status_code) == ("scheduled", None)
    assert found.error == f"{url}: the connection was refused; nothing listens there."
    (attempt,) = scene.webhooks.attempts(found.id)
    assert (attempt.error, attempt.result) == (found.error, {"status_code": None})


def test_no_more_than_a_kilobyte_of_the_answer_is_kept(scene: Scene, hooks: Hooks) -> None:
    endpoint, _ = scene.webhooks.add(hooks.url(), patterns=POSTS)
    for status in (200, 500):
        hooks.answer(status, "é".encode() * 600 + b"end")
        scene.send()
        (attempt,) = scene.webhooks.attempts(scene.last(endpoint).id)
        assert (attempt.result["status_code"], attempt.result["answer"]) == (status, "é" * 512)
    hooks.answer(200, b"a\x00b\xff\x1b[31m\r\n")
    scene.send()
    assert scene.last(endpoint).answer == "a\ufffdb\ufffd\ufffd[31m\n"


def test_gone_switches_the_endpoint_off(scene: Scene, hooks: Hooks) -> None:
    """What waits is canceled, what comes is recorded, and who asked is told: once, by an event."""
    gone, _ = scene.webhooks.add(hooks.url("/gone"), patterns=POSTS)
    scene.webhooks.add(hooks.url("/told"), patterns="webhook.*")
    everything, _ = scene.webhooks.add(hooks.url("/everything"), patterns="*")
    hooks.answer(410, path="/gone")
    first, second = scene.emit(), scene.emit()
    scene.work()
    third = scene.send()
    assert len(hooks.to("/gone")) == 1
    found = scene.webhooks.get(gone.id)
    reason = "the endpoint answered 410 Gone: it wants no more"
    assert (found.enabled, found.reason, found.disabled_at) == (False, reason, scene.clock.now())
    waiting, sent = scene.webhooks.deliveries(gone.id)
    assert (sent.event, sent.status, sent.status_code, sent.error) == (first, "failed", 410, "It answered 410 Gone.")
    assert (waiting.event, waiting.status) == (second, "canceled")
    assert waiting.error == f"its endpoint is disabled: {reason}"
    (match,) = [one for one in scene.store.events.matches(third, after=None, limit=9) if one.subscriber == gone.id]
    assert (match.outcome, match.run, match.reason) == (MatchOutcome.DISABLED, None, reason)
    (told,) = hooks.to("/told")
    assert told.event["type"] == "webhook.disabled"
    assert (told.event["subject"], told.event["source"]) == (gone.id, "/workbell")
    assert told.event["data"] == {"endpoint": gone.id, "url": hooks.url("/gone"), "reason": reason}
    assert {one.event["type"] for one in hooks.to("/everything")} == {"posts.created"}
    assert scene.webhooks.health(everything.id).failures == 0


def test_nothing_is_told_where_nobody_asks(scene: Scene, hooks: Hooks) -> None:
    endpoint, _ = scene.webhooks.add(hooks.url(), patterns="*")
    hooks.answer(410)
    event = scene.send()
    assert not scene.webhooks.get(endpoint.id).enabled
    assert [one.id for one in scene.store.events.list("default", type=None, before=None, limit=9)] == [event]
