"""What a page shows at a glance: what ended over time, the last runs, the next ticks, the doctor, saved files (E6)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.http.conftest import Api, fits
from tests.support.inside.features import Finding, checks, preview, tally_chart
from tests.support.inside.features import verb_threads as threads
from tests.support.inside.http import doctor_checks as examining
from tests.support.inside.values import (
    RecentRuns,
    Settings,
    Tally,
    TallyChart,
    TriedTiming,
    UpcomingTick,
    UpcomingTicks,
)
from tests.support.inside.wire import Findings, Items, ReloadShown
from tests.support.project_folder import ProjectFolder
from tests.support.scheduling import set_clock
from workbell import StoreUnavailable
from workbell.testing import ManualClock, drain

pytestmark = pytest.mark.anyio

NOW = datetime(2030, 1, 1, 12, 34, 56, tzinfo=UTC)
NOTHING = {"succeeded": 0, "failed": 0, "canceled": 0, "retried": 0}


def tally(ago: float, count: int = 1, **place: str) -> Tally:
    minute = (NOW - timedelta(minutes=ago)).replace(second=0)
    common = {"tenant": "a", "queue": "default", "job": "send", "status": "succeeded"}
    return Tally(minute=minute, count=count, **(common | place))


@pytest.fixture
def clock(api: Api) -> ManualClock:
    clock = ManualClock(NOW)
    set_clock(api.bell.store, clock)
    return clock


# What ended over time


async def test_every_step_is_there(api: Api, clock: ManualClock) -> None:
    del clock
    api.bell.store.tallies.add([tally(0, 3), tally(1, 2, status="failed"), tally(5, job="rest", queue="slow")])
    api.bell.store.tallies.add([tally(1, 9, tenant="b"), tally(70, 9), tally(60, 7, status="retried")])
    told = await api.reader.ask("GET", "/tallies")
    fits(TallyChart, told)
    assert (told["since"], told["until"], told["step"]) == ("2030-01-01T11:34:00Z", "2030-01-01T12:34:56Z", 60)
    times = [datetime.fromisoformat(item.pop("at")) for item in told["items"]]
    assert times == [datetime(2030, 1, 1, 11, 34, tzinfo=UTC) + timedelta(minutes=place) for place in range(61)]
    assert told["items"][-1] == NOTHING | {"succeeded": 3}
    assert told["items"][-2] == NOTHING | {"failed": 2}
    assert told["items"][-6] == NOTHING | {"succeeded": 1}
    assert told["items"][0] == NOTHING | {"retried": 7}
    assert sum(item == NOTHING for item in told["items"]) == 57
    assert told["jobs"] == [
        {"job": "send", "succeeded": 3, "failed": 2, "canceled": 0, "retried": 7},
        {"job": "rest", "succeeded": 1, "failed": 0, "canceled": 0, "retried": 0},
    ]
    assert [one["job"] for one in (await api.reader.ask("GET", "/tallies?job=rest"))["jobs"]] == ["rest"]
    assert [one["job"] for one in (await api.reader.ask("GET", "/tallies?queue=slow"))["jobs"]] == ["rest"]
    assert (await api.stranger.ask("GET", "/tallies"))["jobs"] == [{"job": "send"} | NOTHING | {"succeeded": 9}]


async def test_what_is_over_is_read_once(api: Api, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what was written late is there after a while."""
    store, asked = api.bell.store, []
    summed = store.tallies.sum

    def counted(tenant: str, **options: Any) -> Any:
        asked.append(clock.now() - options["since"])
        return summed(tenant, **options)

    monkeypatch.setattr(store.tallies, "sum", counted)

    async def numbers() -> list[int]:
        return [item["succeeded"] for item in (await api.reader.ask("GET", "/tallies?minutes=1440"))["items"]]

    store.tallies.add([tally(100, 5), tally(2, 1)])
    before = await numbers()
    assert (sum(before), len(before)) == (6, 97)
    store.tallies.add([tally(100, 7), tally(0, 2)])
    assert sum(await numbers()) == 8, "the late ones are not looked for, the new ones are"
    clock.advance(minutes=45)
    later = await numbers()
    assert (sum(later), len(later), later[:-4]) == (8, 97, before[3:-1])
    assert asked[0] >= timedelta(days=1)
    assert max(asked[1:]) <= timedelta(hours=1, minutes=5)
    monkeypatch.setattr(tally_chart, "FRESH", -1.0)
    assert sum(await numbers()) == 15


async def test_the_cache_is_bounded(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may read may ask for any job, queue and time."""
    cached = api.bell.runtime.tally_charts._cached
    monkeypatch.setattr(tally_chart, "MOST_CACHED", 3)
    for number in range(5):
        await api.reader.ask("GET", f"/tallies?job=job{number}")
        assert len(cached) <= 3
    now = api.bell.store.clock.now()
    many = [tally(0, job=f"job{number}") for number in range(20)]
    api.bell.store.tallies.add([replace(one, minute=now - timedelta(minutes=9)) for one in many])
    assert len((await api.reader.ask("GET", "/tallies"))["jobs"]) == 20
    assert sum(one.size for one in cached.values()) == 20
    monkeypatch.setattr(tally_chart, "MOST_COUNTS", 19)
    assert len((await api.reader.ask("GET", "/tallies"))["jobs"]) == 20
    assert not cached


# The last runs


async def test_the_last_runs_of_each_job(api: Api) -> None:
    sent = [api.a.enqueue("send", {"to": str(number)}) for number in range(3)]
    api.bell.enqueue("send", {"to": "theirs"})
    drain(api.bell)
    canceled = api.a.enqueue("send", {"to": "x"})
    api.a.cancel(canceled.id)
    told = await api.reader.ask("GET", "/recent?limit=3")
    fits(Items[RecentRuns], told)
    found = {one["job"]: one for one in told["items"]}
    assert list(found) == ["count", "rest", "send"]
    assert [run["id"] for run in found["send"]["runs"]] == [canceled.id, sent[2].id, sent[1].id]
    newest, run = found["send"]["runs"][:2]
    assert (newest["status"], newest["started_at"], newest["duration"], newest["attempts"]) == (
        "canceled",
        None,
        None,
        0,
    )
    assert (run["status"], run["attempts"]) == ("succeeded", 1)
    taken = datetime.fromisoformat(run["finished_at"]) - datetime.fromisoformat(run["started_at"])
    assert run["duration"] == taken.total_seconds()
    assert found["send"]["count"] == 3, "the canceled one never ran, and the fourth is another tenant's"
    assert 0 <= found["send"]["p50"] <= found["send"]["p95"] <= found["send"]["longest"]
    assert found["rest"] == {"job": "rest", "runs": [], "count": 0, "failed": 0, "since": None} | dict.fromkeys(
        ("p50", "p95", "longest")
    )
    [only] = (await api.reader.ask("GET", "/recent?job=send"))["items"]
    assert (only["job"], len(only["runs"])) == ("send", 4)


# The next ticks


async def test_the_next_ticks_of_all_schedules(api: Api, clock: ManualClock) -> None:
    del clock
    put = api.a.schedules.put
    put("nightly", job="send", cron="0 3 * * *", timezone="Europe/Paris", input={"to": "x"})
    put("soon", job="rest", every=600)
    put("windowed", job="rest", cron="0 13 * * *", timezone="UTC", window=("15:00", "16:00"))
    put("paused", job="rest", every=60)
    api.a.schedules.pause("paused")
    put("off", job="rest", every=60, enabled=False)
    told = await api.reader.ask("GET", "/upcoming")
    fits(Items[UpcomingTick], told)
    assert [(one["schedule"], one["job"], one["due"]) for one in told["items"]] == [
        ("soon", "rest", "2030-01-01T12:44:56Z"),
        ("windowed", "rest", "2030-01-01T15:00:00Z"),
        ("nightly", "send", "2030-01-02T02:00:00Z"),
    ]
    last = told["items"][2]
    assert (last["timezone"], last["in_words"]) == ("Europe/Paris", "at 03:00, every day, Europe/Paris")
    assert [one["schedule"] for one in (await api.reader.ask("GET", "/upcoming?limit=1"))["items"]] == ["soon"]
    assert (await api.stranger.ask("GET", "/upcoming"))["items"] == []


async def test_previews_tell_of_clock_changes(api: Api, clock: ManualClock) -> None:
    clock.advance(days=88)  # to 30 March 2030; on the 31st clocks go forward
    forward = "clocks go forward before this tick: 02:30 does not exist on this day, it runs at 03:00"
    api.a.schedules.put("early", job="rest", cron="30 2 * * *", timezone="Europe/Berlin")
    told = await api.reader.ask("GET", "/schedules/early/preview?n=2")
    msgspec.convert(told, UpcomingTicks)
    assert (told["items"], told["notes"]) == (["2030-03-31T01:00:00Z", "2030-04-01T00:30:00Z"], [forward, None])
    tried = await api.reader.ask(
        "POST", "/cron/preview", 200, {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "n": 2}
    )
    msgspec.convert(tried, TriedTiming)
    assert tried == told | {"in_words": "at 02:30, every day, Europe/Berlin"}


async def test_any_timing_can_be_tried(api: Api, clock: ManualClock) -> None:
    del clock

    async def tried(**asked: Any) -> Any:
        return await api.reader.ask("POST", "/cron/preview", 200, {"n": 2} | asked)

    assert (await tried(every=90))["items"] == ["2030-01-01T12:36:26Z", "2030-01-01T12:37:56Z"]
    anchored = await tried(every=3600, anchor="2030-01-01T00:15:00Z")
    assert anchored["items"] == ["2030-01-01T13:15:00Z", "2030-01-01T14:15:00Z"]
    once = await tried(at="2030-02-01T09:00:00+01:00", timezone="Europe/Paris")
    assert (once["items"], once["local"]) == (["2030-02-01T08:00:00Z"], ["2030-02-01T09:00:00+01:00"])
    assert once["notes"] == [None]
    window = ["02:00", "02:30"]
    deferred = await tried(cron="*/20 * * * *", window=window)
    assert deferred["items"] == ["2030-01-02T02:00:00Z", "2030-01-02T02:20:00Z"]
    assert deferred["in_words"] == "every 20 minutes, UTC; runs start 02:00–02:30"
    skipped = await tried(cron="10 * * * *", window=window, outside="skip")
    assert skipped["items"] == ["2030-01-02T02:10:00Z", "2030-01-03T02:10:00Z"]
    for wrong, why in (
        ({}, "nothing says when"),
        ({"cron": "* * * * *", "every": 60}, "cron and every both say when"),
        ({"cron": "* * * * *", "anchor": "2030-01-01T00:00:00Z"}, "anchor: only an interval"),
        ({"every": 0.5}, "from 1 second"),
        ({"cron": "61 * * * *"}, "61"),
        ({"cron": "0 5 * * *", "window": window, "outside": "skip"}, "no tick ever falls into its window"),
        ({"cron": "0 5 * * *", "timezone": "Mars"}, "Mars"),
    ):
        problem = await api.reader.ask("POST", "/cron/preview", 422, wrong)
        assert why in problem["detail"], problem


async def test_a_window_that_lets_hardly_a_tick_through(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each of its ticks years are looked through: what was found in time is shown."""
    monkeypatch.setattr(preview, "LONG_ENOUGH", 0.0)
    rare = {"every": 86_430, "anchor": "2030-01-01T02:00:00Z", "window": ["02:00", "02:01"], "outside": "skip"}
    assert (await api.reader.ask("POST", "/cron/preview", 200, rare | {"n": 100}))["items"] == []


async def test_the_search_for_rare_ticks_of_a_schedule_ends(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of 29 February are looked for over thousands of years: what was found in time is shown."""
    api.a.schedules.put("leap", job="rest", cron="0 0 29 2 *")
    some = (await api.reader.ask("GET", "/schedules/leap/preview?n=3"))["items"]
    assert len(some) == 3
    monkeypatch.setattr(preview, "LONG_ENOUGH", 0.0)
    told = await api.reader.ask("GET", "/schedules/leap/preview?n=1000")
    assert (told["items"], told["local"], told["notes"]) == ([], [], [])
    assert len(api.a.schedules.preview("leap", 3)) == 3, "in Python all that were asked for are found"


# The doctor


async def test_the_doctor_is_for_who_may_see_all(api: Api) -> None:
    endpoint = api.a.webhooks.add("https://hooks.example.com/x?key=hush", patterns=["a"]).endpoint
    api.a.webhooks.disable(endpoint.id, "moving house")
    api.a.enqueue("rest")
    refused = await api.admin.ask("GET", "/doctor", 403)
    assert "token of all tenants" in refused["detail"]
    told = await api.root.ask("GET", "/doctor")
    msgspec.convert(told, Findings)
    found = {one["name"]: one for one in told["items"]}
    assert found["schedules"] == {"name": "schedules", "state": "ok", "says": "none is waiting", "remedy": None}
    assert found["unserved"]["state"] == "problem"
    assert found["unserved"]["remedy"] == "start one: `workbell start`."
    assert found["unserved"]["says"].endswith("nobody takes them. No worker is running")
    assert found["live runs"]["says"] == "0 scheduled, 1 queued, 0 running"
    assert "hush" not in str(told)
    assert "hooks.example.com" in str(told)


async def test_what_the_doctor_cannot_look_at_holds_up_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that hangs goes on alone: it is not begun again, and what it found is told when it is there."""
    go, begun = threading.Event(), []

    def hangs(_store: Any, _numbers: Any) -> Iterator[Finding]:
        begun.append(1)
        go.wait(30)
        yield Finding("ok", "slow", "at last")

    def breaks(_store: Any, _numbers: Any) -> Iterator[Finding]:
        raise StoreUnavailable("PostgreSQL at box/db cannot be reached.")

    monkeypatch.setattr(examining, "CHECKS", {"slow": hangs, "broken": breaks, "clock": checks.check_clock})
    monkeypatch.setattr(examining, "DEADLINE", 0.05)
    late = "not checked within"
    try:
        told = [{"says": late}] * 3
        while any(late in one["says"] for one in told[1:]):  # on a busy machine also the quick ones may be late
            answer = await api.root.ask("GET", "/doctor")
            told = answer["items"]
            assert (late in told[0]["says"], answer["complete"]) == (True, False)
        states = [(one["name"], one["state"]) for one in told]
        assert states == [("slow", "warning"), ("broken", "problem"), ("clock", "ok")]
        assert told[1]["says"] == "PostgreSQL at box/db cannot be reached."
        assert len(begun) == 1
    finally:
        go.set()
    monkeypatch.setattr(examining, "DEADLINE", 30.0)
    answer = await api.root.ask("GET", "/doctor")
    assert (answer["items"][0]["says"], answer["complete"]) == ("at last", True)


async def test_the_doctor_leaves_threads_to_others(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def hangs(_store: Any, _numbers: Any) -> Iterator[Finding]:
        go.wait(30)
        yield Finding("ok", "slow", "at last")

    monkeypatch.setattr(examining, "CHECKS", {str(number): hangs for number in range(2 * threads.MOST)})
    monkeypatch.setattr(examining, "DEADLINE", 0.01)
    try:
        await api.root.ask("GET", "/doctor")
        async with asyncio.timeout(20):
            await api.root.ask("GET", "/runs")
    finally:
        go.set()


# Reloaded files


async def test_what_became_of_saved_files(api: Api, tmp_path: Path) -> None:
    engine = api.bell.engine
    engine.folder = tmp_path / "project"
    engine._settings = Settings(jobs="jobs", project="demo")
    project = ProjectFolder(engine.folder)
    project.job("first.py")
    project.write("jobs/broken.py", "schedule = '@daily'\ndef run(:\n")
    own = api.caller("read", tenant=api.bell.tenant)
    try:
        await asyncio.to_thread(engine.reload)
        [broken] = (await own.ask("GET", "/reloads"))["items"]
        for caller, seen in ((own, [broken["message"]]), (api.root, [broken["message"]]), (api.reader, [])):
            assert [one["message"] for one in (await caller.ask("GET", "/jobs"))["problems"]] == seen
        assert (broken["path"], broken["outcome"], broken["line"], broken["jobs"]) == (
            "jobs/broken.py",
            "failed",
            2,
            [],
        )
        assert "cannot be read as Python" in broken["message"]
        project.job("second.py")
        project.job("first.py", "return 2")
        project.remove("jobs/broken.py")
        await asyncio.to_thread(engine.reload)
        told = await own.ask("GET", "/reloads")
        msgspec.convert(told, Items[ReloadShown])
        assert [(one["path"], one["outcome"], one["jobs"]) for one in told["items"]] == [
            ("jobs/broken.py", "removed", []),
            ("jobs/first.py", "changed", ["first"]),
            ("jobs/second.py", "loaded", ["second"]),
            ("jobs/broken.py", "failed", []),
        ]
        assert [one["id"] for one in told["items"]] == ["4", "3", "2", "1"]
        assert [one["id"] for one in (await own.ask("GET", "/reloads?limit=1"))["items"]] == ["4"]
        assert (await api.reader.ask("GET", "/reloads"))["items"] == [], "they are not this tenant's"
    finally:
        engine.close()
