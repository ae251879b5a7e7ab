"""The sending of alerts and pings: what is said, where, how often it is tried; and that the URL is said nowhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.hooks import Hooks
from tests.support.webhook_scene import Pretended, Scene
from workbell import Retry, Run, Status, Workbell
from workbell.errors import EndpointRefused, InvalidOption, JobsError, SendFailed
from workbell.handlers.alert_urls import checked_url, pinged_url, without_url
from workbell.model.alert import shown_url
from workbell.model.job import ALERT
from workbell.webhooks.alert_message import ERROR_LIMIT, PING_LIMIT, beginning
from workbell.webhooks.alerts import RETRY

SECRET = "T000/B000/SECRET"
ALERTS = f"https://hooks.slack.com/services/{SECRET}"
PINGS = f"https://hc-ping.com/{SECRET}"
ONCE = Retry(attempts=1)


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


@pytest.fixture
def sender(scene: Scene) -> Pretended:
    return scene.pretend()


def fail_with(scene: Scene, error: Exception, **options: Any) -> None:
    @scene.bell.job(name="send", retry=ONCE, **options)
    def send() -> None:
        raise error

    send.enqueue()


def last(scene: Scene) -> Run:
    return scene.bell.runs(job=ALERT, limit=1)[0]


class TestOverTheWire:
    """With a real receiver, and everything that can be seen afterwards."""

    @pytest.fixture
    def hooks(self) -> Iterator[Hooks]:
        with Hooks() as hooks:
            yield hooks

    def test_an_alert_says_what_failed(
        self, scene: Scene, hooks: Hooks, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
    ) -> None:
        caplog.set_level(logging.DEBUG)
        path = f"/services/{SECRET}"
        fail_with(scene, ValueError("no such address\nat all"), alert_url=hooks.url(path), ping_url=hooks.url(path))
        (failed, *sent) = scene.work()
        assert [run.status for run in sent] == [Status.SUCCEEDED] * 2
        (alert,), (ping,) = hooks.to(path), hooks.to(f"{path}/fail?rid={failed.id}")
        assert alert.headers["content-type"] == "application/json"
        said = json.loads(alert.body)
        assert said.pop("error").startswith("ValueError: no such address\nat all\n")
        assert said == {
            "event": "job.failed",
            "text": f"Job send failed: ValueError: no such address (run {failed.id})",
            "job": "send",
            "run_id": failed.id,
            "schedule": None,
            "queue": "default",
            "tenant": "default",
            "attempt": 1,
            "failed_at": failed.finished_at.isoformat().replace("+00:00", "Z"),
        }
        assert ping.body.decode() == failed.error
        assert len(hooks.arrived) == 2
        self.assert_kept_secret(scene, caplog.text + capsys.readouterr().out)

    @pytest.mark.parametrize("answer", [404, 0])
    def test_a_failed_try_does_not_say_where(
        self, scene: Scene, hooks: Hooks, caplog: pytest.LogCaptureFixture, answer: int
    ) -> None:
        """Many servers repeat the path in the answer; and nobody listens on a port that was closed."""
        caplog.set_level(logging.DEBUG)
        url = hooks.url(f"/services/{SECRET}")
        hooks.answer(404, body=f"nothing at /services/{SECRET}".encode(), path=f"/services/{SECRET}")
        fail_with(scene, ValueError("bad"), alert_url=url if answer else f"http://127.0.0.1:1/services/{SECRET}")
        scene.work()
        tried = last(scene)
        assert tried.status is Status.SCHEDULED
        assert tried.error is not None
        assert "404" in tried.error if answer else tried.error.startswith("http://127.0.0.1:1/…: ")
        self.assert_kept_secret(scene, caplog.text)

    def assert_kept_secret(self, scene: Scene, logged: str) -> None:
        bell = scene.bell
        bell.store.jobs.put(bell.registry.declared_jobs(scene.clock, "default"))
        runs = bell.runs()
        attempts = [attempt for run in runs for attempt in bell.attempts(run.id)]
        jobs = bell.store.jobs.list("default")
        assert jobs[0].alert_url is not None
        assert SECRET in jobs[0].alert_url
        for shown in (logged, repr(runs), msgspec.json.encode(runs).decode(), repr(attempts), repr(jobs)):
            assert SECRET not in shown


def test_a_success_is_a_ping_without_words(scene: Scene, sender: Pretended) -> None:
    scene.bell.job(name="send", alert_url=ALERTS, ping_url=PINGS)(lambda: None)
    run = scene.bell.enqueue("send")
    scene.work()
    assert [url for url, _ in sender.sent] == [f"{PINGS}?rid={run.id}"]
    assert sender.bodies == [b""]


class TestTries:
    def test_five_in_an_hour(self, scene: Scene, sender: Pretended) -> None:
        """The alert's failure is its own: the run stays as it was, and nothing alerts of it."""
        sender.status = 500
        fail_with(scene, ValueError("bad"), alert_url=ALERTS)
        (failed,) = scene.work()
        start = scene.clock.now()
        while (tried := last(scene)).status is Status.SCHEDULED:
            scene.clock.advance((tried.scheduled_for - scene.clock.now()).total_seconds())
            scene.work()
        assert (len(sender.sent), tried.status) == (5, Status.FAILED)
        assert timedelta(minutes=55) < scene.clock.now() - start < timedelta(minutes=70)
        assert scene.bell.get(failed.id) == failed
        assert len(scene.bell.runs()) == 2
        assert RETRY.attempts == 5

    def test_a_receiver_that_is_gone_is_not_asked_again(self, scene: Scene, sender: Pretended) -> None:
        sender.status = 410
        fail_with(scene, ValueError("bad"), alert_url=ALERTS)
        scene.work()
        assert (last(scene).status, len(sender.sent)) == (Status.FAILED, 1)

    def test_a_late_ping_does_not_call_off_a_later_alarm(self, scene: Scene, sender: Pretended) -> None:
        results = iter([None, ValueError("bad")])

        @scene.bell.job(ping_url=PINGS, retry=ONCE)
        def send() -> None:
            error = next(results)
            if error is not None:
                raise error

        first = send.enqueue()
        sender.status = 0
        scene.work()
        sender.status = 200
        second = send.enqueue()
        scene.work()
        scene.clock.advance(60)
        (late,) = scene.work()
        assert (late.input["run"], late.status) == (first.id, Status.CANCELED)
        assert sender.sent[-1][0] == f"{PINGS}/fail?rid={second.id}"

    def test_a_run_that_was_removed(self, scene: Scene, sender: Pretended) -> None:
        fail_with(scene, ValueError("bad"), alert_url=ALERTS)
        sender.status = 0
        assert [run.status for run in scene.work()] == [Status.FAILED]
        scene.remove_all("workbell_history")
        scene.clock.advance(60)
        (alert,) = scene.work()
        assert (alert.status, alert.reason) == (Status.CANCELED, "its run was removed")

    def test_another_tenants_run_uses_the_programs_url(self, scene: Scene, sender: Pretended) -> None:
        fail_with(scene, ValueError("bad"), alert_url=ALERTS)
        scene.bell.for_tenant("guest").enqueue("send")
        scene.work()
        assert [url for url, _ in sender.sent] == [ALERTS] * 2
        assert {json.loads(body)["tenant"] for body in sender.bodies} == {"default", "guest"}


class TestWords:
    @pytest.mark.parametrize("written", ["<!channel>", "<https://evil.example|click>", "@channel @here, @all & co"])
    def test_an_error_cannot_call_everybody(self, scene: Scene, sender: Pretended, written: str) -> None:
        fail_with(scene, ValueError(written), alert_url=ALERTS)
        scene.work()
        said = json.loads(sender.bodies[0])
        assert written in said["error"]
        for word in ("<", ">", "@channel", "@here", "@all"):
            assert word not in said["text"]

    def test_long_errors_are_cut_at_a_line(self) -> None:
        text = "ß" * 100 + "\n"
        assert len(beginning(text * 100, ERROR_LIMIT).encode()) <= ERROR_LIMIT
        assert beginning(text * 100, ERROR_LIMIT).count("\n") == ERROR_LIMIT // 201 - 1
        assert beginning("x\n" + "ß" * 9000, PING_LIMIT) == "x\n" + "ß" * 4999
        assert beginning("short", 5) == "short"

    @pytest.mark.parametrize(
        ("url", "failed", "sent"),
        [
            ("https://hc.io/abc", False, "https://hc.io/abc?rid=R"),
            ("https://hc.io/abc/", True, "https://hc.io/abc/fail?rid=R"),
            ("https://hc.io/abc?create=1", True, "https://hc.io/abc/fail?create=1&rid=R"),
        ],
    )
    def test_where_a_ping_goes(self, url: str, failed: bool, sent: str) -> None:
        assert pinged_url(url, "R", failed=failed) == sent


class TestWritten:
    """Checked where it is written, and shown by its host alone."""

    @pytest.mark.parametrize(
        "url",
        [
            f"http://hooks.slack.com/{SECRET}",
            f"https://10.0.0.1/{SECRET}",
            f"https://me:{SECRET}@hooks.slack.com/",
            f"https://intranet/{SECRET}",
            f"ftp://hooks.slack.com/{SECRET}",
            f"https://hooks.slack.com:99999/{SECRET}",
            f"https://[::1/{SECRET}",
            SECRET,
            f"https://hc-ping.com/{SECRET}/{'a' * 1990}",
        ],
    )
    def test_what_cannot_be_sent_to(self, url: str) -> None:
        bell = Workbell(store=fresh_store())
        refused = []
        with pytest.raises(EndpointRefused) as error:
            bell.job(name="send", alert_url=url)(lambda: None)
        refused.append(str(error.value))
        bell.job(name="fine")(lambda: None)
        with pytest.raises(EndpointRefused) as error:
            bell.schedules.put("often", job="fine", every=60, ping_url=url)
        refused.append(str(error.value))
        assert refused[0].startswith("job send: alert_url: ")
        assert refused[1].startswith("schedule often: ping_url: ")
        assert SECRET not in str(refused)

    def test_it_must_be_a_text(self) -> None:
        with pytest.raises(InvalidOption, match="alert_url: expected a text such as https://…, got int"):
            checked_url("alert_url", 5, ())

    def test_only_the_host_is_shown(self) -> None:
        bell = Workbell(store=fresh_store())
        bell.job(name="send")(lambda: None)
        schedule = bell.schedules.put("often", job="send", every=60, alert_url=ALERTS, ping_url=PINGS)
        assert schedule.options.alert_url == ALERTS
        shown = schedule.as_dict()
        assert (shown["alert_url"], shown["ping_url"]) == ("https://hooks.slack.com/…", "https://hc-ping.com/…")
        assert SECRET not in repr(schedule) + str(shown)
        assert [shown_url(url) for url in (None, "nonsense", "https://[", "http://127.0.0.1:80/x")] == [
            None,
            "…",
            "…",
            "http://127.0.0.1:80/…",
        ]

    def test_a_message_in_other_words_says_nothing_of_it(self) -> None:
        assert without_url(f"something about {ALERTS}", ALERTS) == "https://hooks.slack.com/…: it cannot be sent to."
        assert without_url(str(SendFailed(f"{ALERTS}: no.")), ALERTS) == "https://hooks.slack.com/…: no."

    def test_handlers_of_events_have_them_too(self) -> None:
        bell = Workbell(store=fresh_store())
        job = bell.on("posts.*", alert_url=ALERTS)(lambda event: None)
        assert (job.alert_url, job.watched.alerts, job.watched.pings) == (ALERTS, True, False)

    def test_nobody_takes_its_name(self) -> None:
        bell = Workbell(store=fresh_store())
        with pytest.raises(JobsError, match="Workbell itself has a job of this name"):
            bell.job(name=ALERT)(lambda: None)
