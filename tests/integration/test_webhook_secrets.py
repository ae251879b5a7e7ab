"""Secrets and the values of headers at rest: sealed where a key is set, and of use only to whoever has it (C8)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.support.hooks import Hooks
from tests.support.inside.features import new_key
from tests.support.inside.stores import Filter
from tests.support.inside.values import ALERT as ALERT_JOB
from tests.support.inside.values import Settings
from tests.support.webhook_scene import HERE
from workbell import Retry, Workbell
from workbell.testing import drain

SECRET = "whsec_" + "QUJD" * 10
VALUE = "Bearer hush-hush"
AGAIN = Retry(5, delay=0, jitter=0)


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


def bell_with(url: str, key: str | None) -> Workbell:
    return Workbell(settings=Settings(url=url, webhook_allow=HERE, secret_key=key))


def add(bell: Workbell, hooks: Hooks) -> str:
    headers = {"authorization": VALUE}
    endpoint, _ = bell.webhooks.add(hooks.url(), secret=SECRET, patterns="posts.*", headers=headers, retry=AGAIN)
    return endpoint.id


def stored_bytes(url: str, folder: Path) -> bytes:
    """All that is in the store: the file with what is beside it, or every row."""
    if url.startswith("sqlite"):
        return b"".join(file.read_bytes() for file in sorted(folder.glob("workbell.db*")))
    with psycopg.connect(url) as connection:
        tables = ("workbell_endpoints", "workbell_jobs", "workbell_schedules")
        return repr([connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]).encode()


def test_with_a_key_nothing_is_readable_at_rest(sql_store_url: str, tmp_path: Path, hooks: Hooks) -> None:
    with bell_with(sql_store_url, new_key()) as bell:
        endpoint = add(bell, hooks)
        _, second = bell.webhooks.rotate(endpoint)
        bell.emit("posts.created", {"id": 7})
        drain(bell)
        rest = stored_bytes(sql_store_url, tmp_path)
        (arrived,) = hooks.arrived
        assert arrived.headers["authorization"] == VALUE
        assert arrived.verified_by(SECRET) == arrived.verified_by(second)
    assert endpoint.encode() in rest
    for secret in (SECRET, SECRET[6:], second[6:], VALUE, "hush-hush"):
        assert secret.encode() not in rest


def test_without_a_key_they_are_kept_as_they_are(sql_store_url: str, tmp_path: Path, hooks: Hooks) -> None:
    """So the test above could find them."""
    with bell_with(sql_store_url, None) as bell:
        add(bell, hooks)
        rest = stored_bytes(sql_store_url, tmp_path)
    assert SECRET.encode() in rest
    assert VALUE.encode() in rest


@pytest.mark.parametrize("which", ["none", "another"])
def test_whoever_lacks_the_key_fails_in_words_and_tries_again(
    sqlite_url: str, hooks: Hooks, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key, wrong = new_key(), None if which == "none" else new_key()
    with bell_with(sqlite_url, key) as bell:
        endpoint = add(bell, hooks)
        event = bell.emit("posts.created", {"id": 7})
    with bell_with(sqlite_url, wrong) as other:
        drain(other, until_idle=False)
        (delivery,) = other.webhooks.deliveries(endpoint)
        assert (delivery.status, delivery.attempts) == ("scheduled", 1)
        assert "WORKBELL_SECRET_KEY" in (delivery.error or "")
        assert "Traceback" not in (delivery.error or "")
        assert other.webhooks.health(endpoint).failures == 0  # it is not the endpoint's fault
        assert (hooks.arrived, other.webhooks.get(endpoint).enabled) == ([], True)
    with bell_with(sqlite_url, f"{new_key()},{key}") as bell:  # the key was replaced: the old one still opens
        drain(bell, until_idle=False)
        assert bell.webhooks.deliveries(endpoint)[0].status == "succeeded"
    (arrived,) = hooks.arrived
    assert arrived.id == event.id
    assert arrived.verified_by(SECRET)["data"] == {"id": 7}
    for secret in (SECRET[6:], "hush", key, wrong or key):
        assert secret not in caplog.text


def test_a_key_that_is_set_later_seals_what_is_written_from_then_on(
    sqlite_url: str, tmp_path: Path, hooks: Hooks
) -> None:
    with bell_with(sqlite_url, None) as bell:
        endpoint = add(bell, hooks)
    with closing(bell_with(sqlite_url, new_key())) as bell:
        assert bell.webhooks.describe(endpoint)["sealed"] is False
        _, second = bell.webhooks.rotate(endpoint, overlap=0)
        bell.webhooks.update(endpoint, headers={"authorization": "Bearer new-hush"})
        assert bell.webhooks.describe(endpoint)["sealed"] is True
        bell.emit("posts.created", {})
        drain(bell)
        rest = stored_bytes(sqlite_url, tmp_path)
    assert hooks.arrived[0].verified_by(second)
    assert hooks.arrived[0].headers["authorization"] == "Bearer new-hush"
    assert second[6:].encode() not in rest
    assert b"new-hush" not in rest


QUERY, ALERT, PING = "key=hush-query", "/hush-alert", "/hush-ping"


def declare(bell: Workbell, hooks: Hooks) -> None:
    """An endpoint, a job and a schedule, each with a URL that is a key to something."""
    bell.webhooks.add(f"{hooks.url()}?{QUERY}", patterns="posts.*")

    @bell.job(name="watched", alert_url=hooks.url(ALERT), retry=Retry(1))
    def watched() -> None:
        raise ValueError("bad")

    bell.schedules.put("nightly", job="watched", cron="0 3 * * *", ping_url=hooks.url(PING))
    bell.store.jobs.put(bell.registry.sealed_jobs(bell.store.clock, bell.tenant))  # as a start does


def test_urls_are_sealed_at_rest_and_still_sent_to(sql_store_url: str, tmp_path: Path, hooks: Hooks) -> None:
    with bell_with(sql_store_url, new_key()) as bell:
        declare(bell, hooks)
        bell.emit("posts.created", {})
        bell.enqueue("watched")
        drain(bell)
        rest = stored_bytes(sql_store_url, tmp_path)
        assert sorted(one.path for one in hooks.arrived) == sorted([f"/?{QUERY}", ALERT])
        (endpoint,) = bell.webhooks.list()
        assert endpoint.url.endswith(QUERY)
        assert bell.webhooks.describe(endpoint.id)["url"] == endpoint.url
    for secret in (QUERY, ALERT, PING):
        assert secret.encode() not in rest


def test_without_a_key_urls_are_kept_as_they_are(sql_store_url: str, tmp_path: Path, hooks: Hooks) -> None:
    """So the test above could find them; and what was stored so is sealed later, and read before."""
    with bell_with(sql_store_url, None) as bell:
        declare(bell, hooks)
        drain(bell)
        rest = stored_bytes(sql_store_url, tmp_path)
    for secret in (QUERY, ALERT, PING):
        assert secret.encode() in rest
    old = new_key()
    for keys in (old, f"{new_key()},{old}"):
        with bell_with(sql_store_url, keys) as bell:
            assert bell.webhooks.seal() == 1
            stored = bell.schedules.get("nightly").options.ping_url
            assert stored is not None
            assert stored.startswith("sealed:http://")
            assert PING not in stored
    (endpoint,) = bell.store.subscribers.list_endpoints()
    assert endpoint.url.startswith("sealed:http://")


def test_a_schedule_that_says_the_same_is_not_changed(sqlite_url: str, hooks: Hooks) -> None:
    """Sealing gives another text each time; that must not count as a change, nor move the next tick."""
    with bell_with(sqlite_url, new_key()) as bell:
        declare(bell, hooks)
        before = bell.schedules.get("nightly")
        again = bell.schedules.put("nightly", job="watched", cron="0 3 * * *", ping_url=hooks.url(PING))
        assert (again.version, again.options) == (before.version, before.options)
        shown = before.as_dict()["ping_url"]
        assert "hush" not in shown
        again = bell.schedules.put("nightly", job="watched", cron="0 4 * * *", ping_url=shown)
        assert again.options.ping_url == before.options.ping_url


def test_an_alert_without_the_key_tries_again(sqlite_url: str, hooks: Hooks) -> None:
    with bell_with(sqlite_url, new_key()) as bell:
        declare(bell, hooks)
        bell.enqueue("watched")
        drain(bell, until_idle=False)
    with bell_with(sqlite_url, None) as other:
        drain(other, until_idle=False)
        (alert,) = other.store.runs.list(Filter(other.tenant, job=ALERT_JOB))
        assert (alert.status, hooks.arrived) == ("scheduled", [])
        assert "WORKBELL_SECRET_KEY" in (alert.error or "")


@pytest.mark.anyio
@pytest.mark.parametrize("key", [None, new_key()], ids=["clear", "sealed"])
async def test_the_start_says_what_is_stored_in_clear(
    sqlite_url: str, hooks: Hooks, caplog: pytest.LogCaptureFixture, key: str | None
) -> None:
    bell = bell_with(sqlite_url, key)
    caplog.set_level(logging.WARNING, "workbell")
    async with bell.running():
        pass
    assert caplog.messages == [], "nothing is stored yet"
    declare(bell, hooks)
    async with bell.running():
        pass
    bell.close()
    told = (
        "webhook secrets, headers and URLs and the URLs of alerts and pings are stored in clear; set "
        "WORKBELL_SECRET_KEY (`workbell webhooks new-key` makes a key), then `workbell webhooks seal`"
    )
    assert caplog.messages == ([told] if key is None else [])
