"""The verbs about schedules: put, get, list, pause, resume, delete, preview, ticks; what they refuse (E1–E3, F3)."""

from __future__ import annotations

import inspect
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.inside.features import Declaration, JobFunction, LocalClient, Schedules
from tests.support.inside.stores import Store
from tests.support.inside.values import ScheduleKind
from tests.support.scheduling import DECLARED, end_all, fates, ledger, look, runs_of, set_clock
from workbell import (
    Context,
    InvalidInput,
    InvalidOption,
    JobsError,
    Retry,
    ScheduleNotFound,
    UnknownJob,
    Workbell,
    WorkbellError,
)
from workbell.testing import ManualClock

HOURLY = {"cron": "0 * * * *", "timezone": "UTC"}
HOUR = timedelta(hours=1)
ONE = DECLARED.replace(hour=1, minute=0, second=0)
IFS = ["update_if", "delete_if"]
VERBS = ["put", "update", "get", "list", "upcoming", "preview", "preview_local", "try_out", "ticks"]
VERBS += ["pause", "resume", "run", "delete"]


@pytest.fixture(autouse=True)
def clock(store: Store) -> ManualClock:
    set_clock(store, ManualClock(DECLARED))
    return store.clock  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def jobs(bell: Workbell, send: Any) -> None:
    """`send(to, copies=1)` and `tidy()`."""

    @bell.job
    def tidy() -> None: ...


class TestTwins:
    @pytest.mark.parametrize("verb", VERBS)
    def test_each_verb_and_its_twin_have_one_signature(self, verb: str) -> None:
        one, other = getattr(Schedules, verb), getattr(Schedules, f"a{verb}")
        assert inspect.iscoroutinefunction(other)
        assert inspect.signature(one).parameters == inspect.signature(other).parameters

    def test_no_verb_is_without_its_twin(self) -> None:
        public = {name for name in vars(Schedules) if name[0] != "_"}
        assert public == {*VERBS, *(f"a{verb}" for verb in VERBS), "put_all", "disable_others", "check", *IFS}

    @pytest.mark.anyio
    async def test_the_whole_life_of_a_schedule(self, bell: Workbell) -> None:
        schedules = bell.schedules
        made = await schedules.aput("hourly", job="tidy", **HOURLY)
        assert await schedules.aget("hourly") == made
        assert list(await schedules.alist()) == [made]
        assert list(await schedules.apreview("hourly", 2)) == [ONE, ONE + HOUR]
        assert (await schedules.apause("hourly")).paused
        assert not (await schedules.aresume("hourly")).paused
        look(bell, ONE)
        assert [tick.due for tick in await schedules.aticks("hourly")] == [ONE]
        await schedules.adelete("hourly")
        with pytest.raises(ScheduleNotFound):
            await schedules.aget("hourly")


class TestPut:
    def test_it_is_as_it_was_said(self, bell: Workbell, send: JobFunction[[str, int], str]) -> None:
        """E1."""
        made = bell.schedules.put(
            "nightly",
            job=send,
            cron="0  3 * *  *",
            timezone="Europe/Paris",
            input={"to": "a@b.c"},
            window=("02:00", "06:00"),
            outside="skip",
            overlap="queue_one",
            catch_up="all",
            catch_up_cap=9,
            jitter=timedelta(minutes=1),
            queue="slow",
            priority=7,
            retry=Retry(attempts=2, delay=3),
            timeout=60,
            target="machine",
            description="the mail",
            created_by="ann",
        )
        assert made == bell.schedules.get("nightly")
        assert (made.kind, made.expression, made.timezone) == (ScheduleKind.CRON, "0 3 * * *", "Europe/Paris")
        assert (made.job, made.input, made.tenant, made.source) == ("send", {"to": "a@b.c"}, "default", "api")
        assert (made.enabled, made.paused, made.active, made.version) == (True, False, True, 0)
        assert made.next_run_at == made.look_at == DECLARED.replace(hour=2, minute=0, second=0)
        shown = made.as_dict()
        assert (shown["jitter"], shown["priority"], shown["target"], shown["created_by"]) == (60.0, 7, "machine", "ann")
        assert (shown["window"], shown["overlap"], shown["catch_up_cap"]) == (("02:00", "06:00"), "queue_one", 9)
        assert (shown["run_count"], shown["failure_count"], shown["last_status"]) == (0, 0, None)
        assert bell.runs() == []

    def test_three_kinds(self, bell: Workbell) -> None:
        put = bell.schedules.put
        assert put("a", job="tidy", every=90).expression == "1m30s from 2030-01-07T00:00:30Z"
        assert put("b", job="tidy", every=timedelta(days=2), anchor=ONE).next_run_at == ONE
        once = put("c", job="tidy", at=datetime(2030, 1, 7, 9, tzinfo=UTC))
        assert (once.kind, once.next_run_at) == (ScheduleKind.ONCE, datetime(2030, 1, 7, 9, tzinfo=UTC))

    def test_one_job_many_schedules(self, bell: Workbell) -> None:
        """D1."""
        for name in ("one", "two"):
            bell.schedules.put(name, job="tidy", **HOURLY)
        look(bell, ONE)
        assert len({run.schedule for run in bell.runs(job="tidy")}) == 2

    def test_again_with_the_same_settings_nothing_changes(self, bell: Workbell, clock: ManualClock) -> None:
        first = bell.schedules.put("hourly", job="tidy", every=3600, input={})
        clock.advance(minutes=50)
        assert bell.schedules.put("hourly", job="tidy", every=3600) == first

    def test_a_change(self, bell: Workbell, clock: ManualClock) -> None:
        first = bell.schedules.put("hourly", job="tidy", **HOURLY)
        clock.advance(hours=2)
        now = bell.schedules.put("hourly", job="send", input={"to": "x"}, every=600)
        assert (now.id, now.created_at, now.version) == (first.id, first.created_at, 1)
        assert (now.job, now.updated_at, now.next_run_at) == ("send", clock.now(), clock.now() + timedelta(minutes=10))
        assert fates(bell, "hourly") == [("skipped", 2)]

    def test_a_url_that_is_put_back_as_it_was_shown_stays(self, bell: Workbell) -> None:
        """Who reads a schedule, changes something and puts it must not lose where its failures are told."""
        url, shown = "https://hooks.example.com/services/key", "https://hooks.example.com/…"
        bell.schedules.put("a", job="tidy", **HOURLY, alert_url=url)
        changed = bell.schedules.put("a", job="tidy", **HOURLY, alert_url=shown, description="new")
        assert (changed.options.alert_url, changed.options.description) == (url, "new")
        with pytest.raises(InvalidOption, match=r"schedule b: alert_url: .* is how a URL is shown"):
            bell.schedules.put("b", job="tidy", **HOURLY, alert_url=shown)
        with pytest.raises(InvalidOption, match="schedule a: ping_url: "):  # there is none that it could stand for
            bell.schedules.put("a", job="tidy", **HOURLY, ping_url=shown)

    def test_switched_off_and_on(self, bell: Workbell, clock: ManualClock) -> None:
        off = bell.schedules.put("hourly", job="tidy", enabled=False, **HOURLY)
        assert (off.enabled, off.look_at, off.next_run_at) == (False, None, None)
        assert off.reason
        clock.advance(hours=3)
        look(bell, clock.now())
        on = bell.schedules.put("hourly", job="tidy", **HOURLY)
        assert (on.enabled, on.reason, on.next_run_at) == (True, None, ONE + 3 * HOUR)
        assert (fates(bell, "hourly"), bell.runs()) == ([("skipped", 3)], [])

    def test_only_its_own_rows_are_read(self, bell: Workbell, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many there are."""
        schedules, runs = store.schedules, store.runs
        for part, verb in (
            *((schedules, verb) for verb in ("list", "due", "ticks", "next_check")),
            (runs, "list"),
            (store, "export"),
        ):
            monkeypatch.setattr(part, verb, lambda *_, verb=verb, **__: pytest.fail(verb))
        asked: list[Any] = []
        find = store.schedules.find
        monkeypatch.setattr(store.schedules, "find", lambda tenant, names: asked.append(names) or find(tenant, names))
        bell.schedules.put("hourly", job="tidy", **HOURLY)
        bell.schedules.put("hourly", job="tidy", every=60)
        assert {name for names in asked for name in names} == {"hourly"}

    def test_the_zone_is_the_settings_then_the_machines(self, bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("workbell.scheduling.schedules.timezone_name", lambda: "Asia/Tokyo")
        assert bell.schedules.put("a", job="tidy", cron="0 3 * * *").timezone == "Asia/Tokyo"
        monkeypatch.setattr("workbell.scheduling.schedules.timezone_name", lambda: "Asia/Kathmandu")
        assert bell.schedules.put("a", job="tidy", cron="0 3 * * *").timezone == "Asia/Tokyo", "resolved once and kept"
        monkeypatch.setattr(bell.runtime, "timezone", "Europe/Rome")
        assert bell.schedules.put("b", job="tidy", cron="0 3 * * *").timezone == "Europe/Rome"

    def test_many_put_at_once_by_many(self, bell: Workbell) -> None:
        """A race: one of them makes it, and the last one's settings are there."""
        gate = threading.Barrier(4)
        made: list[str] = []

        def put(number: int) -> None:
            gate.wait(30)
            made.append(bell.schedules.put("race", job="tidy", every=60 + number).id)

        threads = [threading.Thread(target=put, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert (len(made), len(set(made)), len(bell.schedules.list())) == (4, 1, 1)
        assert bell.schedules.get("race").version == 3

    def test_all_or_none(self, bell: Workbell) -> None:
        good, bad = Declaration("a", "tidy", {"every": 60}), Declaration("b", "tidy", {"every": -1})
        with pytest.raises(InvalidOption):
            bell.schedules.put_all([good, bad], source="test")
        assert bell.schedules.list() == []


# What is asked for, the error, and words that its message must have: which schedule, which setting, what is wrong.
BAD: list[tuple[dict[str, Any], type[WorkbellError], str]] = [
    ({"job": "nobody"}, UnknownJob, r"nobody.*known are send, tidy"),
    ({"job": ""}, JobsError, "job"),
    ({}, JobsError, r"schedule bad: nothing says when; give exactly one of cron=, every= and at="),
    ({"cron": "* * * * *", "every": 5}, JobsError, r"schedule bad: cron and every both say when; give exactly one"),
    ({"every": 5, "at": ONE}, JobsError, "schedule bad: every and at"),
    ({"cron": "61 * * * *"}, JobsError, r"schedule bad: .*61.*minute|schedule bad: .*minute.*61"),
    ({"cron": "* * *"}, JobsError, r"schedule bad: .*fields"),
    ({"cron": "0 0 30 2 *"}, JobsError, "schedule bad: "),
    ({"cron": ""}, JobsError, "schedule bad: "),
    ({"cron": 5}, JobsError, "schedule bad: cron: expected a text, got int"),
    ({"every": 0}, JobsError, "schedule bad: .*1 second"),
    ({"every": 0.5}, JobsError, "schedule bad: .*1 second"),
    ({"every": -1}, InvalidOption, "schedule bad: every"),
    ({"every": float("nan")}, InvalidOption, "schedule bad: every"),
    ({"every": "5m"}, InvalidOption, "schedule bad: every: expected seconds or a timedelta, got str"),
    ({"every": 5, "anchor": datetime(2030, 1, 1)}, InvalidOption, "schedule bad: anchor: .*no time zone"),  # noqa: DTZ001
    ({"at": datetime(2030, 1, 1)}, InvalidOption, r"schedule bad: at: .*no time zone; say which"),  # noqa: DTZ001
    ({"at": "tomorrow"}, InvalidOption, "schedule bad: at: expected a datetime, got str"),
    ({"timezone": "Mars/Olympus"}, JobsError, r"schedule bad: .*Mars/Olympus"),
    ({"timezone": "../etc/passwd"}, JobsError, "schedule bad: "),
    ({"timezone": 5}, JobsError, r"schedule bad: timezone: expected a name such as"),
    ({"window": ("02:00",)}, InvalidOption, r"schedule bad: window: .*'02:00', '06:00'"),
    ({"window": "02:00-06:00"}, InvalidOption, "schedule bad: window"),
    ({"window": ("2", "06:00")}, JobsError, "schedule bad: window: .*HH:MM"),
    ({"window": ("02:00", "24:00")}, JobsError, "schedule bad: window: .*HH:MM"),
    ({"window": ("02:00", "02:00")}, JobsError, "schedule bad: window .*equal"),
    (
        {"cron": "0 3 * * *", "window": ("04:00", "05:00"), "outside": "skip"},
        JobsError,
        r"schedule bad: no tick ever falls into its window; widen the window, or let it defer",
    ),
    (
        {"at": ONE, "window": ("04:00", "05:00"), "outside": "skip", "timezone": "UTC"},
        JobsError,
        "schedule bad: no tick ever falls into its window",
    ),
    ({"outside": "wait"}, InvalidOption, "schedule bad: outside: 'wait' is none of defer, skip"),
    ({"overlap": "maybe"}, InvalidOption, "overlap: 'maybe' is none of skip, queue_one, allow, cancel_previous"),
    ({"catch_up": 3}, InvalidOption, "catch_up: 3 is none of latest, all, none"),
    ({"catch_up_cap": 0}, InvalidOption, "catch_up_cap: 0 is not a whole number from 1 to 10,000"),
    ({"catch_up_cap": 10_001}, InvalidOption, "catch_up_cap"),
    ({"catch_up_cap": True}, InvalidOption, "catch_up_cap"),
    ({"jitter": -1}, InvalidOption, "jitter"),
    ({"jitter": "much"}, InvalidOption, "jitter: expected seconds"),
    ({"priority": 101}, InvalidOption, "priority: 101 is not a whole number from -100 to 100"),
    ({"priority": 1.5}, InvalidOption, "priority"),
    ({"queue": " mail"}, InvalidOption, "queue"),
    ({"target": 5}, InvalidOption, "target: expected a text, got int"),
    ({"timeout": -5}, InvalidOption, "timeout"),
    ({"enabled": "yes"}, InvalidOption, "enabled: 'yes' is neither True nor False"),
    ({"color": "red"}, InvalidOption, r"schedule bad: unknown setting 'color'; the settings are .*catch_up"),
    ({"job": "send", "input": None, "payload": {"to": "x"}}, InvalidOption, "setting 'payload'; did you mean input="),
    ({"retry": "3"}, InvalidOption, "retry: expected a Retry, a number of attempts or a dict, got str"),
    ({"retry": {"max_retries": -1}}, InvalidOption, "retry: max_retries -1 is less than 0"),
    ({"retry": {"max_retries": "two"}}, InvalidOption, "retry: .*its words are max_retries, backoff_ms and"),
    ({"retry": {"attempts": 2}}, InvalidOption, "retry: .*its words are"),
    ({"retry": {"backoff_ms": -5}}, InvalidOption, "retry: backoff_ms"),
    ({"retry": {"backoff_type": "random"}}, InvalidOption, "'random' is neither fixed nor exponential"),
    ({"input": {"to": "x"}}, InvalidInput, "tidy.*to"),
    ({"job": "send", "input": {}}, InvalidInput, "send.*to"),
    ({"job": "send", "input": {"to": 5}}, InvalidInput, "send.*to"),
    ({"job": "send", "input": {"to": "x", "bcc": "y"}}, InvalidInput, "send.*bcc"),
    ({"job": "send", "input": ["x"]}, InvalidInput, "send.*dict"),
    ({"job": "send", "input": {"to": "x" * 300_000}}, InvalidInput, "send"),
]


def wanted(asked: dict[str, Any]) -> dict[str, Any]:
    when = {} if asked == {} or {"cron", "every", "at"} & set(asked) else {"cron": "* * * * *"}
    return {"job": "tidy"} | when | asked


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)  # all of it is said before a store is asked
@pytest.mark.parametrize(("asked", "kind", "words"), BAD, ids=[str(asked)[:60] for asked, _, _ in BAD])
def test_what_cannot_be_used_is_refused(
    bell: Workbell, asked: dict[str, Any], kind: type[WorkbellError], words: str
) -> None:
    """E5: when it is written, with the name, the reason and the remedy; and nothing is written."""
    settings = wanted(asked)
    with pytest.raises(kind, match=f"(?s){words}") as caught:
        bell.schedules.put("bad", **settings)
    assert "Traceback" not in str(caught.value)
    assert bell.schedules.list() == []
    bell.schedules.put("bad", job="tidy", **HOURLY)
    with pytest.raises(kind):
        bell.schedules.put("bad", **settings)
    assert bell.schedules.get("bad").version == 0


def test_what_is_refused_is_in_no_store(bell: Workbell) -> None:
    for asked, kind, _ in BAD:
        with pytest.raises(kind):
            bell.schedules.put("bad", **wanted(asked))
    assert bell.schedules.list() == []
    kept = bell.schedules.put("bad", job="tidy", **HOURLY)
    for asked, kind, _ in BAD:
        with pytest.raises(kind):
            bell.schedules.put("bad", **wanted(asked))
    assert bell.schedules.list() == [kept]


@pytest.mark.parametrize("name", ["", " x", "x" * 201, "a\x00b", "a\nb", "\ud800", 5, None], ids=repr)
def test_names_that_cannot_be_used(bell: Workbell, name: Any) -> None:
    with pytest.raises(JobsError, match="schedule"):
        bell.schedules.put(name, job="tidy", **HOURLY)
    with pytest.raises(ScheduleNotFound):
        bell.schedules.get(name)
    assert bell.schedules.list() == []


# E3: max_retries retries make max_retries + 1 attempts, and jitter none.
RETRIES: list[tuple[Any, Retry]] = [
    (
        {"max_retries": 2, "backoff_ms": 1500, "backoff_type": "fixed"},
        Retry(3, delay=1.5, factor=1, cap=86400, jitter=0),
    ),
    ({"max_retries": 4, "backoff_type": "exponential"}, Retry(5, delay=2, factor=2, cap=86400, jitter=0)),
    ({"max_retries": 0}, Retry(1, delay=2, factor=1, cap=86400, jitter=0)),
    (Retry(attempts=7), Retry(attempts=7)),
]


@pytest.mark.parametrize(("words", "retry"), RETRIES, ids=str)
def test_retry_words(bell: Workbell, words: Any, retry: Retry) -> None:
    """E3: applied to every run that the schedule makes."""
    made = bell.schedules.put("hourly", job="tidy", retry=words, **HOURLY)
    assert made.options.retry == retry
    look(bell, ONE)
    (run,) = runs_of(bell, "hourly")
    assert run.options.retry == retry


class TestLook:
    def test_get_of_none(self, bell: Workbell) -> None:
        for verb in ("get", "pause", "resume", "run", "delete", "preview", "preview_local", "ticks"):
            with pytest.raises(ScheduleNotFound, match=r"no schedule 'none'; bell\.schedules\.list\(\)"):
                getattr(bell.schedules, verb)("none")

    def test_list_in_pages(self, bell: Workbell) -> None:
        for name in "cab":
            bell.schedules.put(name, job="tidy", **HOURLY)
        assert [one.name for one in bell.schedules.list()] == ["a", "b", "c"]
        assert [one.name for one in bell.schedules.list(after="a", limit=1)] == ["b"]
        for limit in (0, 1001):
            with pytest.raises(InvalidOption, match="limit"):
                bell.schedules.list(limit=limit)

    def test_preview(self, bell: Workbell) -> None:
        """F3: runs as they will be due, in UTC; also of a paused schedule."""
        bell.schedules.put("a", job="tidy", window=("02:30", "04:30"), **HOURLY)
        expected = [ONE.replace(hour=2, minute=30), ONE.replace(hour=3), ONE.replace(hour=4)]
        assert list(bell.schedules.preview("a", 3)) == expected
        bell.schedules.pause("a")
        assert list(bell.schedules.preview("a", 1, after=ONE.replace(hour=3))) == [ONE.replace(hour=4)]
        bell.schedules.put("once", job="tidy", at=ONE)
        assert list(bell.schedules.preview("once", 9)) == [ONE]
        with pytest.raises(InvalidOption, match="after"):
            bell.schedules.preview("a", after=datetime(2030, 1, 1))  # noqa: DTZ001
        for number in (0, 1001):
            with pytest.raises(InvalidOption, match="n: "):
                bell.schedules.preview("a", number)

    def test_a_preview_of_a_narrow_window_walks_from_window_to_window(self, bell: Workbell) -> None:
        bell.schedules.put("a", job="tidy", cron="* * * * * *", window=("02:00", "02:01"), timezone="UTC")
        found = bell.schedules.preview("a", 1000)
        assert (len(found), found[60].day - found[0].day) == (1000, 1)

    def test_ticks(self, bell: Workbell) -> None:
        bell.schedules.put("a", job="tidy", overlap="allow", **HOURLY)
        for hour in range(3):
            look(bell, ONE + hour * HOUR)
        assert [tick.due.hour for tick in bell.schedules.ticks("a")] == [3, 2, 1]
        assert [tick.due.hour for tick in bell.schedules.ticks("a", before=ONE + 2 * HOUR, limit=1)] == [2]
        with pytest.raises(InvalidOption, match="before"):
            bell.schedules.ticks("a", before=datetime(2030, 1, 1))  # noqa: DTZ001
        with pytest.raises(InvalidOption, match="limit"):
            bell.schedules.ticks("a", limit=0)

    @pytest.mark.parametrize(
        ("outside", "outcome", "first"), [("skip", "skipped", ONE), ("defer", "coalesced", ONE + HOUR)]
    )
    def test_a_stretch_outside_the_window_is_one_row(
        self, bell: Workbell, clock: ManualClock, outside: str, outcome: str, first: datetime
    ) -> None:
        """It is in the ledger while the window is closed; the scheduler writes the row when it next wakes up."""
        bell.schedules.put("a", job="tidy", window=("06:00", "08:00"), outside=outside, **HOURLY)
        assert bell.schedules.ticks("a") == []
        look(bell, ONE)
        before = fates(bell, "a")
        clock.advance((ONE + 2.5 * HOUR - clock.now()).total_seconds())
        newest, *stored = bell.schedules.ticks("a")
        assert (newest.outcome, newest.due, newest.until) == (outcome, first, ONE + 2 * HOUR)
        assert newest.count == 3 - len(before)
        assert newest.reason
        assert (len(stored), fates(bell, "a")) == (len(before), before), "asking writes nothing"
        assert bell.schedules.ticks("a", limit=1) == [newest]
        assert bell.schedules.ticks("a", before=first) == stored

        look(bell, ONE + 6 * HOUR)  # at seven, when the window is open
        clock.advance(hours=4)
        told = [(tick.outcome.value, tick.due) for tick in bell.schedules.ticks("a")]
        assert told == [(tick.outcome.value, tick.due) for tick in reversed(ledger(bell, "a"))]
        assert told.count((outcome, first)) == 1

    def test_a_stretch_outside_the_window_ends_with_a_pause(self, bell: Workbell, clock: ManualClock) -> None:
        bell.schedules.put("a", job="tidy", window=("06:00", "08:00"), outside="skip", **HOURLY)
        clock.advance(hours=2)
        bell.schedules.pause("a")
        stored = bell.schedules.ticks("a")
        clock.advance(hours=2)
        assert bell.schedules.ticks("a") == stored

    def test_runs_by_the_name_of_their_schedule(self, bell: Workbell) -> None:
        known = bell.schedules.put("a", job="tidy", **HOURLY)
        bell.enqueue("tidy")
        look(bell, ONE)
        assert len(bell.runs()) == 2
        assert bell.runs(schedule="a") == bell.runs(schedule=known.id)
        assert [run.schedule for run in bell.runs(schedule="a")] == [known.id]
        with pytest.raises(ScheduleNotFound):
            bell.runs(schedule="b")


class TestSteer:
    def test_pause_and_resume(self, bell: Workbell, clock: ManualClock) -> None:
        """F3: a pause is meant: what passed meanwhile is not made up for."""
        bell.schedules.put("a", job="tidy", catch_up="all", **HOURLY)
        look(bell, ONE)
        end_all(bell.store, ONE)
        paused = bell.schedules.pause("a")
        assert (paused.paused, paused.reason, paused.next_run_at, paused.active) == (True, "paused", None, False)
        assert bell.schedules.pause("a") == paused
        clock.advance(hours=5)
        look(bell, clock.now())
        assert fates(bell, "a") == [("fired", 1)]
        now = bell.schedules.resume("a")
        assert (now.paused, now.reason, now.next_run_at) == (False, None, ONE + 5 * HOUR)
        assert bell.schedules.resume("a") == now
        assert [(row.outcome, row.count, row.reason) for row in ledger(bell, "a")][1:] == [("skipped", 4, "paused")]
        look(bell, ONE + 5 * HOUR)
        assert fates(bell, "a")[-1] == ("fired", 1)

    def test_what_is_queued_goes_on(self, bell: Workbell) -> None:
        bell.schedules.put("a", job="tidy", **HOURLY)
        look(bell, ONE)
        bell.schedules.pause("a")
        assert end_all(bell.store, ONE) == 1

    def test_delete(self, bell: Workbell) -> None:
        first = bell.schedules.put("a", job="tidy", **HOURLY)
        look(bell, ONE)
        bell.schedules.delete("a")
        assert bell.schedules.list() == []
        assert [run.schedule for run in bell.runs()] == [first.id]
        look(bell, ONE + HOUR)
        assert len(bell.runs()) == 1
        again = bell.schedules.put("a", job="tidy", **HOURLY)
        assert (again.id != first.id, bell.schedules.ticks("a")) == (True, [])

    def test_steering_while_a_scheduler_is_faster(
        self, bell: Workbell, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The version is another one when it writes: it reads again, and nothing of the tick is lost."""
        bell.schedules.put("a", job="tidy", **HOURLY)
        find, calls = store.schedules.find, list[int]()

        def overtaken(tenant: str, names: Any) -> Any:
            found = find(tenant, names)
            calls.append(1)
            if len(calls) == 2:  # the reading that the decision is made on
                look(bell, ONE)
            return found

        monkeypatch.setattr(store.schedules, "find", overtaken)
        paused = bell.schedules.pause("a")
        assert (paused.paused, paused.run_count, fates(bell, "a")) == (True, 1, [("fired", 1)])


class TestTenants:
    def test_apart(self, bell: Workbell) -> None:
        """E1, DESIGN 12."""
        other = bell.for_tenant("acme")
        mine, theirs = (one.schedules.put("a", job="tidy", **HOURLY) for one in (bell, other))
        assert (mine.id != theirs.id, theirs.tenant) == (True, "acme")
        other.schedules.pause("a")
        assert not bell.schedules.get("a").paused
        other.schedules.delete("a")
        assert bell.schedules.list() == [mine]
        assert other.schedules.list() == []
        for verb in ("get", "pause", "delete", "ticks"):
            with pytest.raises(ScheduleNotFound):
                getattr(other.schedules, verb)("a")
        assert isinstance(other, LocalClient)


class TestDecorator:
    def test_an_argument_that_no_tick_brings_is_refused_with_the_remedy(self, bell: Workbell) -> None:
        def report(day: str) -> None: ...

        words = r"job report: the argument 'day' is missing; .*; input={…} of the schedule does\."
        with pytest.raises(InvalidInput, match=words):
            bell.job(cron="0 3 * * *")(report)

    def test_bad_settings_are_refused_where_they_are_declared(self, bell: Workbell) -> None:
        for ticks, kind in (
            ({"cron": "x"}, JobsError),
            ({"every": 5, "at": ONE}, JobsError),
            ({"jitter": 1}, InvalidOption),
        ):
            with pytest.raises(kind, match=r"^job broken: "):
                bell.job(name="broken", **ticks)(lambda: None)
        assert "broken" not in bell.registry
        with pytest.raises(InvalidInput, match="number"):

            @bell.job(every=60)
            def counted(ctx: Context, number: int) -> None: ...

    def test_nothing_is_written_before_the_engine_starts(self, bell: Workbell) -> None:
        @bell.job(every=60, input={"number": 3})
        def counted(number: int) -> None: ...

        assert bell.schedules.list() == []
        bell.engine.start()
        (made,) = bell.schedules.list()
        assert (made.name, made.job, made.input) == ("counted", "counted", {"number": 3})
        assert made.source.startswith("code:")
