"""`workbell webhooks`: endpoints added, seen, tried, changed, and sent to again (C8)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.conftest import Folder
from tests.support.command_line import Answer, assert_refused
from tests.support.hooks import Hooks
from tests.support.inside.stores import SqliteFiles, Subscribers
from tests.support.inside.values import MatchOutcome, new_id
from tests.support.waiting import until
from workbell import Endpoint, Retry, Run, Workbell
from workbell.testing import drain

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TOML = 'url = "sqlite:///own.db"\nwebhook_allow = ["127.0.0.1"]\n'


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


@pytest.fixture
def bell(folder: Folder, sqlite_files: SqliteFiles) -> Iterator[Workbell]:
    sqlite_files.make(folder.path / "own.db")
    folder.write("workbell.toml", TOML)
    with Workbell() as bell:
        yield bell


def add(folder: Folder, hooks: Hooks, *options: str) -> dict[str, Any]:
    told: dict[str, Any] = folder.ask("webhooks", "add", hooks.url("/hook"), "--pattern", "posts.*", *options)
    return told


def test_everything_that_can_be_said(folder: Folder, bell: Workbell, hooks: Hooks) -> None:
    """Each option arrives, and neither the secret nor the value of a header is ever shown again."""
    assert "There are no endpoints yet" in folder.call("webhooks", "list").out
    told = add(
        *(folder, hooks, "--pattern", "*.created", "--header", "X-Token: very: secret", "--description", "Readers"),
        *("--rate", "10/s", "--concurrency", "2", "--timeout", "5s", "--attempts", "4", "--secret", SECRET),
    )
    assert told.pop("secret") == SECRET
    wanted = {
        "url": hooks.url("/hook"),
        "patterns": ["posts.*", "*.created"],
        "header_names": ["x-token"],
        "description": "Readers",
        "rate": "10/s",
        "concurrency": 2,
        "timeout": 5.0,
        "enabled": True,
    }
    assert wanted.items() <= told.items()
    assert told["retry_config"]["max_attempts"] == 4
    assert folder.ask("webhooks", "list") == [folder.ask("webhooks", "show", told["id"][-8:])] == [told]
    text = folder.call("webhooks", "show", told["id"]).out
    for part in ("Readers", "posts.* *.created", "x-token", "4 attempts", "10/s", "5 s", "none yet", "not sealed"):
        assert part in text, text
    listed = folder.call("webhooks", "list")
    for shown in (text, listed.out, str(told)):
        assert "very" not in shown
        assert SECRET not in shown
    assert told["id"] in listed.out


def test_the_secret_alone_is_what_a_pipe_gets(folder: Folder, bell: Workbell, hooks: Hooks) -> None:
    made = folder.call("webhooks", "add", hooks.url("/hook?token=x"), "--pattern", "posts.*")
    assert made.out.startswith("whsec_")
    assert made.out.count("\n") == 1
    assert "never again" in made.error
    assert "token=x" not in made.error
    [endpoint] = bell.webhooks.list()
    piped = folder.call("webhooks", "rotate", endpoint.id, "--secret", "-", "--overlap", "2h", typed=f"{SECRET}\n")
    assert piped.out == f"{SECRET}\n"
    assert "the old secret signs as well for 2 h" in piped.error
    assert "the one before it is valid until" in folder.call("webhooks", "show", endpoint.id).out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["http://10.0.0.1/x", "--pattern", "posts.*"], 1, "not public"),
        (["ftp://example.com", "--pattern", "posts.*"], 1, "ftp"),
        (["https://example.com"], 2, "--pattern"),
        (["https://example.com", "--pattern", "po*"], 1, "one whole segment"),
        (["https://example.com", "--pattern", "*", "--header", "X-Token"], 2, "Name: value"),
        (["https://example.com", "--pattern", "*", "--header", "X-A: 1", "--header", "X-A: 2"], 2, "given twice"),
        (["https://example.com", "--pattern", "*", "--header", "Webhook-Id: x"], 1, "webhook-id"),
        (["https://example.com", "--pattern", "*", "--secret", "short"], 1, "secret"),
        (["https://example.com", "--pattern", "*", "--rate", "often"], 1, "rate"),
        (["https://example.com", "--pattern", "*", "--timeout", "60"], 1, "timeout"),
    ],
)
def test_what_cannot_be_added(arguments: list[str], code: int, words: str, folder: Folder, bell: Workbell) -> None:
    answer = folder.call("webhooks", "add", *arguments)
    assert answer.code == code, answer
    assert words in answer.error.lower() or words in answer.error
    assert "Traceback" not in answer.error
    assert bell.webhooks.list() == []


def test_a_token_is_not_repeated_where_a_header_is_written_wrongly(folder: Folder, bell: Workbell) -> None:
    wrong = folder.call("webhooks", "add", "https://example.com", "--pattern", "*", "--header", "Authorization hush")
    assert wrong.code == 2
    assert "hush" not in wrong.error


def test_a_list_looks_once(folder: Folder, bell: Workbell, hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many endpoints there are: not all of them again for each."""
    for _ in range(3):
        bell.webhooks.add(hooks.url("/hook"), patterns="posts.*")
    looks = []
    real = Subscribers.list_endpoints

    def watched(part: Subscribers, tenant: str | None = None) -> list[Endpoint]:
        looks.append(tenant)
        return real(part, tenant)

    monkeypatch.setattr(Subscribers, "list_endpoints", watched)
    assert len(folder.ask("webhooks", "list")) == 3
    assert folder.call("webhooks", "list").out.count("none yet") == 3
    assert looks == ["default", "default"]


def test_options_about_retries_change_nothing_else(folder: Folder, bell: Workbell, hooks: Hooks) -> None:
    """Neither the ten attempts over three and a half days, nor what was said of an endpoint before."""
    made = add(folder, hooks, "--retry-delay", "7")
    assert bell.webhooks.get(made["id"]).retry == Retry(attempts=10, delay=7, factor=6, cap=86400, jitter=0.1)
    plain = add(folder, hooks)
    folder.ask("webhooks", "update", plain["id"], "--attempts", "4")
    assert bell.webhooks.get(plain["id"]).retry == Retry(attempts=4, delay=5, factor=6, cap=86400, jitter=0.1)
    bell.webhooks.update(plain["id"], retry=Retry(attempts=5, cap=60, jitter=0.5, give_up_on=("TimeoutError",)))
    folder.ask("webhooks", "update", plain["id"], "--retry-delay", "5m")
    found = bell.webhooks.get(plain["id"]).retry
    assert found == Retry(attempts=5, delay=300, cap=300, jitter=0.5, give_up_on=("TimeoutError",))
    twisted = folder.call("webhooks", "update", plain["id"], "--retry-delay", "5m", "--retry-cap", "1m")
    assert (twisted.code, "--retry-cap is less than --retry-delay" in twisted.error) == (2, True)


def test_changed_switched_and_removed(folder: Folder, bell: Workbell, hooks: Hooks) -> None:
    made = add(folder, hooks, "--header", "X-Token: x", "--attempts", "4")
    short = made["id"][-8:]
    assert folder.call("webhooks", "update", short).code == 2
    told = folder.ask("webhooks", "update", short, "--to", hooks.url("/new"), "--no-headers", "--retry-cap", "5s")
    assert (told["url"], told["header_names"], told["patterns"]) == (hooks.url("/new"), [], ["posts.*"])
    assert (told["retry_config"]["max_attempts"], told["retry_config"]["max_delay_ms"]) == (4, 5000)
    said = folder.call("webhooks", "disable", short, "--reason", "too noisy")
    assert said.out.startswith(f"Endpoint {made['id']} is disabled")
    assert "too noisy" in folder.call("webhooks", "show", short).out
    assert_refused(folder.call("webhooks", "test", short), 1, "too noisy", "enable it first")
    assert_refused(folder.call("webhooks", "replay", short, "--since", "1h"), 1, "enable it first")
    assert "replay" in folder.call("webhooks", "enable", short).error
    assert folder.call("webhooks", "remove", short, typed="n\n").code == 130
    assert folder.ask("webhooks", "remove", short, "--yes") == {"id": made["id"], "removed": True}
    assert_refused(folder.call("webhooks", "show", made["id"]), 4, "There is no webhook endpoint")
    assert_refused(folder.call("webhooks", "deliveries", new_id()), 4, "There is no webhook endpoint")


def test_deliveries_and_replay(folder: Folder, bell: Workbell, hooks: Hooks) -> None:
    short = add(folder, hooks, "--attempts", "1")["id"][-8:]
    assert "Nothing was sent to it yet" in folder.call("webhooks", "deliveries", short).out
    hooks.answer_once(200, 500, path="/hook")
    well = bell.emit("posts.created")
    drain(bell)
    removed = new_id()
    bad = bell.emit("posts.gone")
    drain(bell)
    [old] = folder.ask("webhooks", "deliveries", short, "--before", removed)
    page = folder.call("webhooks", "deliveries", short, "-n", "1")
    assert f"Older ones: --before {bell.webhooks.deliveries(old['endpoint'])[0].id}\n" in page.error
    text = folder.call("webhooks", "deliveries", short)
    assert "✓ succeeded" in text.out
    assert "200 thanks" in text.out
    assert "✗ failed" in text.out
    assert "It answered 500." in text.out
    [one] = folder.ask("webhooks", "deliveries", short, "--status", "failed")
    assert (one["event"], one["status_code"], one["attempts"]) == (bad.id, 500, 1)
    assert '"answer":"thanks"' in folder.call("runs", "show", one["id"]).out  # also of an attempt that failed
    assert "1 failed in a row" in folder.call("webhooks", "list").out
    assert folder.call("webhooks", "replay", short).code == 2
    [again] = folder.ask("webhooks", "replay", short, "--since", "1h")
    assert again["event"] == bad.id
    [first] = folder.ask("webhooks", "replay", short, "--event", well.id[-8:])
    drain(bell)
    assert bell.get(first["id"]).status == bell.get(again["id"]).status == "succeeded"
    assert [arrived.id for arrived in hooks.arrived].count(bad.id) == 2
    assert "Nothing is to be sent again" in folder.call("webhooks", "replay", short, "--since", "1h").out
    assert [match.outcome for match in bell.events.matches(bad.id)] == [MatchOutcome.STARTED]


def test_a_ping(folder: Folder, bell: Workbell, hooks: Hooks) -> None:
    """Its answer is told as soon as the first try has ended; without a worker, why it was not sent."""
    short = add(folder, hooks)["id"][-8:]
    alone = folder.call("webhooks", "test", short, "--timeout", "0")
    assert alone.code == 3, alone
    assert "The ping was not sent yet. No worker is running" in alone.out
    drain(bell)
    assert ping(folder, bell, short).code == 0
    assert hooks.arrived[-1].event["type"] == "webhook.ping"
    hooks.answer(503, path="/hook")
    refused = ping(folder, bell, short)
    assert refused.code == 1, refused
    assert f"{hooks.url('/hook')} did not take the ping: It answered 503." in refused.out


def test_a_ping_that_is_not_answered_yet(
    folder: Folder, bell: Workbell, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was sent, and nobody is told otherwise."""
    short = add(folder, hooks)["id"][-8:]
    hooks.hold("/hook")

    def states_late(known: Workbell, run_id: str) -> Iterator[Run]:
        hooks.wait_for(1)
        yield known.get(run_id)

    monkeypatch.setattr("workbell.cli.webhooks.ping.states", states_late)
    late = ping(folder, bell, short, "--timeout", "0", after=lambda: hooks.release("/hook"))
    assert late.code == 3, late
    assert "The ping is on its way, and there is no answer yet." in late.out


def ping(folder: Folder, bell: Workbell, short: str, *options: str, after: Callable[[], None] = lambda: None) -> Answer:
    """Send one, with somebody there who works."""
    known = len(bell.runs())

    def work() -> None:
        until(lambda: len(bell.runs()) > known, "the ping")
        drain(bell)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        return folder.call("webhooks", "test", short, *options)
    finally:
        after()
        worker.join()
