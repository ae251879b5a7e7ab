"""`bell.schedules.update`: what is named changes, all else stays as it was said, also what is hidden (E1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.support.inside.features import SCHEDULE_SETTINGS as NAMES
from tests.support.inside.features import Declaration, ScheduleChanges
from tests.support.inside.stores import Store
from tests.support.inside.values import ScheduleKind, ScheduleOptions
from tests.support.scheduling import DECLARED, fates, look, set_clock
from workbell import (
    EndpointRefused,
    InvalidInput,
    InvalidOption,
    JobsError,
    Retry,
    Schedule,
    ScheduleNotFound,
    UnknownJob,
    Workbell,
    WorkbellError,
)
from workbell.testing import ManualClock

ONE = DECLARED.replace(hour=1, minute=0, second=0)
LATER = datetime(2100, 1, 1, 3, tzinfo=UTC)
URL = "https://hooks.example.com/services/key"
ALL: dict[str, Any] = {
    "cron": "0 3 * * *",
    "timezone": "Europe/Paris",
    "input": {"to": "a@b.c"},
    "window": ("02:00", "06:00"),
    "outside": "skip",
    "overlap": "queue_one",
    "catch_up": "all",
    "catch_up_cap": 9,
    "jitter": 60.0,
    "queue": "slow",
    "priority": 7,
    "retry": Retry(attempts=2, delay=3, give_up_on=["x.Y"]),
    "timeout": 60.0,
    "target": "machine",
    "tag": "mail",
    "replace_tag": True,
    "user_id": "ada",
    "persistent": False,
    "auto_reschedule": 600.0,
    "remove_delay": 90.0,
    "expires": 3600.0,
    "description": "the mail",
    "created_by": "ann",
    "enabled": True,
    "alert_url": URL,
    "ping_url": "https://pings.example.com/key",
}
# Another value of each setting; and none of what says when, of which there must be one.
OTHER: dict[str, Any] = {
    "cron": "30 3 * * *",
    "every": 3600,
    "at": LATER,
    "timezone": "Asia/Tokyo",
    "input": {"to": "x", "copies": 2},
    "window": ("01:00", "06:00"),
    "outside": "defer",
    "overlap": "allow",
    "catch_up": "none",
    "catch_up_cap": 3,
    "jitter": timedelta(seconds=5),
    "queue": "quick",
    "priority": 0,
    "retry": {"max_retries": 4},
    "timeout": timedelta(seconds=5),
    "target": "other",
    "tag": "post",
    "replace_tag": False,
    "user_id": 7,
    "persistent": True,
    "auto_reschedule": 5,
    "remove_delay": 5,
    "expires": 5,
    "description": "",
    "created_by": "bob",
    "enabled": False,
    "alert_url": "https://other.example.com/key",
    "ping_url": "https://other.example.com/key",
}


@pytest.fixture(autouse=True)
def clock(store: Store) -> ManualClock:
    set_clock(store, ManualClock(DECLARED))
    return store.clock  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def jobs(bell: Workbell, send: Any) -> None:
    @bell.job
    def tidy() -> None: ...


@pytest.fixture
def full(bell: Workbell) -> Schedule:
    return bell.schedules.put("nightly", job="send", **ALL)


def definition(schedule: Schedule) -> dict[str, Any]:
    """All that somebody can say of it."""
    plain = {name: getattr(schedule, name) for name in "job kind expression timezone source enabled".split()}
    return plain | msgspec.structs.asdict(schedule.options)


def test_every_setting_is_tried_here() -> None:
    assert set(ALL) | {"every", "anchor", "at"} == NAMES
    assert set(OTHER) | {"anchor"} == NAMES
    assert set(ScheduleChanges.__annotations__) == NAMES
    assert {*ScheduleOptions.__struct_fields__} <= NAMES


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("word", sorted(OTHER))
def test_one_setting_changes_and_the_others_stay(bell: Workbell, full: Schedule, word: str) -> None:
    changed = bell.schedules.update("nightly", **{word: OTHER[word]})  # type: ignore[misc]
    assert changed == bell.schedules.get("nightly")
    when = {"cron", "every", "at"}
    given = {known: value for known, value in ALL.items() if word not in when or known not in when}
    told = bell.schedules.put("whole", job="send", **given | {word: OTHER[word]})
    assert definition(changed) == definition(told)
    assert definition(changed) != definition(full)
    assert (changed.id, changed.created_at, changed.version) == (full.id, full.created_at, 1)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("word", sorted(set(ALL) - {"cron", "input", "created_by", "timezone"}))
def test_none_is_the_default(bell: Workbell, full: Schedule, word: str) -> None:
    with_tag = {} if word != "tag" else {"replace_tag": None}  # else there would be none to replace
    changed = bell.schedules.update("nightly", **{word: None}, **with_tag)  # type: ignore[misc]
    left = {known: value for known, value in ALL.items() if known not in {word, *with_tag}}
    assert definition(changed) == definition(bell.schedules.put("whole", job="send", **left))


def test_on_every_store(bell: Workbell, full: Schedule) -> None:
    changed = bell.schedules.update("nightly", window=("01:00", "05:00"), overlap=None)
    assert changed == bell.schedules.get("nightly")
    assert (changed.options.window, changed.options.overlap) == (("01:00", "05:00"), "skip")
    assert changed.options.alert_url == URL
    assert bell.schedules.update("nightly") == changed  # nothing was named, and nothing changes
    assert bell.schedules.update("nightly", priority=7) == changed


@pytest.mark.anyio
async def test_the_async_twin(bell: Workbell, full: Schedule) -> None:
    assert (await bell.schedules.aupdate("nightly", description="other")).options.description == "other"


def test_the_job_and_its_input(bell: Workbell, full: Schedule) -> None:
    with pytest.raises(InvalidInput, match=r"tidy.*to"):  # that is not what it takes
        bell.schedules.update("nightly", job="tidy")
    with pytest.raises(InvalidInput, match=r"send.*to"):
        bell.schedules.update("nightly", input=None)
    assert bell.schedules.get("nightly") == full
    changed = bell.schedules.update("nightly", job="tidy", input=None)
    assert (changed.job, changed.input) == ("tidy", {})


def test_a_job_that_nobody_knows_any_more(bell: Workbell, send: Any) -> None:
    bell.schedules.put("nightly", job="send", input={"to": "x"}, every=60)
    bell.registry.replace([], ["send"])
    changed = bell.schedules.update("nightly", description="it is gone")
    assert (changed.options.description, changed.input) == ("it is gone", {"to": "x"})
    with pytest.raises(UnknownJob):
        bell.schedules.update("nightly", input={"to": "y"})


def test_when_it_ticks(bell: Workbell, clock: ManualClock) -> None:
    """Its next tick stays where it was, unless that is what changes."""
    made = bell.schedules.put("often", job="tidy", every=600)
    clock.advance(minutes=3)
    other = bell.schedules.update("often", description="other")
    assert (other.expression, other.next_run_at) == (made.expression, made.next_run_at)
    anchored = bell.schedules.update("often", anchor=ONE)
    assert (anchored.expression, anchored.next_run_at) == ("10m from 2030-01-07T01:00:00Z", ONE)
    assert bell.schedules.update("often", anchor=None).expression == anchored.expression
    assert bell.schedules.update("often", every=1200).expression == "20m from 2030-01-07T01:00:00Z"
    cron = bell.schedules.update("often", cron="0 * * * *", timezone="UTC")
    assert (cron.kind, cron.expression, cron.next_run_at) == (ScheduleKind.CRON, "0 * * * *", ONE)
    once = bell.schedules.update("often", cron=None, at=LATER)
    assert (once.kind, once.next_run_at) == (ScheduleKind.ONCE, LATER)
    again = bell.schedules.update("often", every=60)
    assert again.expression == f"1m from {clock.now():%Y-%m-%dT%H:%M:%SZ}"


def test_the_zone_goes_back_to_that_of_the_settings(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    bell.schedules.put("nightly", job="tidy", cron="0 3 * * *", timezone="Europe/Paris")
    monkeypatch.setattr("workbell.scheduling.schedules.timezone_name", lambda: "Asia/Kathmandu")
    assert bell.schedules.update("nightly", description="x").timezone == "Europe/Paris"
    assert bell.schedules.update("nightly", timezone=None).timezone == "Asia/Kathmandu"
    monkeypatch.setattr(bell.runtime, "timezone", "Europe/Rome")
    assert bell.schedules.update("nightly", timezone=None).timezone == "Europe/Rome"


def test_what_it_went_through_stays(bell: Workbell, clock: ManualClock) -> None:
    bell.schedules.put("hourly", job="tidy", cron="0 * * * *", timezone="UTC")
    look(bell, ONE)
    paused = bell.schedules.pause("hourly")
    changed = bell.schedules.update("hourly", description="other")
    assert (changed.paused, changed.reason, changed.run_count) == (True, paused.reason, 1)
    assert changed.last_run_id == paused.last_run_id
    assert fates(bell, "hourly") == [("fired", 1)]


def test_urls_that_are_given_as_they_are_shown(bell: Workbell, full: Schedule) -> None:
    changed = bell.schedules.update("nightly", alert_url="https://hooks.example.com/…", ping_url=None)
    assert (changed.options.alert_url, changed.options.ping_url) == (URL, None)
    with pytest.raises(EndpointRefused, match="schedule nightly: alert_url: "):
        bell.schedules.update("nightly", alert_url="http://127.0.0.1/")


BAD: list[tuple[dict[str, Any], type[WorkbellError], str]] = [
    ({"color": "red"}, InvalidOption, "schedule nightly: unknown setting 'color'; the settings are .*catch_up"),
    ({"cron": "61 * * * *"}, JobsError, "schedule nightly: .*61"),
    ({"cron": None}, JobsError, "schedule nightly: nothing says when"),
    ({"cron": "0 * * * *", "every": 5}, JobsError, "schedule nightly: cron and every both say when"),
    ({"anchor": ONE}, JobsError, "schedule nightly: anchor: only an interval"),
    ({"at": datetime(2020, 1, 1, tzinfo=UTC)}, InvalidOption, "schedule nightly: at: .* is past"),
    ({"timezone": "Mars/Olympus"}, JobsError, "schedule nightly: .*Mars/Olympus"),
    ({"timezone": 5}, JobsError, "schedule nightly: timezone: expected a name"),
    ({"window": ("07:00", "08:00")}, JobsError, "schedule nightly: no tick ever falls into its window"),
    ({"tag": None}, InvalidOption, "schedule nightly: replace_tag: there is no tag"),
    ({"enabled": "yes"}, InvalidOption, "enabled: 'yes' is neither True nor False"),
    ({"job": "nobody", "target": None}, UnknownJob, "nobody"),
]


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("asked", "kind", "words"), BAD, ids=[str(asked)[:40] for asked, _, _ in BAD])
def test_what_cannot_be_used_changes_nothing(
    bell: Workbell, full: Schedule, asked: Any, kind: type[WorkbellError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        bell.schedules.update("nightly", **asked)
    assert bell.schedules.get("nightly") == full


def test_one_that_is_not_there(bell: Workbell) -> None:
    for name in ("none", "", "a\x00b", "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"):
        with pytest.raises(ScheduleNotFound, match="There is no schedule"):
            bell.schedules.update(name, description="x")
    assert bell.schedules.list() == []
    bell.for_tenant("other").schedules.put("theirs", job="tidy", every=60)
    with pytest.raises(ScheduleNotFound):
        bell.schedules.update("theirs", description="x")


@pytest.mark.parametrize("source", ["code:shop", "file:shop"])
def test_one_that_code_declares(bell: Workbell, source: str) -> None:
    """It would soon be as before."""
    bell.schedules.put_all([Declaration("nightly", "tidy", {"every": 60})], source=source)
    with pytest.raises(InvalidOption, match=r"schedule nightly: it is declared .*'shop'.*; change it there"):
        bell.schedules.update("nightly", description="x")
    assert bell.schedules.get("nightly").version == 0


def test_one_whose_settings_cannot_be_read(
    bell: Workbell, full: Schedule, monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    """What it said is not known here; to change one word would lose the others."""
    broken = msgspec.structs.replace(full, options=ScheduleOptions(), unreadable='{"window": 5}')
    monkeypatch.setattr(store.schedules, "find", lambda _tenant, _names: {"nightly": broken})
    with pytest.raises(InvalidOption, match=r"schedule nightly: its settings .* cannot be read.*put it as a whole"):
        bell.schedules.update("nightly", description="x")


def test_by_its_id(bell: Workbell, full: Schedule) -> None:
    """What its runs know of it; and it is really steered."""
    assert bell.schedules.update(full.id, description="x").options.description == "x"
    assert bell.schedules.pause(full.id).paused
    assert not bell.schedules.resume(full.id).paused


def test_two_who_change_different_things(
    bell: Workbell, full: Schedule, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's change is lost: whoever is slower decides anew on what is there."""
    write = store.schedules.write

    def slower(changes: Any) -> Any:
        monkeypatch.setattr(store.schedules, "write", write)
        bell.schedules.update("nightly", priority=-5)
        return write(changes)

    monkeypatch.setattr(store.schedules, "write", slower)
    changed = bell.schedules.update("nightly", description="mine")
    assert (changed.options.priority, changed.options.description) == (-5, "mine")
