"""Schedules: the list, one of them with its day and its ledger, and the form that makes and changes them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import msgspec
from playwright.sync_api import expect

from tests.browser.conftest import Site, check_accessible
from tests.support.scheduling import look
from tests.support.waiting import until
from workbell import Retry
from workbell.model.schedule import Overlap
from workbell.scheduling.schedules import Declaration

LATER = timedelta(hours=3)


def spring_night(now: datetime) -> date:
    """The next Sunday on which Berlin has no half past two."""
    for year in (now.year, now.year + 1):
        last = date(year, 3, 31)
        sunday = last - timedelta(days=last.isoweekday() % 7)
        if sunday > now.date() + timedelta(days=1):
            return sunday
    raise AssertionError("there is always a next one")


def test_the_first_schedule_and_the_list(site: Site) -> None:
    """Nothing is there; one is made, with a preview that follows the keys; the list is live and can be filtered."""
    page = site.open("/schedules")
    expect(page.get_by_text('@bell.job(cron="0 3 * * *")')).to_be_visible()
    expect(page.get_by_text("workbell schedules add nightly --job JOB")).to_be_visible()

    page.get_by_role("link", name="New schedule").click()
    preview = page.locator(".schedule-preview")
    expect(preview).to_contain_text("at 03:00, every day, Europe/Berlin")
    expect(preview.locator("tbody tr")).to_have_count(5)
    cron = page.get_by_label("Cron expression")
    cron.fill("61 3 * * *")
    expect(preview.get_by_text("minute")).to_contain_text("61")
    expect(preview.locator("tbody tr")).to_have_count(0)
    night = spring_night(datetime.now(UTC))
    cron.fill(f"30 2 {night.day} 3 *")
    expect(preview.locator(".clock-note").first).to_contain_text("02:30 does not exist on this day, it runs at 03:00")
    page.get_by_label("Runs start from").fill("22:00")
    page.get_by_label("until").fill("06:00")
    expect(preview).to_contain_text("runs start 22:00–06:00")
    check_accessible(page)

    page.get_by_label("Job", exact=True).select_option("send")
    make = page.get_by_role("button", name="Create schedule")
    make.click()
    expect(page.get_by_text("What is it called?")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("new")  # which the address of the form must not be taken for
    page.get_by_label("to *").fill("a@b.c")
    page.get_by_label("If the previous run is still going").select_option("allow")
    make.click()
    expect(page).to_have_url(f"{site.url}/schedules/new")
    made = site.bell.schedules.get("new")
    assert (made.expression, made.timezone, made.input) == (f"30 2 {night.day} 3 *", "Europe/Berlin", {"to": "a@b.c"})
    assert (made.options.window, made.options.overlap, made.source) == (("22:00", "06:00"), Overlap.ALLOW, "api")

    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Schedules").click()
    site.bell.schedules.put("hourly", job="broken", input={"order": 1}, cron="0 * * * *", timezone="Asia/Tokyo")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("every hour")
    expect(rows.first).to_contain_text("never ran")
    check_accessible(page)
    look(site.bell, datetime.now(UTC) + LATER)
    run = site.bell.schedules.get("hourly").last_run_id
    assert run is not None
    expect(rows.first.get_by_role("link", name="The last run of hourly")).to_have_attribute("href", f"/runs/{run}")
    site.bell.schedules.pause("hourly")
    expect(rows.first).to_contain_text("paused")
    page.get_by_role("searchbox").fill("berlin send")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Europe/Berlin")
    expect(page).to_have_url(f"{site.url}/schedules?text=berlin+send")
    page.get_by_role("searchbox").fill("nothing of the kind")
    expect(page.get_by_text("No schedule matches this filter.")).to_be_visible()


def test_a_tick_outside_its_window_has_not_fired(site: Site) -> None:
    """The list, the day and the ledger agree on it."""
    now = datetime.now(UTC)
    window = (f"{now + timedelta(hours=3):%H:%M}", f"{now + timedelta(hours=4):%H:%M}")
    every = {"every": timedelta(seconds=1), "timezone": "UTC", "window": window}
    site.bell.schedules.put("deferring", job="send", input={"to": "a@b.c"}, **every)
    site.bell.schedules.put("skipping", job="send", input={"to": "a@b.c"}, outside="skip", **every)
    until(lambda: site.bell.schedules.ticks("skipping"), "a tick outside the window")
    look(site.bell, datetime.now(UTC))
    page = site.open("/schedules")
    deferring, skipping = page.locator("tbody tr").nth(0), page.locator("tbody tr").nth(1)
    expect(deferring.locator(".status-waiting")).to_have_text("◷deferred")
    expect(deferring).not_to_contain_text("fired")
    expect(skipping).to_contain_text("never ran")
    check_accessible(page)
    deferring.get_by_role("link", name="deferring", exact=True).click()
    expect(page.locator(".day figcaption")).to_contain_text("1 tick was put off")
    page.goto(f"{site.url}/schedules/skipping")
    history = page.get_by_role("table", name="History").locator("tbody tr")
    expect(history).to_have_count(1)
    expect(history).to_contain_text("skipped")
    expect(history).to_contain_text("outside the window")


def test_one_schedule(site: Site) -> None:
    """What it will do and has done; pause, resume, run now and delete, seen in the store."""
    bell = site.bell
    bell.schedules.put(
        "half <b>yearly</b>",
        job="send",
        input={"to": "x"},
        cron="0 12 1 1,7 *",
        timezone="Europe/Berlin",
        window=("20:00", "04:30"),
        jitter=30,
    )
    page = site.open("/schedules/half%20%3Cb%3Eyearly%3C%2Fb%3E")
    expect(page.get_by_role("heading", level=1)).to_have_text("half <b>yearly</b>")
    ticks = page.get_by_role("table", name="Next runs").locator("tbody tr")
    expect(ticks).to_have_count(5)
    assert ticks.locator(".clock-note").count() >= 4, "it is summer in July, and winter in January"
    expect(ticks.nth(1)).to_contain_text("from here on UTC+0")
    expect(ticks.nth(1)).to_contain_text("20:00:00 CE")
    bar = page.get_by_role("img", name="Runs may start from 20:00 to 04:30, over midnight (Europe/Berlin)")
    expect(bar.locator("rect")).to_have_count(2)
    expect(page.get_by_text("a tick outside waits until the window opens")).to_be_visible()
    expect(page.get_by_text("up to 30 s after the tick")).to_be_visible()
    expect(page.get_by_text("by hand: the dashboard")).to_be_visible()
    expect(page.get_by_text("Nothing has been due yet.")).to_be_visible()

    page.get_by_role("button", name="Pause").last.click()
    expect(page.get_by_text("While it is paused, none of these makes a run.")).to_be_visible()
    assert bell.schedules.get("half <b>yearly</b>").paused
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("While it is paused")).to_have_count(0)
    assert not bell.schedules.get("half <b>yearly</b>").paused

    next_run = bell.schedules.get("half <b>yearly</b>").next_run_at
    assert next_run is not None
    look(bell, next_run + timedelta(days=400))
    ledger = page.get_by_role("table", name="History")
    expect(ledger.get_by_text("coalesced")).to_be_visible()
    run = bell.schedules.get("half <b>yearly</b>").last_run_id
    expect(ledger.get_by_role("link", name="The run of the tick").first).to_have_attribute("href", f"/runs/{run}")
    expect(page.get_by_role("link", name="Its runs")).to_have_attribute(
        "href", "/runs?schedule=half+%3Cb%3Eyearly%3C%2Fb%3E"
    )
    check_accessible(page)

    page.get_by_role("button", name="Run now").click()
    page.wait_for_url("**/runs/*")
    made = bell.get(page.url.rsplit("/", 1)[1])
    assert (made.job, made.input, made.schedule) == ("send", {"to": "x"}, None)
    page.go_back()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_role("textbox").fill("half <b>yearly</b>")
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{site.url}/schedules")
    expect(page.get_by_text("There is no schedule yet")).to_be_visible()
    assert bell.schedules.list() == []


def test_a_change_loses_nothing(site: Site) -> None:
    """What the form does not show, and what nobody touched, is as it was; nobody's change is written over."""
    bell = site.bell
    bell.schedules.put(
        "full",
        job="send",
        input={"to": "x", "copies": 2**60 + 1},
        every=5400.25,
        anchor=datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC),
        timezone="America/New_York",
        window=("22:00", "06:00"),
        outside="skip",
        overlap="queue_one",
        catch_up="all",
        catch_up_cap=7,
        jitter=1.23456,
        queue="own",
        priority=-3,
        retry=Retry(attempts=9, delay=0.125, give_up_on=("ValueError",)),
        timeout=0.0625,
        target="label:big",
        tag="nightly",
        replace_tag=False,
        user_id=7,
        persistent=True,
        auto_reschedule=60,
        remove_delay=86_400,
        expires=3600,
        description=" of old ",
        created_by="Ada",
        alert_url="https://example.com/hook/secret",
        ping_url="https://example.org/ping/secret",
    )
    before = bell.schedules.get("full")
    page = site.open("/schedules/full?edit=1")
    expect(page.get_by_text("kept as it is: its retries, its agent, its tag")).to_be_visible()
    expect(page.get_by_label("copies")).to_have_value(str(2**60 + 1))
    page.get_by_label("Description").fill("of new")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(f"{site.url}/schedules/full")
    expect(page.get_by_text("of new")).to_be_visible()
    after = bell.schedules.get("full")
    assert after.options == msgspec.structs.replace(before.options, description="of new")
    for word in ("job", "kind", "expression", "timezone", "enabled", "source", "next_run_at"):
        assert getattr(after, word) == getattr(before, word)

    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Description").fill("mine")
    bell.schedules.pause("full")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody else has changed this schedule")).to_be_visible()
    assert bell.schedules.get("full").options.description == "of new"
    check_accessible(page)
    page.get_by_role("button", name="Read it again").click()
    expect(page.get_by_label("Description")).to_have_value("of new")
    page.get_by_label("It runs").select_option("once")
    page.get_by_label("At (").fill("2091-02-03T04:05:06")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(f"{site.url}/schedules/full")
    assert bell.schedules.get("full").expression == "2091-02-03T03:05:06Z", "the page is in Berlin"


def test_a_change_by_a_person_leaves_a_schedule_of_nobody(site: Site) -> None:
    site.bell.schedules.put("theirs", job="send", input={"to": "x"}, every=3600)
    before = site.bell.schedules.get("theirs")
    page = site.open("/schedules/theirs?edit=1")
    page.get_by_role("button", name="Save").click()
    expect(page).to_have_url(f"{site.url}/schedules/theirs")
    after = site.bell.schedules.get("theirs")
    assert (after.options, after.options.user_id) == (before.options, None)


def test_who_may_only_look(site: Site) -> None:
    """A schedule of code says so; without the right to operate there is nothing to press."""
    declared = Declaration("nightly", "send", {"cron": "0 3 * * *", "input": {"to": "x"}, "timezone": "UTC"})
    site.bell.schedules.put_all([declared], source="code:shop")
    page = site.open("/schedules/nightly", scopes=("read",))
    expect(page.get_by_text("in the code of shop")).to_be_visible()
    expect(page.get_by_role("table", name="Next runs")).to_be_visible()
    expect(page.locator("main").get_by_role("button", name="Copy")).to_have_count(1)
    expect(page.locator("main").get_by_role("button")).to_have_count(1)
    expect(page.get_by_role("link", name="Edit")).to_have_count(0)
    page.goto(f"{site.url}/schedules/nightly?edit=1")
    expect(page.get_by_text("may read schedules, but not change them")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_have_count(0)

    page = site.open("/schedules/nightly?edit=1", scopes=("operate",))
    expect(page.get_by_text("comes back as it is declared there")).to_be_visible()
