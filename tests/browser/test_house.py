"""Notifications, tokens, tenants, the audit log and the doctor."""

from __future__ import annotations

import re

import httpx2
from playwright.sync_api import expect

from tests.browser.conftest import Site, check_accessible
from tests.browser.test_hostile import visit


def test_notifications_are_told_and_read(site: Site) -> None:
    page = site.open("/notifications")
    expect(page.get_by_text("There are no notifications yet")).to_be_visible()
    site.bell.notify(7, {"text": "Your report is ready.", "id": 2**60 + 1})
    row = page.locator("tbody tr")
    expect(row).to_contain_text("Your report is ready.")
    expect(row).to_contain_text("unread")
    check_accessible(page)
    row.get_by_role("button", name="Read").click()
    expect(row.locator(".status")).to_have_text(re.compile("^✓read$"))
    assert site.bell.notifications.list(7, unread=True) == []
    page.get_by_role("button", name="Send notification").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Send", exact=True).click()
    expect(dialog).to_contain_text("The recipient")
    for person in ("ada", "7"):  # a text, and a number
        dialog.get_by_label("User id").fill(person)
        dialog.get_by_role("button", name="Send", exact=True).click()
        expect(dialog).to_have_count(0)
        page.get_by_role("button", name="Send notification").click()
    assert [one.data for one in site.bell.notifications.list("ada")] == [{"text": "Hello"}]
    assert len(site.bell.notifications.list(7)) == 2
    dialog.get_by_label("Everybody of this tenant").check()
    check_accessible(page)
    dialog.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("tbody tr").first).to_contain_text("everybody")
    assert next(one.data for one in site.bell.notifications.list(7)) == {"text": "Hello"}


def test_a_token_is_made_and_revoked(site: Site) -> None:
    page = site.open("/tokens")
    page.get_by_role("button", name="New token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("grafana")
    check_accessible(page)
    dialog.get_by_role("button", name="Create token").click()
    text = dialog.get_by_role("region", name="Token").inner_text().strip()
    assert text.startswith("wb_")
    assert ask(site, text) == 200
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")  # as on plain HTTP
    page.evaluate("document.addEventListener('copy', () => { window.copied = document.activeElement.value; })")
    dialog.get_by_role("button", name="Copy").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_focused()
    assert page.evaluate("window.copied") == text
    dialog.get_by_role("button", name="I have saved it").click()
    expect(page.get_by_role("button", name="New token")).to_be_focused()
    row = page.locator("tbody tr").filter(has_text="grafana")
    expect(row).to_contain_text("valid")
    expect(page.locator("main")).not_to_contain_text(text)
    check_accessible(page)
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(row).to_have_count(0)
    expect(page.get_by_role("main")).to_be_focused()  # the button is gone with its row
    assert ask(site, text) == 401


def test_a_token_of_a_person_whose_id_is_a_text(site: Site) -> None:
    page = site.open("/tokens")
    for name, typed in (("hers", "ada"), ("his", "7"), ("nobody's", "")):
        page.get_by_role("button", name="New token").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Name").fill(name)
        dialog.get_by_label("User id").fill(typed)
        dialog.get_by_role("button", name="Create token").click()
        dialog.get_by_role("button", name="I have saved it").click()
        expect(page.locator("tbody tr").filter(has_text=name)).to_contain_text(typed or "–")
    made = {one.name: one.user_id for one in site.bell.tokens.list()}
    assert (made["hers"], made["his"], made["nobody's"]) == ("ada", 7, None)
    page.get_by_role("button", name="New token").click()
    page.get_by_role("dialog").get_by_label("User id").fill("-7")
    page.get_by_role("dialog").get_by_role("button", name="Create token").click()
    expect(page.get_by_role("dialog")).to_contain_text("neither a whole number from 0 nor a text")


def ask(site: Site, text: str) -> int:
    return httpx2.get(f"{site.url}/api/v1/runs", headers={"Authorization": f"Bearer {text}"}).status_code


def test_tenants_audit_and_doctor(site: Site) -> None:
    page = site.open("/tenants")
    page.get_by_role("button", name="New tenant").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("acme & co")
    dialog.get_by_label("Weight").fill("3")
    dialog.get_by_label("Rate of starts").fill("soon")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("rate")  # the server's words, where they can be read
    dialog.get_by_label("Rate of starts").fill("100/m")
    check_accessible(page)
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("tbody tr").filter(has_text="acme & co")).to_contain_text("100/m")
    assert site.bell.tenants.get("acme & co").weight == 3
    check_accessible(page)
    site.bell.for_tenant("acme & co").enqueue("send", {"to": "x"})
    page.get_by_role("link", name="acme & co").click()
    expect(page.locator(".figure").filter(has_text="queued")).to_contain_text("1")
    page.get_by_role("link", name="Runs", exact=True).click()  # the tenant stays
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Tenant").select_option("")
    expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    page.get_by_role("link", name="Audit").click()
    page.get_by_role("link", name="All tenants").click()
    entry = page.locator("tbody tr").filter(has_text="acme")
    expect(entry).to_contain_text("tenants.put")
    [session] = [one for one in site.bell.tokens.list(tenant="*") if one.name == "browser"]
    expect(entry).to_contain_text("session:browser")  # who it was: kind, name, token and person
    expect(entry).to_contain_text(f"token …{session.id[-8:]}")
    expect(entry).to_contain_text("user 7")
    check_accessible(page)
    page.get_by_role("link", name="Doctor").click()
    expect(page.locator(".finding").first).to_be_visible()
    check_accessible(page)


def test_what_a_token_of_one_tenant_may_not(site: Site) -> None:
    page = site.open("/tenants", scopes=("admin",), tenant="default")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
    page.get_by_role("link", name="Doctor").click()
    expect(page.get_by_text("needs a token for all tenants")).to_be_visible()
    visit(page, "/runs?tenant=nowhere")
    expect(page.get_by_role("alert")).to_contain_text("There is no tenant 'nowhere' here.")


def test_a_token_that_may_nothing_has_a_person(site: Site) -> None:
    site.bell.notify(7, {"text": "Your report is ready."})
    page = site.open("/", scopes=())
    expect(page.get_by_text("This needs a token with the scope read; yours has none.")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_role("listitem")).to_have_text(["Notifications"])
    page.get_by_role("link", name="Your notifications").click()
    expect(page.locator("tbody tr")).to_contain_text("Your report is ready.")
    page.get_by_role("button", name="Read", exact=True).click()
    expect(page.get_by_role("main")).to_be_focused()
    assert site.bell.notifications.list(7, unread=True) == []
