"""How the page behaves: live, paused, hidden, by keyboard, by zone and theme, below a prefix, signed out."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import httpx2
import msgspec
import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Page, expect

from tests.browser.conftest import Chrome, Site, check_accessible, make_bell
from tests.support.served import served
from tests.support.waiting import until
from workbell.http.pages.login import login_url
from workbell.http.policies.session_cookie import COOKIE
from workbell.model.access import EVERY_TENANT, TokenKind


def test_pause_really_pauses(site: Site) -> None:
    page = site.open("/")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    hide(page, True, False, True, False)  # while it waits for answers
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused")).to_be_visible()
    page.wait_for_load_state("networkidle")
    until(lambda: len(site.served.service.hub) == 0)
    site.watch(page)
    site.bell.enqueue("send", {"to": "x"})
    page.wait_for_timeout(3000)  # longer than it waits between two questions when it is live
    assert site.requests == []
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".figure").filter(has_text="queued")).to_contain_text("1")


def test_the_pause_button_stays_where_it_is(site: Site) -> None:
    """One that moves between the press and the release of the mouse is not clicked."""
    page = site.open("/")
    status, button = page.get_by_role("status"), page.get_by_role("button", name="Pause")
    expect(status.filter(has_text="Live")).to_be_visible()
    live = button.bounding_box()
    hide(page, True)
    expect(status.filter(has_text="Resting")).to_be_visible()
    assert button.bounding_box() == live


def test_a_hidden_tab_is_silent(site: Site) -> None:
    page = site.open("/runs")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    until(lambda: len(site.served.service.hub) == 1)
    hide(page, True)
    until(lambda: len(site.served.service.hub) == 0)
    page.wait_for_load_state("networkidle")
    site.watch(page)
    site.bell.enqueue("send", {"to": "x"})
    page.wait_for_timeout(2500)
    assert site.requests == []
    hide(page, False)
    expect(page.locator("tbody tr")).to_have_count(1)


def hide(page: Page, *states: bool) -> None:
    """Hide the tab, or show it; several times without a pause."""
    page.evaluate(
        """states => states.forEach((hidden) => {
            Object.defineProperty(document, "hidden", {configurable: true, get: () => hidden});
            document.dispatchEvent(new Event("visibilitychange"));
        })""",
        list(states),
    )


def test_keys_zone_and_theme(site: Site) -> None:
    run = site.bell.enqueue("send", {"to": "x"})
    page = site.open("/runs")
    created, clock = page.get_by_role("columnheader").last, page.locator("tbody time .faint")
    expect(created).to_have_text(re.compile(r"^Created, (CET|CEST|GMT\+[12])$"))
    expect(clock).to_have_text(f"{run.created_at.astimezone(ZoneInfo('Europe/Berlin')):%H:%M:%S}")
    page.get_by_label("Zone of times").select_option("utc")
    expect(created).to_have_text("Created, UTC")
    expect(clock).to_have_text(f"{run.created_at:%H:%M:%S}")
    page.get_by_label("Theme").select_option("dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(created).to_have_text("Created, UTC")
    check_accessible(page)
    page.locator("body").press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Input field")).to_be_focused()
    page.get_by_role("link", name="send").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(run.id))
    expect(page.get_by_role("main")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("q")
    expect(page).to_have_url(re.compile("/queues$"))
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("to the filter")
    check_accessible(page)
    dialog.get_by_label("Keyboard shortcuts are on").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", level=1)).to_have_text("Queues")


def test_a_session_that_ends_is_told(site: Site) -> None:
    site.expected = "HTTP Authentication failed"  # of a page whose WebSocket connects again after the session's end
    page = site.open("/")
    page.get_by_text("Account").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are not signed in.")).to_be_visible()
    sign_in = page.get_by_role("button", name="Sign in")
    expect(sign_in).to_have_css("background-color", "rgb(79, 70, 229)")  # as the buttons of the dashboard
    expect(sign_in).to_have_css("color", "rgb(255, 255, 255)")
    check_accessible(page)
    reader = site.bell.tokens.create("reader", scopes=["read"], tenant="default").text
    page.get_by_label("Or paste a token").fill("wb_nonsense")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("status")).to_contain_text("not valid")
    page.goto(f"{site.url}/runs?job=a%2Fb")
    page.get_by_label("Or paste a token").fill(reader)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()  # and not just anywhere
    expect(page).to_have_url(f"{site.url}/runs?job=a%2Fb")
    for token in site.bell.tokens.list(tenant="default"):
        site.bell.tokens.revoke(token.id, tenant="default")
    expect(page.get_by_role("alert").filter(has_text="signed out")).to_be_visible()


def test_a_page_that_connects_writes_nothing(site: Site) -> None:
    """Its cookie opens the WebSocket: no ticket is made, however often the page is shown again."""
    before = sum(map(len, site.bell.store.tokens.export()))
    page = site.open("/runs")
    site.watch(page)
    for number in range(2):
        site.bell.enqueue("send", {"to": str(number)})
        expect(page.locator("tbody tr")).to_have_count(number + 1)
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Resume").click()
    assert sum(map(len, site.bell.store.tokens.export())) == before + 1  # the session, which the test made
    assert [path for path in site.requests if "ticket" in path] == []


def test_it_works_below_a_prefix(chrome: Chrome, tmp_path: Path) -> None:
    bell = make_bell(tmp_path)
    outer = FastAPI()
    outer.mount("/ops/jobs", bell.asgi())
    server = uvicorn.Server(uvicorn.Config(outer, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        text = bell.tokens.create("b", scopes=["admin"], tenant=EVERY_TENANT, kind=TokenKind.SESSION).text
        context = chrome.browser.new_context()
        context.add_cookies([{"name": f"{COOKIE}_{urlsplit(url).port}", "value": text, "url": f"{url}/ops/jobs/"}])
        page = context.new_page()
        page.goto(f"{url}/ops/jobs/")
        page.get_by_role("link", name="Runs", exact=True).click()
        expect(page).to_have_url(f"{url}/ops/jobs/runs")
        expect(page.get_by_text("Nothing has run yet")).to_be_visible()
        bell.enqueue("send", {"to": "x"})
        expect(page.locator("tbody tr")).to_have_count(1)  # the WebSocket too
        page.reload()
        expect(page.locator("tbody tr")).to_have_count(1)
        context.close()
    finally:
        server.should_exit = True
        thread.join(30)
        bell.runtime.close()
        bell.store.close()


def test_two_services_on_one_machine_do_not_sign_each_other_out(site: Site, chrome: Chrome, tmp_path: Path) -> None:
    """Cookies know no ports: who signs in to the second is still signed in to the first."""
    other = make_bell(tmp_path / "other")
    try:
        with served(other) as second:
            assert second.url != site.url
            context = chrome.browser.new_context()
            page = context.new_page()
            for bell, url in ((site.bell, site.url), (other, second.url)):
                page.goto(login_url(bell, url))
                page.get_by_role("button", name="Sign in").click()
                expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
            for url in (site.url, second.url):
                page.goto(f"{url}/runs")
                expect(page.get_by_text("Nothing has run yet")).to_be_visible()
            page.get_by_text("Account").click()
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_text("You are not signed in.")).to_be_visible()
            page.goto(f"{site.url}/runs")
            expect(page.get_by_text("Nothing has run yet")).to_be_visible()
            context.close()
    finally:
        other.runtime.close()
        other.store.close()


def test_a_refused_connection_says_why(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not that no server is there; as soon as there is room, the page is live by itself."""
    with monkeypatch.context() as full:
        service = site.served.service
        full.setattr(service, "settings", msgspec.structs.replace(service.settings, sockets_per_user=0))
        page = site.open("/runs")
        expect(page.get_by_role("alert")).to_contain_text("You have 0 connections open, as many as one caller may")
    expect(page.get_by_text("Nothing has run yet")).to_be_visible()


def test_an_unknown_address_is_a_page(site: Site) -> None:
    page = site.open("/nowhere/at/all?x=1")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    check_accessible(page)
    page.get_by_role("main").get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    html = {"Accept": "text/html,*/*"}
    stranger = httpx2.get(f"{site.url}/nowhere", headers=html)
    assert (stranger.status_code, stranger.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no such page" in stranger.text
    for path, headers in (("/nowhere", {}), ("/api/v1/nowhere", html), ("/api/nowhere", html)):
        answer = httpx2.get(f"{site.url}{path}", headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert httpx2.get(f"{site.url}/api/v1/bulk", headers=html).status_code == 405


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/x/y", "/tokens"])
def test_nothing_inline_is_needed(site: Site, path: str) -> None:
    """What the policy forbids, the page does not try."""
    page = site.context()
    del page
    text = site.bell.tokens.create("b", scopes=["admin"], tenant=EVERY_TENANT, kind=TokenKind.SESSION).text
    answer = httpx2.get(f"{site.url}{path}", cookies={f"{COOKIE}_{urlsplit(site.url).port}": text})
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text)
    assert not re.search(r"\s(on\w+|style)=", answer.text)
