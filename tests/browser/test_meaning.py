"""What the pages say is so: numbers and words against the store, where a page could make people believe otherwise."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Site, check_accessible
from tests.support.scheduling import look
from workbell import Context, Run, Status, Workbell
from workbell.claims.claiming import Claimant, FairClaims
from workbell.doctor.finding import Finding
from workbell.http.features import doctor_checks
from workbell.model import state
from workbell.model.audit import Actor, ActorKind
from workbell.model.ids import new_id
from workbell.model.tally import Tally
from workbell.stores.port import Filter, FoundRuns
from workbell.stores.sqlite.store import SqliteStore
from workbell.testing import drain

DAY = timedelta(days=1)


def start(bell: Workbell, at: datetime) -> list[Run]:
    """Start what is due then, as a worker does."""
    bell.store.runs.dispatch(at, 100)
    return FairClaims(bell.store).claim(Claimant("w1", DAY, lambda lane: True), 100, at)


def end(bell: Workbell, run: Run, at: datetime, *, well: bool = True) -> None:
    if well:
        change = state.succeed(run, at, result="1", keep=DAY)
    else:
        change = state.fail(run, at, error="ValueError: no", reason="error", keep=DAY)
    assert bell.store.runs.apply([change]) == {run.id}


def section(page: Page, title: str) -> Any:
    return page.locator("section").filter(has=page.get_by_role("heading", name=title, exact=True))


def test_a_search_that_stopped_says_how_far_it_looked(site: Site) -> None:
    bell, store = site.bell, site.bell.store
    assert isinstance(store, SqliteStore)
    made = [bell.enqueue("send", {"to": f"{number}@b.c"}) for number in range(12)]

    search = store.reports.search

    def bounded(wanted: Filter, scan: int = 10) -> FoundRuns:
        return search(wanted, 10)  # five of those that wait, five of those that ended

    store.reports.search = bounded  # type: ignore[method-assign]
    page = site.open("/runs?input.to=0@b.c")
    expect(page.get_by_text("No run matches so far. Looked back to")).to_be_visible()
    expect(page.get_by_text("No run matches this filter.")).to_have_count(0)
    page.get_by_role("link", name="Search older runs").click()
    expect(page).to_have_url(re.compile(f"before={made[7].id}$"))
    expect(page.get_by_text("No run matches so far. Looked back to")).to_be_visible()
    check_accessible(page)
    page.get_by_role("link", name="Search older runs").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("0@b.c")
    expect(page.get_by_text("That is all.")).to_be_visible()


def test_a_page_that_is_cut_by_its_size_goes_on(site: Site) -> None:
    """Of large runs fewer fit on a page than it could have: the others can be reached."""
    big = "x" * 200_000
    made = [site.bell.enqueue("send", {"to": f"{number} {big}"}, delay=3600) for number in range(30)]
    page = site.open("/runs")
    rows = page.locator("tbody tr")
    expect(page.get_by_role("link", name="Older")).to_be_visible()
    first = rows.count()
    assert first < 30
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_label(f"Choose run {made[0].id}")).to_be_visible()
    assert first + rows.count() == 30


def test_what_runs_is_one_number(site: Site) -> None:
    """The figure, the queues and the list agree, also while one of their sources is late."""
    bell = site.bell
    bell.enqueue("send", {"to": "x"})
    bell.enqueue("broken", {"order": 1})
    late = {"on": True}

    def stale(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        if late["on"]:
            for queue in told["items"]:
                queue["running"] = 3
        route.fulfill(response=answer, body=json.dumps(told))

    context = site.context()
    context.route("**/api/v1/queues", stale)
    try:
        page = site.open("/")
        running = page.locator(".figure").filter(has_text=re.compile("running$"))
        expect(page.get_by_text("Nothing is running.")).to_be_visible()
        expect(running.locator("b")).to_have_text("0")
        queue = section(page, "Queues").locator("tbody tr").filter(has_text="slow").locator("td").nth(2)
        expect(queue).to_have_text("0")
        started = start(bell, bell.store.clock.now())
        assert len(started) == bell.count_runs(status="running").count == 2
        expect(running.locator("b")).to_have_text("2")
        expect(section(page, "Running now").locator("tbody tr")).to_have_count(2)
        expect(queue).to_have_text("1")
    finally:
        context.unroute_all(behavior="wait")


def test_a_step_that_is_not_over_is_no_fall(site: Site) -> None:
    now = datetime.now(UTC)
    minute = now.replace(second=0, microsecond=0)
    words = {"tenant": "default", "queue": "default", "job": "send", "status": "succeeded"}
    counts = {0: 30, 1: 40, 2: 60, 3: 60}  # by minutes ago
    site.bell.store.tallies.add(
        [Tally(minute=minute - timedelta(minutes=ago), count=count, **words) for ago, count in counts.items()]
    )
    page = site.open("/")
    chart = page.locator(".chart")
    expect(chart).to_contain_text("190 succeeded")
    page.get_by_text("As a table").click()
    last = chart.locator("tbody tr").last
    expect(last).to_contain_text("so far")
    expect(chart).to_contain_text("Hatched bars are not complete yet")
    # By steps from the end; a minute may have begun since.
    bars = {round(bar.height, 1): bar for bar in bars_of(page, "succeeded")[-5:]}
    newest, over = bars[0.5], bars[0.9]
    assert 0.1 < newest.filled < 0.9, "hatched: part of it is the colour of the page"
    assert over.filled > 0.95


class Bar(NamedTuple):
    """A bar of a chart as it is painted: its height in parts of the plot's, and how much of it has its colour."""

    height: float
    filled: float


def bars_of(page: Page, name: str) -> list[Bar]:
    """What is painted in each step of the panel of a line, oldest first: by the pixels of the canvas."""
    frame = page.locator(".chart-panel", has_text=name).locator(".chart-frame")
    expect(frame.locator("canvas")).to_be_visible()
    found = frame.evaluate(
        """frame => {
            const canvas = frame.querySelector("canvas"), over = frame.querySelector(".u-over");
            const scale = canvas.width / canvas.clientWidth, steps = Number(frame.dataset.steps);
            const [outer, inner] = [canvas.getBoundingClientRect(), over.getBoundingClientRect()];
            const [left, top] = [(inner.left - outer.left) * scale, (inner.top - outer.top) * scale];
            const [width, height] = [inner.width * scale, Math.floor(inner.height * scale)];
            const context = canvas.getContext("2d");
            return [...Array(steps).keys()].map(step => {
                const from = Math.round(left + (width * (step + 0.3)) / steps);
                const across = Math.ceil((width * 0.4) / steps);
                const { data } = context.getImageData(from, top, across, height);
                const rows = [...Array(height).keys()].map(y => {
                    let coloured = 0;
                    for (let x = 0; x < across; x++) {
                        const [r, g, b, a] = data.slice(4 * (y * across + x), 4 * (y * across + x) + 4);
                        if (a > 100 && Math.max(r, g, b) - Math.min(r, g, b) > 50) coloured += 1;
                    }
                    return coloured / across;
                });
                const first = rows.findIndex(one => one > 0);
                const inside = first < 0 ? [] : rows.slice(first + 3, -2);
                const filled = inside.reduce((sum, one) => sum + one, 0) / Math.max(1, inside.length);
                return [first < 0 ? 0 : (height - first) / height, filled];
            });
        }"""
    )
    return [Bar(*one) for one in found]


def test_failures_have_a_scale_of_their_own(site: Site) -> None:
    """Beside ten thousand good runs a minute, 236 failures are no line along the bottom."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    words = {"tenant": "default", "queue": "default", "job": "send"}
    site.bell.store.tallies.add(
        [
            Tally(minute=now - timedelta(minutes=ago), count=count, status=status, **words)
            for ago in range(3, 30)
            for status, count in (("succeeded", 10_000), ("failed", 236 if ago < 10 else 100), ("retried", 50))
        ]
    )
    page = site.open("/")
    chart = page.locator(".chart")
    expect(chart).to_contain_text("failed")
    good, bad = bars_of(page, "succeeded"), bars_of(page, "failed")
    assert len(good) == len(bad)
    assert good[-6].height > 0.8
    assert bad[-6].height > 0.8, "236 failures and 50 retries are the most"
    assert bad[-16].height == pytest.approx(150 / 286 * bad[-6].height, abs=0.05)
    check_accessible(page)


def test_a_share_is_never_rounded_to_nothing(site: Site) -> None:
    """29 failures of ten thousand are not 0 %, and one success of a thousand leaves no 100 %."""
    now = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)
    words = {"minute": now, "tenant": "default", "queue": "default"}
    counts = {("send", "succeeded"): 10_000, ("send", "failed"): 29, ("broken", "failed"): 999}
    counts |= {("broken", "succeeded"): 1, ("heard", "failed"): 3, ("other", "retried"): 2}
    site.bell.store.tallies.add(
        [Tally(job=job, status=status, count=count, **words) for (job, status), count in counts.items()]
    )
    page = site.open("/?minutes=15")
    failing = section(page, "Failing jobs (last 15 min)")
    expect(failing.locator("td:first-child")).to_have_text(["broken", "send", "heard", "other"])
    expect(failing.locator("td[data-name=Share]")).to_have_text(["> 99 %", "< 1 %", "100 %", "0 %"])
    expect(section(page, "Finished runs (last 15 min)")).to_be_visible()


def test_a_delay_is_no_wait(site: Site) -> None:
    bell = site.bell
    run = bell.enqueue("send", {"to": "x"}, delay=3600)
    (taken,) = start(bell, run.scheduled_for + timedelta(seconds=3))
    end(bell, taken, run.scheduled_for + timedelta(seconds=8))
    page = site.open(f"/runs/{run.id}")
    expect(page.locator(".life-text")).to_have_text("Delayed 1 h, waited 3.0 s in the queue, ran 5.0 s in 1 attempt.")
    steps = page.locator(".step-text").all_text_contents()
    order = [
        next(place for place, text in enumerate(steps) if word in text)
        for word in ("Created", "delayed 1 h", "Due", "waited 3.0 s in the queue", "Attempt 1")
    ]
    assert order == sorted(order), steps
    check_accessible(page)
    now = bell.store.clock.now()
    other = bell.enqueue("send", {"to": "x"})
    (taken,) = start(bell, now + timedelta(seconds=5))
    end(bell, taken, now + timedelta(seconds=6))
    page.goto(f"{site.url}/runs/{other.id}")
    expect(page.locator(".life-text")).to_contain_text("in the queue, ran")
    expect(page.locator(".life-text")).not_to_contain_text("Delayed")


def test_a_job_that_always_fails_is_seen(site: Site) -> None:
    bell, now = site.bell, site.bell.store.clock.now()
    for number in range(4):
        bell.enqueue("broken", {"order": number})
        bell.enqueue("send", {"to": f"{number}"})
    for place, run in enumerate(start(bell, now)):
        if run.job == "broken":
            end(bell, run, now + timedelta(milliseconds=1), well=False)
        else:
            end(bell, run, now + timedelta(seconds=10 + place), well=True)
    page = site.open("/jobs")
    broken, send = (
        page.locator("tbody tr", has=page.get_by_role("link", name=name, exact=True)) for name in ("broken", "send")
    )
    expect(broken.locator(".strip-bad")).to_have_count(4)
    heights = [
        one.bounding_box()["height"]
        for one in (broken.locator(".strip-bad > span").first, send.locator(".strip-good > span").last)
    ]
    assert heights[0] >= heights[1], heights
    failed = bell.count_runs(job="broken", status="failed").count
    assert failed == bell.count_runs(job="broken").count == 4
    expect(broken.locator("td[data-name=Failed]")).to_have_text("4 of 4, 100 %")
    expect(send.locator("td[data-name=Failed]")).to_have_text("none of 4")
    for name in ("Failed", "Median", "95 %"):
        expect(page.get_by_role("columnheader", name=name)).to_contain_text("last 200 runs")
    expect(broken.locator("td[data-name=Median]")).to_have_text("1 ms")
    broken.get_by_role("link", name="broken", exact=True).click()
    durations = section(page, "Durations of the last 4 finished runs")
    expect(durations).to_contain_text("1 ms")
    expect(page.locator(".figures").filter(has_text="last hour")).not_to_contain_text("Median")
    check_accessible(page)


def test_a_job_whose_first_run_runs_has_runs(site: Site) -> None:
    bell = site.bell
    bell.enqueue("send", {"to": "x"})
    page = site.open("/jobs")
    row = page.locator("tbody tr", has=page.get_by_role("link", name="send", exact=True))
    expect(row).to_contain_text("none finished yet")
    (run,) = start(bell, bell.store.clock.now())
    expect(row).to_contain_text("1 running")
    expect(page.get_by_text("no runs yet")).to_have_count(0)
    page.goto(f"{site.url}/jobs/send")
    expect(section(page, "Last runs")).to_contain_text("1 running, none finished yet")
    assert bell.get(run.id).status is Status.RUNNING


def test_today_has_the_runs_that_were(site: Site) -> None:
    """By the ledger up to now, and by the schedule from now on."""
    bell, now = site.bell, datetime.now(UTC)
    east = 12 - now.hour  # by this zone it is about noon
    zone = f"Etc/GMT{-east:+d}" if east else "Etc/GMT"
    bell.schedules.put("often", job="send", input={"to": "x"}, cron="*/10 * * * *", timezone=zone)
    page = site.open("/schedules/often")
    text = section(page, "Today").locator("figcaption")
    expect(text).to_contain_text("No run was started today")
    expect(text).to_contain_text("more are to come")  # which is asked for beside the ledger
    left = re.search(r"(\d+) more are to come", text.inner_text())
    assert left is not None
    first = bell.schedules.get("often").next_run_at
    assert first is not None
    for _ in range(3):
        due = bell.schedules.get("often").next_run_at
        assert due is not None
        look(bell, due)
    fired = [tick for tick in bell.schedules.ticks("often") if tick.outcome == "fired"]
    made = bell.count_runs(schedule="often").count
    assert made >= 1
    expect(text).to_contain_text(f"{made} {'run was' if made == 1 else 'runs were'} started today")
    skipped = sum(tick.count for tick in bell.schedules.ticks("often")) - len(fired)
    if skipped:
        expect(text).to_contain_text(f"{skipped} {'tick' if skipped == 1 else 'ticks'} made no run")
    expect(text).to_contain_text(f"{int(left[1]) - 3} more are to come")
    check_accessible(page)


def test_who_started_a_run(site: Site) -> None:
    """A schedule and the run that enqueued it by their names; of nothing recorded, that nothing is."""
    bell = site.bell

    @bell.job
    def fan(ctx: Context) -> None:
        bell.enqueue("send", {"to": "child"}, delay=3600)

    parent = bell.enqueue("fan")
    bell.schedules.put("nightly", job="send", input={"to": "x"}, cron="0 3 * * *")
    due = bell.schedules.get("nightly").next_run_at
    assert due is not None
    look(bell, due)
    drain(bell)
    (child,) = bell.runs(job="send", status="scheduled")
    (scheduled,) = bell.runs(schedule="nightly")
    page = site.open(f"/runs/{child.id}")
    expect(section(page, "Started by").get_by_role("link", name=f"fan {parent.id[-8:]}")).to_have_attribute(
        "href", f"/runs/{parent.id}"
    )
    page.goto(f"{site.url}/runs/{scheduled.id}")
    expect(section(page, "Started by").get_by_role("link", name="nightly")).to_have_attribute(
        "href", "/schedules/nightly"
    )
    expect(section(page, "Started by")).not_to_contain_text(scheduled.schedule or "")
    bell.schedules.delete("nightly")
    page.reload()
    expect(section(page, "Started by")).to_contain_text("one that was deleted")
    page.goto(f"{site.url}/runs/{parent.id}")
    expect(section(page, "Started by")).to_contain_text("Code or a person enqueued it")


def test_columns_are_not_crushed(site: Site) -> None:
    """A row of the audit log, of the schedules and of the endpoints is a few lines high, not a column of letters."""
    bell = site.bell
    detail = {"job": "synchronise_inventory", "reason": "asked for by somebody"}
    somebody = Actor(
        kind=ActorKind.SESSION,
        name="somebody",
        token=new_id(),
        made_with=new_id(),
        user_id="0198c2f3-5a6b-7c8d-9e0f-1a2b",
    )
    bell.audit.add("runs.cancel", "01a1e513-1570-71c6-9d19-3ac9ee5f066c", actor=somebody, detail=detail)
    name = "synchronise_inventory"
    bell.schedules.put(name, job="send", input={"to": "x"}, cron="*/2 * * * *", description="x" * 40)
    endpoint, _ = bell.webhooks.add("https://hooks.example.com/a/long/path/of/its/own", patterns="orders.*")
    bell.store.subscribers.note_delivery(endpoint.id, True, bell.store.clock.now())
    for path in ("/audit", "/schedules", "/webhooks"):
        page = site.open(path, viewport={"width": 1440, "height": 900})
        row = page.locator("tbody tr").first
        expect(row).to_be_visible()
        box = row.bounding_box()
        assert box is not None
        assert box["height"] < 100, (path, box)
    link = site.open("/schedules", viewport={"width": 1440, "height": 900}).get_by_role("link", name=name, exact=True)
    box = link.bounding_box()
    assert box is not None
    assert box["height"] < 30, "its name is one line"


def test_a_chart_tells_the_numbers_that_are_pointed_at(site: Site) -> None:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    words = {"tenant": "default", "queue": "default", "job": "send", "status": "succeeded"}
    site.bell.store.tallies.add([Tally(minute=now - timedelta(minutes=ago), count=7, **words) for ago in range(59)])
    page = site.open("/")
    plot = page.locator(".chart .u-over").first
    expect(plot).to_be_visible()
    plot.hover()
    expect(page.locator(".chart-pointed")).to_contain_text("7 succeeded, 0 failed, 0 retried")


def test_a_chart_begins_with_the_first_that_ended(site: Site) -> None:
    """In the first minutes of a store there is nothing to draw before; what is told stays that of the whole span."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    words = {"tenant": "default", "queue": "default", "job": "send"}
    site.bell.store.tallies.add([Tally(minute=now - timedelta(minutes=3), count=4, status="succeeded", **words)])
    page = site.open("/")
    chart = page.locator(".chart")
    expect(chart).to_contain_text("In 1 h: 4 succeeded, 0 failed, 0 retried.")
    since = (now - timedelta(minutes=3)).astimezone(ZoneInfo("Europe/Berlin"))
    expect(chart).to_contain_text(f"Nothing ended before {since:%H:%M}:00")
    expect(chart).to_contain_text("Hatched bars are not complete yet")
    page.get_by_text("As a table").click()
    expect(chart.locator("tbody tr")).to_have_count(15)
    counts = chart.locator("tbody td:nth-child(2)").all_text_contents()
    assert sum(map(int, counts)) == 4


def test_the_first_minute_of_a_store_is_drawn(site: Site) -> None:
    bell = site.bell
    bell.enqueue("send", {"to": "x"})
    drain(bell)
    page = site.open("/")
    chart = page.locator(".chart")
    meant = bell.count_runs(status="succeeded").count
    expect(chart).to_contain_text(f"In 1 h: {meant} succeeded, 0 failed, 0 retried. Each bar is 1 min.")
    page.get_by_text("As a table").click()
    expect(chart.locator("tbody tr").first.locator("td").first).to_have_text("0")
    assert max(bar.height for bar in bars_of(page, "succeeded")[-3:]) > 0.8


def attention_on(page: Page) -> Locator:
    return page.get_by_role("list", name="What needs attention")


def test_what_needs_somebody_is_said_on_the_overview(site: Site) -> None:
    bell, store = site.bell, site.bell.store
    page = site.open("/", tenant="default")  # to which the doctor tells nothing
    expect(page.get_by_text("Nothing is running.")).to_be_visible()
    attention = attention_on(page)
    expect(attention).to_have_count(0)
    for number in range(2):
        bell.enqueue("broken", {"order": number})
    bell.pause(queue="slow")
    endpoint, _ = bell.webhooks.add("https://hooks.example.com/orders", patterns="orders.*")
    for _ in range(3):
        store.subscribers.note_delivery(endpoint.id, False, store.clock.now())
    failures = bell.webhooks.health(endpoint.id).failures
    waiting = bell.count_runs(queue="slow", status="queued").count
    expect(attention.get_by_role("link")).to_have_text(
        [
            f"Queue slow is paused; {waiting} runs wait.",
            f"Webhook https://hooks.example.com/orders: the last {failures} attempts failed.",
        ]
    )
    check_accessible(page)
    attention.get_by_role("link", name="Webhook").click()
    expect(page).to_have_url(f"{site.url}/webhooks/{endpoint.id}")
    for _ in range(10):
        store.subscribers.note_delivery(endpoint.id, False, store.clock.now())
    page = site.open("/doctor")
    expect(page.locator(".finding").filter(has_text="slowed endpoint")).to_be_visible()
    risks = page.locator(".finding").filter(has_text="at risk").locator("h2").all_text_contents()
    assert "slowed endpoint" in risks
    page.get_by_role("link", name="Overview", exact=True).click()
    doctor = attention_on(page).get_by_role("link").last
    expect(doctor).to_have_text(f"Doctor, at risk: {', '.join(risks)}.", timeout=90_000)  # asked once a minute


def test_a_slow_check_of_the_doctor_is_seen_on_the_overview(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as it has ended, and not with the next question a minute later."""
    go = threading.Event()

    def slow(_store: Any, _numbers: Any) -> Iterator[Finding]:
        assert go.wait(30)
        yield Finding("risk", "slow disk", "writes take 3 s")

    monkeypatch.setattr(doctor_checks, "CHECKS", {"slow disk": slow})
    try:
        page = site.open("/doctor")
        expect(page.locator(".finding")).to_contain_text("not checked within")
        with page.expect_response("**/api/v1/doctor*"):
            page.get_by_role("link", name="Overview", exact=True).click()
    finally:
        go.set()
    expect(attention_on(page).get_by_role("link")).to_have_text("Doctor, at risk: slow disk.")


def test_long_waits_are_seen(site: Site) -> None:
    """In a queue that nobody has paused; the figure is one line, however long the wait."""
    bell = site.bell
    seconds = {"default": 14 * 60 - 1, "slow": 3}
    for job, input in (("send", {"to": "x"}), ("broken", {"order": 1})):
        bell.enqueue(job, input)

    def old(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        for queue in told["items"]:
            queue["oldest_wait_seconds"] = seconds[queue["name"]]
            queue["paused"] = queue["name"] in paused
        route.fulfill(response=answer, body=json.dumps(told))

    paused: set[str] = set()
    context = site.context(viewport={"width": 1440, "height": 900})
    context.route("**/api/v1/queues", old)
    try:
        page = site.open("/", viewport={"width": 1440, "height": 900})
        figure = page.locator(".figure").filter(has_text="oldest wait")
        expect(figure.locator("b")).to_have_text("13 min 59 s")
        expect(figure).to_have_class(re.compile("figure-bad"))
        one_line = page.locator(".figure").filter(has_text=re.compile("queued$")).bounding_box()
        box = figure.bounding_box()
        assert one_line is not None
        assert box is not None
        assert box["height"] == one_line["height"]
        waits = section(page, "Queues").locator("td[data-name='Oldest wait']")
        expect(waits.filter(has=page.locator(".bad"))).to_have_text("13 min 59 s")
        paused.add("default")
        expect(figure).not_to_have_class(re.compile("figure-bad"))
        expect(figure.locator("b")).to_have_text("3.0 s")  # not that of the queue that somebody holds back
    finally:
        context.unroute_all(behavior="wait")
