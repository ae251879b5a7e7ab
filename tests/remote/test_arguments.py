"""Every argument of every verb of the client arrives: the answer is the local one, and another one than without it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

import pytest

from tests.remote.conftest import Scene
from tests.remote.test_verbs import CALLED, ROOMS
from tests.support.inside.features import encode, new_secret
from tests.support.inside.values import KnownRun, RetryConfig, ScheduleChange, TickOutcome, compare, new_id
from tests.support.many_attempts import with_attempts
from workbell import Client, InvalidOption, Retry, Status, Tick, WorkbellError
from workbell.testing import drain

NOT_HERE = {
    ("emit", "connection"): "of a transaction in the program: the client refuses it (test_verbs)",
    ("wait", "timeout"): "test_runs, and test_network without a service",
    ("runs.wait", "timeout"): "the same verb",
    ("watch", "pace"): "how often it asks",
    ("runs.watch", "pace"): "how often it asks",
    ("awatch", "pace"): "how often it asks",
    ("runs.awatch", "pace"): "how often it asks",
    ("consume", "seconds"): "test_rounds",
    ("events.tail", "type"): "test_tail",
}
HOOK = "https://hooks.example.com/in"
PAST, LATER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


class Caller:
    """Calls verbs, and notes which arguments were shown to arrive."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.bell = scene.bell
        self.shown: set[tuple[str, str]] = set()

    def local(self, verb: str, *args: Any, **options: Any) -> Any:
        try:
            return self.scene.shown(attrgetter(verb)(self.bell)(*args, **options))
        except WorkbellError as error:
            return str(error)

    def reads(self, verb: str, *args: Any, **options: Any) -> None:
        """The client answers as the Workbell does, and each of the options changes the answer."""
        self.scene.same(verb, *args, **options)
        wanted = self.local(verb, *args, **options)
        for name in options:
            others = {other: value for other, value in options.items() if other != name}
            assert self.local(verb, *args, **others) != wanted, f"{verb}({name}=…) changes nothing: a poor example"
        self.shown |= {(verb, name) for name in options}

    def does(self, verb: str, *args: Any, **options: Any) -> Any:
        """The answer of the client, which the caller of this looks at for every option."""
        self.shown |= {(verb, name) for name in options}
        return self.scene.asked(verb, *args, **options)


def arguments(client: Client) -> Iterator[tuple[str, str]]:
    """Verbs and their arguments that may be left out."""
    for room in ("", *ROOMS):
        part = getattr(client, room) if room else client
        found = inspect.getmembers(type(part), inspect.isfunction)
        if room in CALLED:
            found.append(("", type(part).__call__))
        for name, verb in found:
            if name.startswith("_") or inspect.iscoroutinefunction(verb):
                continue
            for one in inspect.signature(verb).parameters.values():
                if one.default is not one.empty:
                    yield f"{room}.{name}".strip("."), one.name


def test_every_argument(scene: Scene) -> None:
    caller = Caller(scene)
    for part in (runs, rounds, definitions, schedules, events, webhooks, people, agents, files, operating):
        part(caller)
    every = set(arguments(scene.client))
    assert len(every) > 90
    assert every - caller.shown - {*NOT_HERE} == set(), "arguments that no call shows: add one that does"
    assert {*NOT_HERE} - every == set(), "these are no arguments"


def runs(caller: Caller) -> None:
    bell = caller.bell
    first, second, *_ = [bell.enqueue("send", {"to": str(number)}) for number in range(3)]
    bell.enqueue("fail", {"reason": "so"})
    drain(bell)
    assert caller.does("enqueue", "send", input={"to": "paid"}, delay=60).input == {"to": "paid"}
    (made,) = caller.scene.client.enqueue_many([caller.does("request", "send", input={"to": "asked"}, delay=60)])
    assert made.input == {"to": "asked"}
    for verb in ("runs", "page_of_runs", "runs.page"):
        caller.reads(verb, before=second.id)
        caller.reads(verb, limit=2)
    again = with_attempts(bell, bell.get(first.id), 9)
    for verb in ("attempts", "runs.attempts"):
        assert [one.number for one in caller.does(verb, again.id, after=3, limit=2)] == [4, 5]
    (line, *_) = bell.logs(first.id)
    for verb in ("logs", "runs.logs"):
        caller.reads(verb, first.id, after=line)
        caller.reads(verb, first.id, limit=1)
    for options in ({"job": "send"}, {"queue": "slow"}, {"minutes": 15}):  # until now, which passes
        there, here = caller.does("runs.tallies", **options), bell.runs.tallies(**options)
        whole = bell.runs.tallies()
        assert (len(there.items), there.jobs) == (len(here.items), here.jobs) != (len(whole.items), whole.jobs)
    caller.reads("jobs.recent", job="send")
    caller.reads("jobs.recent", job="send", limit=1)
    for verb in ("cancel", "runs.cancel"):
        waiting = bell.enqueue("send", {"to": "later"}, delay=60)
        for dry_run in (True, False):
            acting = "bulk" if verb == "cancel" else "runs.bulk"
            caller.does(acting, "cancel", dry_run=dry_run, tag="nobody's")
            caller.shown.discard((acting, "dry_run"))
        assert caller.does(verb, waiting.id, reason="enough").reason == "enough"
    for verb in ("bulk", "runs.bulk"):
        waiting = bell.enqueue("send", {"to": "later"}, delay=60, tag=verb)
        for dry_run, status in ((True, Status.SCHEDULED), (False, Status.CANCELED)):
            caller.does(verb, "cancel", dry_run=dry_run, tag=verb)
            drain(bell)
            assert bell.get(waiting.id).status is status


def rounds(caller: Caller) -> None:
    bell, scene = caller.bell, caller.scene
    admin = scene.client
    scene.client = Client(scene.url, bell.tokens.create("r", scopes=["dispatch", "consume"], tenant="*").text)
    try:
        waiting = [bell.enqueue("send", {"to": "x"}) for _ in range(4)]
        assert [one.run for one in caller.does("consume", runs=[waiting[2].id]).results] == [waiting[2].id]
        told = encode(waiting[3].id)
        assert [one.run for one in caller.does("consume", message=told).results] == [waiting[3].id]
        assert len(caller.does("consume", limit=1).results) == 1
        with pytest.raises(InvalidOption, match="limit"):
            caller.does("dispatch", limit=0)
    finally:
        scene.client.close()
        scene.client = admin
    drain(bell)


def definitions(caller: Caller) -> None:
    made = caller.does("jobs.put", "made", handler="send", input={"to": "x"}, enabled=False)
    assert (made.input, made.enabled) == ({"to": "x"}, False)
    caller.bell.jobs.delete("made")


def schedules(caller: Caller) -> None:
    bell = caller.bell
    for number in range(3):
        bell.schedules.put(f"s{number}", job="send", input={"to": "x"}, every=3600 + number)
    caller.reads("schedules.list", after="s0")
    caller.reads("schedules.list", limit=1)
    caller.reads("schedules.upcoming", limit=2)
    for verb in ("schedules.preview", "schedules.preview_local"):
        caller.reads(verb, "s0", n=3, after=LATER)
    known, now = bell.schedules.get("s0"), datetime.now(UTC)
    ticks = [Tick(schedule=known.id, due=due, outcome=TickOutcome.SKIPPED, created_at=now) for due in (PAST, now)]
    bell.store.schedules.write([ScheduleChange(schedule=known, expected=known.version, ticks=tuple(ticks))])
    caller.reads("schedules.ticks", "s0", before=now)
    caller.reads("schedules.ticks", "s0", limit=1)
    assert caller.does("schedules.update", "s0", job="fail", input={"reason": "so"}).job == "fail"
    given = {"cron": "30 */5 * * *", "timezone": "Asia/Tokyo", "window": ("01:00", "23:00"), "n": 7}
    caller.reads("schedules.try_out", **given, outside="skip")
    caller.reads("schedules.try_out", every=7200, anchor=LATER + timedelta(seconds=77))
    caller.reads("schedules.try_out", at=LATER)
    for number in range(3):
        bell.schedules.delete(f"s{number}")


def events(caller: Caller) -> None:
    bell = caller.bell
    event = caller.does("emit", "a.one", data={"n": 1}, subject="s", source="/here", key="k")
    assert (event.data, event.subject, event.source) == ({"n": 1}, "s", "/here")
    assert caller.does("emit", "a.one", data={"n": 1}, subject="s", source="/here", key="k").id == event.id
    retry = Retry(attempts=4, delay=2)
    config = RetryConfig(max_attempts=5)
    described = caller.does(
        "triggers.add", "one", pattern="a.*", processor="count", description="D", enabled=True, retry=retry
    )
    assert (described.description, described.retry.attempts) == ("D", 4)
    other = caller.does("triggers.add", "two", pattern="a.*", processor="count", enabled=False, retry_config=config)
    assert (other.enabled, other.retry.attempts) == (False, 5)
    bell.triggers.enable("two")
    for _ in range(3):
        bell.emit("a.two", {"n": 2})
    drain(bell)
    last = bell.events.list(type="a.two")[0]
    caller.reads("events.list", type="a.one")
    caller.reads("events.list", before=last.id)
    caller.reads("events.list", limit=1)
    bell.triggers.add("all", pattern="*", processor="count")
    caller.reads("events.match", "job.failed", system=False)
    bell.triggers.delete("all")
    matches = bell.events.matches(last.id)
    caller.reads("events.matches", last.id, after=matches[0].subscriber)
    caller.reads("events.matches", last.id, limit=1)
    matched = bell.triggers.matches("one")
    caller.reads("triggers.matches", "one", before=matched[0].event)
    caller.reads("triggers.matches", "one", limit=1)
    execution = bell.executions()[0]
    caller.reads("executions", trigger="one")
    caller.reads("executions", event=last.id)
    caller.reads("executions", status="failed")
    caller.reads("executions", before=execution.id)
    caller.reads("executions", limit=1)
    numbers = [one.attempt_number for one in bell.invocations(execution.id)]
    for verb in ("invocations", "executions.invocations"):
        assert [one.attempt_number for one in caller.does(verb, execution.id, limit=1)] == numbers[:1]
        assert caller.does(verb, execution.id, after=numbers[-1]) == []
    for name in ("one", "two"):
        bell.triggers.delete(name)


def webhooks(caller: Caller) -> None:
    bell = caller.bell
    first, second = new_secret(), new_secret()
    made = caller.does("webhooks.add", HOOK, secret=first, patterns=["h.*"])
    assert made.secret == first
    name = made.endpoint.id
    rotated = caller.does("webhooks.rotate", name, secret=second, overlap=60)
    assert rotated.secret == second
    (end,) = [one.until for one in bell.webhooks.get(name).secrets if one.until is not None]
    assert end < datetime.now(UTC) + timedelta(seconds=61)
    assert caller.does("webhooks.update", name, url=f"{HOOK}/other").url.startswith("https://hooks.example.com/")
    assert bell.webhooks.describe(name)["url"] == f"{HOOK}/other"
    emitted = [bell.emit("h.one", number) for number in range(3)]
    bell.dispatch()
    caller.does("webhooks.disable", name, reason="enough")
    assert bell.webhooks.get(name).reason == "enough"
    bell.webhooks.enable(name)
    (replayed,) = caller.does("webhooks.replay", name, event=emitted[1].id)
    assert replayed.event == emitted[1].id
    for delivery in bell.webhooks.deliveries(name):
        bell.cancel(delivery.id)
    assert caller.does("webhooks.replay", name, since=LATER) == []
    assert len(caller.does("webhooks.replay", name, since=PAST)) == 3
    listed = bell.webhooks.deliveries(name)
    caller.reads("webhooks.deliveries", name, before=listed[0].id)
    caller.reads("webhooks.deliveries", name, limit=1)
    caller.reads("webhooks.deliveries", name, status="failed")
    tries = with_attempts(bell, bell.get(listed[0].id), 9)
    assert [one.number for one in caller.does("webhooks.attempts", tries.id, after=3, limit=2)] == [4, 5]
    for delivery in bell.webhooks.deliveries(name, status="queued"):
        bell.cancel(delivery.id)  # nothing is sent
    bell.webhooks.delete(name)


def people(caller: Caller) -> None:
    bell, scene = caller.bell, caller.scene
    for number in range(3):
        bell.notify(7, number)
    first = bell.notifications.list(7)[0]
    assert caller.does("notifications.mark_read", ids=[first.id]) == 1
    for options in ({"unread": True}, {"before": first.id}, {"limit": 1}):
        there = scene.shown(caller.does("notifications.list", **options))
        assert there == scene.shown(bell.notifications.list(7, **options)) != scene.shown(bell.notifications.list(7))
    made = caller.does("tokens.create", name="t", scopes=["operate"], tenant="acme", user_id=9, expires=60).token
    assert (made.name, made.scopes, made.tenant, made.user_id) == ("t", ("operate",), "acme", 9)
    assert made.expires_at is not None
    assert made.expires_at < datetime.now(UTC) + timedelta(seconds=61)
    scene.same("tokens.get", made.id, tenant="acme")
    assert [one.id for one in caller.does("tokens.list", tenant="acme")] == [made.id]
    assert caller.does("tokens.list", tenant="acme", after=made.id, limit=1) == []
    names = [one.name for one in bell.tenants.list()]
    assert [one.name for one in caller.does("tenants.list", limit=1)] == names[:1]
    assert caller.does("tenants.list", after=names[-1]) == []
    assert caller.does("tokens.revoke", made.id, tenant="acme").revoked_at is not None
    assert not bell.tokens.get(made.id, tenant="acme").is_valid(datetime.now(UTC))
    caller.shown.add(("tokens.get", "tenant"))  # of another tenant it is not found without
    bell.audit.add("a.b", "s", actor="ada", tenant="acme")
    for _ in range(2):
        bell.audit.add("a.b", "s", actor="ada")
    newest = bell.audit.list(limit=1)[0]
    caller.reads("audit.list", before=newest.id)
    caller.reads("audit.list", limit=1)
    caller.reads("audit.list", tenant="acme")


def agents(caller: Caller) -> None:
    bell = caller.bell
    pairing = caller.does("agents.pairing", name="box", labels=["gpu"], expires=60)
    assert pairing.token.expires_at < datetime.now(UTC) + timedelta(seconds=61)
    bell.agents.pair(pairing.text)
    assert set(bell.agents.get("box").labels) == {"gpu"}
    changed = caller.does("agents.change", "box", labels=["cpu"], enabled=False)
    assert (set(changed.labels), changed.enabled) == ({"cpu"}, False)
    bell.agents.delete("box")


def files(caller: Caller) -> None:
    made = [caller.does("files.put", b"x", filename=f"{n}.bin", content_type="image/png") for n in range(3)]
    assert [(one.filename, one.content_type) for one in made] == [(f"{n}.bin", "image/png") for n in range(3)]
    listed = caller.bell.files.list()
    caller.reads("files.list", after=listed[0].id)
    caller.reads("files.list", limit=1)
    for one in made:
        caller.bell.files.delete(one.id)


def operating(caller: Caller) -> None:
    bell = caller.bell
    for pause, resume in (("pause", "resume"), ("pauses.pause", "pauses.resume")):
        made = caller.does(pause, queue="slow", job="send")
        assert (made.queue, made.job) == ("slow", "send")
        assert bell.pauses()[-1].since == made.since
        assert caller.does(resume, queue="other", job="send") == 0
        assert caller.does(resume, queue="slow", job="fail") == 0
        assert caller.does(resume, queue="slow", job="send") == 1
    bell.enqueue("fail", {"reason": "so"})
    bell.enqueue("send", {"to": "x"})
    assert caller.does("queues.scale", queue=["slow"]) != caller.scene.asked("queues.scale")
    drain(bell)
    for _ in range(2):
        known = KnownRun(new_id(), "default", 2**53 - 1, "w", Status.SUCCEEDED, 1, datetime.now(UTC), True, None)
        bell.store.rewinds.add(compare([known], {}, datetime.now(UTC), "w"))
    newest = bell.workers.rewinds()[0]
    caller.reads("workers.rewinds", before=newest.id)
    caller.reads("workers.rewinds", limit=1)
