"""The list of runs: what the address asks for, live rows that stay where they are, and actions on many of them."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Site, check_accessible
from workbell.testing import drain


def test_rows_come_by_themselves(site: Site) -> None:
    page = site.open("/runs")
    expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    run = site.bell.enqueue("send", {"to": "a@b.c"})
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("queued")
    drain(site.bell)
    expect(row).to_contain_text("succeeded")
    check_accessible(page)
    row.get_by_role("link", name="send").click()
    expect(page).to_have_url(f"{site.url}/runs/{run.id}")
