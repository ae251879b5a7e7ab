"""Lists: what a row says, against the store; their order; rows by pointer and keyboard; all of it on a telephone."""

from __future__ import annotations

import re
from datetime import timedelta

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Site, check_accessible
from tests.browser.test_meaning import end, start
from tests.support.waiting import until
from workbell import Retry, Run, Status
from workbell.testing import drain

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
ONCE = Retry(attempts=1)


def rows(page: Page) -> Locator:
    return page.locator("tbody tr")


def row_of(page: Page, run: Run) -> Locator:
    return rows(page).filter(has=page.get_by_label(f"Choose run {run.id}"))


def names(page: Page) -> list[str]:
    """What the rows are called, from the top."""
    return page.locator("tbody a.strong").all_text_contents()


def height(thing: Locator) -> float:
    box = thing.bounding_box()
    assert box is not None
    return box["height"]


def test_a_row_says_what_its_run_is_about(site: Site) -> None:
    """Event, endpoint, result and error in its line, its own id and queue beside it, and when it was created."""
    bell = site.bell
    drain(bell)  # as a worker does when it starts, it writes down what code wants to hear
    bell.webhooks.add("https://hooks.example.com/a/path", patterns="orders.*")
    bell.emit("orders.placed", {"id": 7})
    sent = bell.enqueue("send", {"to": "a@b.c"}, tag="by hand")
    failed = bell.enqueue("broken", {"order": 7}, retry=ONCE)
    bell.pause(job="webhook-delivery")
    drain(bell)
    later = bell.enqueue("send", {"to": "later"}, delay=7200)
    (told,), (delivery,) = bell.runs(job="heard"), bell.runs(job="webhook-delivery")
    page = site.open("/runs", viewport=WIDE)
    expect(row_of(page, told)).to_contain_text(f"orders.placed → {bell.get(told.id).result}")
    expect(row_of(page, told)).not_to_contain_text("{}")
    expect(row_of(page, delivery)).to_contain_text("orders.placed to hooks.example.com/a/path")
    expect(row_of(page, sent)).to_contain_text('by hand {"to":"a@b.c"} → {"sent":"a@b.c"}')
    expect(row_of(page, failed).locator(".run-error")).to_have_text("ValueError: there is no order 7")
    expect(row_of(page, later)).to_contain_text(re.compile(r"due in (2 h|1 h 59 min)"))
    for run in bell.runs():
        name = f"{run.job} {run.id[-8:]}"
        expect(row_of(page, run).get_by_role("link", name=name, exact=True)).to_have_attribute(
            "href", f"/runs/{run.id}"
        )
        expect(row_of(page, run).locator(".run-queue")).to_have_text(run.queue)
        assert height(row_of(page, run)) < 45, run.job  # one line
    shown = [one.get_attribute("datetime") for one in page.locator(".run-when time").all()]
    assert shown == sorted((one or "" for one in shown), reverse=True)
    assert len(shown) == bell.count_runs().count
    expect(page.get_by_role("columnheader", name=re.compile(r"^Created, (CET|CEST|GMT\+[12])$"))).to_be_visible()
    expect(row_of(page, later).locator(".run-when")).to_have_text(re.compile(r"^(now|\d+ s ago) \d\d:\d\d:\d\d$"))
    expect(page.get_by_text(f"{bell.count_runs().count} runs", exact=True)).to_be_visible()
    check_accessible(page)


def test_statuses_are_counted_as_the_store_does(site: Site) -> None:
    bell = site.bell
    for number in range(3):
        bell.enqueue("broken", {"order": number}, retry=ONCE)
        bell.enqueue("send", {"to": f"{number}"})
    drain(bell)
    bell.enqueue("send", {"to": "x"}, delay=3600)
    page = site.open("/runs")

    def check(**words: str) -> None:
        for status in Status:
            meant = bell.count_runs(status=status, **words).count
            expect(page.get_by_role("button", name=f"{status} {meant}", exact=True)).to_be_visible()

    check()
    page.get_by_label("Job").select_option("send")
    check(job="send")
    bell.enqueue("send", {"to": "y"}, delay=3600)
    check(job="send")  # it is counted again by itself
    page.get_by_role("button", name="scheduled 2", exact=True).click()
    expect(rows(page)).to_have_count(2)
    check(job="send")  # what the other statuses would add


def test_what_is_wrong_with_a_filter_stands_at_its_field(site: Site) -> None:
    site.bell.enqueue("send", {"to": "a@b.c", "copies": 42})
    page = site.open("/runs")
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("/")
    field = page.get_by_label("Input field")
    expect(field).to_be_focused()
    field.fill("42")
    field.press("Enter")
    said = page.locator(".field").filter(has=field).locator(".wrong")
    expect(said).to_have_text("Write a path and its value, such as customer.id=42.")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".toast")).to_have_count(0)
    expect(page).to_have_url(f"{site.url}/runs")
    check_accessible(page)
    field.fill("copies=42")
    expect(said).to_have_count(0)
    field.press("Enter")
    expect(page).to_have_url(f"{site.url}/runs?input.copies=42")
    page.get_by_text("More filters").click()
    labels = page.locator(".filter label").all_text_contents()
    assert all(label[0].isupper() for label in labels), labels


def test_rows_by_pointer_and_by_keyboard(site: Site) -> None:
    bell = site.bell
    made = [bell.enqueue("send", {"to": f"{number}"}, delay=3600) for number in range(3)]
    page = site.open("/runs", viewport=WIDE)
    newest = made[2]
    row_of(page, newest).locator(".run-took").click()
    expect(page).to_have_url(f"{site.url}/runs/{newest.id}")
    page.go_back()
    expect(rows(page)).to_have_count(3)
    page.get_by_label(f"Choose run {newest.id}").click()
    expect(page.get_by_text("1 chosen")).to_be_visible()  # the box is no link
    page.get_by_role("button", name="Choose none").click()
    page.get_by_role("heading", level=1).click()
    for key, place in (("j", 2), ("j", 1), ("j", 0), ("j", 0), ("k", 1)):
        page.keyboard.press(key)
        expect(row_of(page, made[place]).locator("a.strong")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_label(f"Choose run {made[1].id}")).to_be_checked()
    page.get_by_role("button", name="Cancel 1").click()
    page.get_by_role("button", name="Cancel them").click()
    expect(row_of(page, made[1])).to_contain_text("canceled")
    assert [bell.get(run.id).status for run in made] == [Status.SCHEDULED, Status.CANCELED, Status.SCHEDULED]
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/runs/{newest.id}")


def test_tables_are_sorted(site: Site) -> None:
    """By the numbers that they show, either way; the order is in the address, and no row moves under the pointer."""
    bell, now = site.bell, site.bell.store.clock.now()

    @bell.job
    def slowest() -> None: ...

    took = {"send": 2.0, "broken": 0.5, "slowest": 90.0}
    for job, input in (("send", {"to": "x"}), ("broken", {"order": 1}), ("slowest", {})):
        bell.enqueue(job, input)
    for run in start(bell, now):
        end(bell, run, now + timedelta(seconds=took[run.job]), well=run.job != "broken")
    page = site.open("/jobs", viewport=WIDE)
    expect(rows(page)).to_have_count(4)
    assert names(page) == ["broken", "heard", "send", "slowest"]
    median = page.get_by_role("columnheader", name="Median")
    expect(median).to_have_attribute("aria-sort", "none")
    median.get_by_role("link").click()
    expect(median).to_have_attribute("aria-sort", "descending")
    by_length = sorted(took, key=took.__getitem__, reverse=True)
    until(lambda: names(page) == [*by_length, "heard"])  # what has none is last
    median.get_by_role("link").click()
    expect(page).to_have_url(f"{site.url}/jobs?sort=median")
    until(lambda: names(page) == [*reversed(by_length), "heard"])
    page.reload()
    expect(median).to_have_attribute("aria-sort", "ascending")
    until(lambda: names(page) == [*reversed(by_length), "heard"])
    page.get_by_role("columnheader", name="Failed").get_by_role("link").click()
    until(lambda: names(page)[0] == "broken")
    check_accessible(page)

    page.goto(f"{site.url}/queues?sort=-queued")
    for number in range(3):
        bell.enqueue("broken", {"order": number})
    until(lambda: names(page) == ["slow", "default"])
    page.locator("tbody tr").first.hover()
    for number in range(5):
        bell.enqueue("send", {"to": f"{number}"})
    queued = bell.count_runs(queue="default", status="queued").count
    cell = page.locator("tbody tr").filter(has_text="default").locator("td[data-name=Queued]")
    expect(cell).to_have_text(str(queued))
    assert names(page) == ["slow", "default"]
    page.mouse.move(1, 1)
    until(lambda: names(page) == ["default", "slow"])


def test_on_a_telephone(site: Site) -> None:
    """The bar is one row, its menu opens below it, cards are short, and tables can be sorted there as well."""
    bell = site.bell
    bell.emit("orders.placed", {"id": 7}, subject="/orders/7")
    for number in range(2):
        bell.enqueue("broken", {"order": number})
    page = site.open("/queues?sort=-queued", viewport=NARROW)
    bar, menu = page.locator("header.top"), page.get_by_role("button", name="Menu")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    for tenants in (
        "",
        "acme",
    ):  # with the choice of a tenant, and while it says more than "Live", it is one row as well
        if tenants:
            bell.tenants.put(tenants, weight=2)
            page.reload()
            expect(page.get_by_label("Tenant")).to_be_visible()
        page.locator(".liveness [role=status]").evaluate("one => (one.textContent = 'Connecting …')")
        assert height(bar) < 64
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.reload()
    expect(rows(page)).to_have_count(2)
    before = menu.bounding_box()
    menu.click()
    nav = page.get_by_role("navigation", name="Screens")
    expect(nav.get_by_role("link", name="Queues")).to_be_focused()
    assert menu.bounding_box() == before
    box, below = nav.bounding_box(), bar.bounding_box()
    assert box is not None
    assert below is not None
    assert box["y"] >= below["y"] + below["height"] - 1
    check_accessible(page)
    page.keyboard.press("Escape")
    expect(nav).to_be_hidden()
    expect(menu).to_be_focused()
    until(lambda: names(page)[0] == "slow")
    expect(rows(page).first.locator("td[data-name=Queued]")).to_have_text("2")
    assert height(rows(page).first) < 130
    page.get_by_role("columnheader", name="Queue", exact=True).get_by_role("link").click()
    until(lambda: names(page)[0] == "default")
    check_accessible(page)
    page.get_by_text("Account").click()
    page.get_by_label("Theme").select_option("dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_label("Zone of times").select_option("utc")
    page.goto(f"{site.url}/events")
    expect(rows(page)).to_have_count(1)
    assert height(rows(page).first) < 130
    expect(rows(page).first).to_contain_text("/orders/7")
    check_accessible(page)
    for path in ("/", "/runs", "/jobs", "/queues", "/events?view=triggers"):
        page.goto(f"{site.url}{path}")
        expect(page.locator("main .loading")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"], path
