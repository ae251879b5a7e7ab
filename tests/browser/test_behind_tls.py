"""The dashboard behind a proxy that does TLS, with `http_public_url`: what a browser keeps, and what it forgets."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from playwright.sync_api import expect

from tests.browser.conftest import Chrome, make_bell
from tests.support.served import served
from tests.support.tls_proxy import tls_proxy
from workbell.http.pages.login import login_url


def test_a_session_is_kept_for_https_alone_and_ends(chrome: Chrome, tmp_path: Path) -> None:
    bell = make_bell(tmp_path)
    try:
        with tls_proxy() as proxy:
            bell.settings = msgspec.structs.replace(bell.settings, http_public_url=proxy.url)
            with served(bell) as behind:
                proxy.backend = behind.server.servers[0].sockets[0].getsockname()[1]
                context = chrome.browser.new_context(ignore_https_errors=True)
                page = context.new_page()
                page.goto(login_url(bell, proxy.url))
                page.get_by_role("button", name="Sign in").click()
                expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
                [cookie] = context.cookies()
                name = f"__Host-workbell_session_{urlsplit(proxy.url).port}"
                assert (cookie["name"], cookie["secure"]) == (name, True)
                page.get_by_role("link", name="Runs", exact=True).click()
                expect(page.get_by_text("Nothing has run yet")).to_be_visible()
                bell.enqueue("send", {"to": "x"})
                expect(page.locator("tbody tr")).to_have_count(1)  # over the WebSocket
                page.get_by_text("Account").click()
                page.get_by_role("button", name="Sign out").click()
                expect(page.get_by_text("You are not signed in.")).to_be_visible()
                assert context.cookies() == []
                context.close()
    finally:
        bell.runtime.close()
        bell.store.close()
