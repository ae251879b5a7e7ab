"""The overview, queues and workers: what is told, live, and what can be done about it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Site, check_accessible
from workbell import Retry


def test_the_overview_tells_how_it_goes(site: Site) -> None:
    bell = site.bell
    made = [bell.enqueue("send", {"to": f"{number}@b.c"}) for number in range(3)]
    made.append(bell.enqueue("broken", {"order": 7}, retry=Retry(attempts=1)))
    with site.served.working():
        for run in made:
            bell.wait(run.id, timeout=15)
    bell.schedules.put("nightly", job="send", cron="0 3 * * *", timezone="Europe/Berlin", input={"to": "x"})
    bell.pause(queue="slow")
    bell.enqueue("broken", {"order": 8})
    page = site.open("/")
    figure = page.locator(".figure")
    expect(figure.filter(has_text="queued")).to_contain_text("1")
    expect(figure.filter(has_text="failed (last 1 hour)")).to_contain_text("1")
    expect(page.locator("section").filter(has_text="Failing jobs")).to_contain_text("broken")
    expect(page.locator("section").filter(has_text="Next runs")).to_contain_text("nightly")
    expect(page.locator("section").filter(has=page.get_by_role("heading", name="Queues"))).to_contain_text("paused")
    page.get_by_text("As a table").click()
    expect(page.locator(".chart-table")).to_be_visible()
    succeeded = page.locator(".chart-table tbody td:nth-child(2)").all_text_contents()
    assert sum(map(int, succeeded)) == 3  # the numbers of the chart, for who cannot see it
    check_accessible(page)
    page.get_by_role("link", name="1 day", exact=True).click()
    expect(page).to_have_url(re.compile("minutes=1440"))
    expect(page.get_by_role("link", name="1 day", exact=True)).to_have_attribute("aria-current", "true")


def test_a_queue_is_paused_and_resumed(site: Site) -> None:
    bell = site.bell
    bell.enqueue("send", {"to": "x"})
    page = site.open("/queues")
    row = page.locator("tbody tr").filter(has_text="default")
    row.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Pause it").click()
    expect(row).to_contain_text("paused")
    assert [pause.queue for pause in bell.pauses()] == ["default"]
    check_accessible(page)
    row.get_by_role("button", name="Resume").click()
    expect(row).to_contain_text("running")
    assert not bell.pauses()
    row.get_by_role("link", name="default").click()
    limits = page.locator("section").filter(has_text="Jobs and their limits")
    limits.locator("tr").filter(has_text="send").get_by_role("button", name="Pause here").click()
    expect(limits).to_contain_text("paused here")
    assert [(pause.queue, pause.job) for pause in bell.pauses()] == [("default", "send")]
    check_accessible(page)


def test_a_worker_is_drained_and_resumed(site: Site) -> None:
    with site.served.working():
        page = site.open("/workers")
        [seen] = site.bell.workers()
        page.get_by_role("button", name="Drain").click()
        page.get_by_role("button", name="Drain it").click()
        expect(page.get_by_text("Drained since")).to_be_visible()
        drained = site.bell.workers()[0].worker
        assert (drained.drained_at is None, drained.drain_seen_at is None) == (False, False)
        check_accessible(page)
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_text("Drained since")).to_have_count(0)
        assert site.bell.workers()[0].worker.id == seen.worker.id
        assert site.bell.workers()[0].worker.drained_at is None


def test_who_may_only_read_sees_no_buttons(site: Site) -> None:
    site.bell.enqueue("send", {"to": "x"})
    page = site.open("/queues", scopes=("read",))
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("navigation", name="Screens").get_by_role("link", name="Tokens")).to_have_count(0)
