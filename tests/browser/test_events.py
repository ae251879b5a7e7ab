"""Events on the page: told, seen as they come, held against patterns, and what starts jobs switched off and on."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Site, check_accessible
from workbell import Retry
from workbell.model.event import MatchOutcome
from workbell.testing import drain

HOSTILE = '<img src=x onerror="document.title=1">'


def test_a_fact_is_told_and_seen(site: Site) -> None:
    site.bell.triggers.add("alarm", pattern="job.failed", processor="heard")
    drain(site.bell)  # as a worker does when it starts, it writes down what code wants to hear
    page = site.open("/events")
    expect(page.get_by_text("workbell events emit orders.placed")).to_be_visible()
    expect(page.get_by_text('@bell.on("orders.*")')).to_be_visible()

    page.get_by_role("button", name="Send a test event").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Type").fill("orders.placed")
    expect(dialog.get_by_text("Matched by heard.")).to_be_visible()
    check_accessible(page)
    dialog.get_by_label("Data").fill("{no")
    dialog.get_by_role("button", name="Send it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("not JSON")
    dialog.get_by_label("Data").fill('{"id": 1152921504606846977}')
    dialog.get_by_label("Subject").fill(HOSTILE)
    dialog.get_by_label("Key").fill("o-7")
    dialog.get_by_role("button", name="Send it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("orders.placed")
    [event] = site.bell.events.list()
    assert (event.data, event.subject, event.key) == ({"id": 2**60 + 1}, HOSTILE, "o-7")
    expect(page).to_have_url(f"{site.url}/events/{event.id}")
    expect(page.get_by_text("Not matched against triggers")).to_be_visible()
    drain(site.bell)
    row = page.locator("tbody tr")
    expect(row).to_contain_text("succeeded")
    expect(row).to_contain_text("heard")
    expect(page.get_by_role("region", name="Data of the event")).to_contain_text("1152921504606846977")
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
    check_accessible(page)
    [match] = site.bell.events.matches(event.id)
    assert match.run is not None
    assert row.get_by_role("link", name=match.run[-6:]).get_attribute("href") == f"/runs/{match.run}"
    row.get_by_role("link", name="heard", exact=True).click()  # to this trigger, of all of them
    expect(row).to_have_count(1)
    expect(row).to_contain_text("orders.*")
    page.get_by_role("link", name=f"All {len(site.bell.triggers.list())} triggers").click()
    expect(row).to_have_count(len(site.bell.triggers.list()))

    page.get_by_role("link", name="Events", exact=True).first.click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first.locator("td").last).to_have_text("1")
    rows.first.hover()
    site.bell.enqueue("broken", {"order": 1}, retry=Retry(attempts=1))
    drain(site.bell)
    expect(page.get_by_role("button", name="Show 1 new")).to_be_visible()
    expect(rows.first).to_contain_text("orders.placed")  # no row moves under the pointer
    page.get_by_role("button", name="Show 1 new").click()
    expect(rows.first).to_contain_text("job.failed")
    expect(rows.first.get_by_title("Emitted by Workbell itself")).to_be_visible()
    check_accessible(page)
    page.get_by_role("button", name="without Workbell's own").click()
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("orders.placed")
    page.get_by_label("Type or pattern").fill("people.*")
    page.get_by_label("Type or pattern").press("Enter")
    expect(page.get_by_text("No event matches")).to_be_visible()
    expect(page).to_have_url(re.compile(r"type=people\.\*"))
    page.get_by_label("Type or pattern").fill("peo*")
    page.get_by_label("Type or pattern").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("one whole segment")


def test_patterns_are_tried_and_triggers_switched(site: Site) -> None:
    drain(site.bell)
    page = site.open("/events?view=tester")
    page.get_by_label("Type of event").press_sequentially("orders.placed")
    page.get_by_label("Pattern").fill("orders.*")
    expect(page.get_by_text("matches orders.placed")).to_be_visible()
    expect(page.locator("tbody tr")).to_contain_text("heard")
    check_accessible(page)
    page.get_by_label("Pattern").fill("orders.placed.**")
    expect(page.get_by_text("does not match orders.placed")).to_be_visible()
    expect(page.get_by_label("Word by word").get_by_text("finds no word")).to_be_visible()
    page.get_by_label("Type of event").fill("job.failed")
    page.get_by_label("Pattern").fill("**")
    expect(page.get_by_text("It is one of Workbell's own")).to_be_visible()
    page.get_by_label("Pattern").fill("a*")
    expect(page.get_by_role("alert")).to_contain_text("one whole segment")

    page.get_by_role("link", name="Triggers").click()
    row = page.locator("tbody tr").filter(has_text="orders.*")
    row.get_by_role("button", name="Disable").click()
    expect(row).to_contain_text("disabled")
    assert not site.bell.triggers.get("heard").enabled
    event = site.bell.emit("orders.placed")
    drain(site.bell)
    assert [one.outcome for one in site.bell.events.matches(event.id)] == [MatchOutcome.DISABLED]
    row.get_by_role("button", name="Enable").click()
    expect(row.get_by_role("button", name="Disable")).to_be_visible()
    assert site.bell.triggers.get("heard").enabled

    held: list[Route] = []
    page.route("**/api/v1/jobs", lambda route: held.append(route))
    with page.expect_request("**/api/v1/jobs"):
        page.get_by_role("button", name="Add a trigger").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Job")).to_have_js_property("tagName", "SELECT")  # also before the jobs are known
    held[0].continue_()
    dialog.get_by_label("Name").fill(HOSTILE)
    dialog.get_by_label("Pattern").fill("people.**")
    dialog.get_by_label("Job").select_option("heard")
    dialog.get_by_role("button", name="Add trigger").click()
    made = page.locator("tbody tr").filter(has_text="people.**")
    expect(made).to_contain_text(HOSTILE)
    expect(made).to_contain_text("by hand")
    check_accessible(page)
    site.bell.emit("people.seen.late")
    drain(site.bell)
    expect(made).to_contain_text("succeeded")
    made.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(made).to_have_count(0)
    assert [one.name for one in site.bell.triggers.list()] == ["heard"]


def test_a_trigger_that_sends_to_all_endpoints(site: Site) -> None:
    """C8: made in the form, it makes a delivery for each endpoint; both ways lead from one to the other."""
    bell = site.bell
    endpoint, _ = bell.webhooks.add("https://hooks.example.com/x", patterns="nothing.like_this")
    page = site.open("/events?view=triggers")
    page.get_by_role("button", name="Add a trigger").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("everybody")
    dialog.get_by_label("Pattern").fill("people.*")
    dialog.get_by_label("Job").select_option("webhook-delivery")
    dialog.get_by_role("button", name="Add trigger").click()
    row = page.locator("tbody tr").filter(has_text="everybody")
    expect(row.get_by_role("link", name="webhook-delivery")).to_have_attribute("href", re.compile("/webhooks$"))
    assert bell.triggers.get("everybody").job == "webhook-delivery"
    event = bell.emit("people.seen")
    drain(bell, until_idle=False)  # the trigger's run, and not the delivery
    (execution,) = bell.executions(trigger="everybody")
    (delivery,) = bell.webhooks.deliveries(endpoint.id)
    expect(row).to_contain_text("succeeded")
    row.get_by_role("cell").get_by_role("link", name="succeeded").click()
    expect(page).to_have_url(re.compile(f"/runs/{execution.id}"))
    expect(page.get_by_text('"deliveries": 1')).to_be_visible()
    page = site.open(f"/events/{event.id}")
    expect(page.locator("tbody tr").filter(has_text="hooks.example.com")).to_contain_text(delivery.id[-6:])
    page = site.open(f"/runs/{delivery.id}")
    expect(page.get_by_role("link", name=f"webhook-delivery {execution.id[-8:]}")).to_be_visible()


def _expect_only_reading(page: Page) -> None:
    for name in ("Send a test event", "Send one like it", "Add a trigger", "Disable", "Remove"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)


def test_who_may_only_read_sees_pages_and_no_buttons(site: Site) -> None:
    for number in range(101):
        last = site.bell.emit("seen.often", {"n": number})
    drain(site.bell)
    page = site.open("/events", scopes=("read",), viewport={"width": 390, "height": 844})
    expect(page.locator("tbody tr")).to_have_count(100)
    _expect_only_reading(page)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.get_by_role("link", name="Older").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text('{"n":0}')
    page.get_by_role("link", name="Triggers").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    _expect_only_reading(page)
    page.goto(f"{site.url}/events/{last.id}")
    expect(page.get_by_text("Nothing matches")).to_be_visible()
    _expect_only_reading(page)
