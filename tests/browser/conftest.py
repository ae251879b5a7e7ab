"""A real Chromium in front of a real server: a site with a few jobs, and pages on which nothing may go wrong.

One browser serves the tests of this folder that a process runs in a row: to start one costs a second of CPU, and the
dashboard's files are cached in it. It ends before tests of other folders, which run event loops of their own on this
thread, where Playwright's counts as running.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.chromium import HELP, chromium
from tests.support.fresh_store import fresh_store
from tests.support.served import Served, served
from workbell import Context, Event, Workbell
from workbell.http.policies.session_cookie import COOKIE
from workbell.model.access import EVERY_TENANT, TokenKind
from workbell.settings import Settings

DEADLINE = 15_000  # milliseconds, for whatever the page is to show
ARGUMENTS = [
    "--no-sandbox",  # needed by root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # One process for all pages, and none in reserve: a third of the cost of a page.
    "--renderer-process-limit=1",
    "--process-per-site",
    "--in-process-gpu",
    "--disable-features=SpareRendererForSitePerProcess,IsolateOrigins,site-per-process,Translate,OptimizationHints",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # who asks another site fails, and the test with it
]
SERIOUS = ("serious", "critical")
AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Tests may call `bell.wait`: Playwright keeps its own event loop in this thread, and nothing else waits on it."""
    item.add_marker(pytest.mark.filterwarnings("ignore:bell.wait blocks the event loop:RuntimeWarning"))


@pytest.fixture(scope="package")
def chrome() -> Iterator[Chrome]:
    path = chromium()
    if path is None:
        pytest.fail(HELP)
    expect.set_options(timeout=DEADLINE)
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=path, args=ARGUMENTS) as browser:
        yield Chrome(browser)


def make_bell(folder: Path) -> Workbell:
    """A Workbell with jobs that work, fail, tell how far they are, and listen."""
    settings = Settings(storage=str(folder / "storage"), jobs=str(folder / "jobs"))
    bell = Workbell(store=fresh_store(), settings=settings)

    @bell.job
    def send(ctx: Context, to: str, urgent: bool = False, copies: int = 1) -> dict[str, Any]:
        """Send a parcel."""
        ctx.logger.info(f"packing for {to}")
        return {"sent": to}

    @bell.job(queue="slow")
    def broken(order: int) -> None:
        raise ValueError(f"there is no order {order}")

    @bell.on("orders.*")
    def heard(event: Event) -> str:
        return event.type

    return bell


class Chrome:
    """A browser, and its contexts by what they are made with. A context keeps the files of the dashboard that it has
    loaded, so that not every test has them sent and compiled anew; sites that follow each other have the same port."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._contexts: dict[str, BrowserContext] = {}

    def context(self, name: str, **options: Any) -> BrowserContext:
        key = f"{name} {options}"
        if key not in self._contexts:
            usual = {"timezone_id": "Europe/Berlin", "reduced_motion": "reduce"}
            self._contexts[key] = self.browser.new_context(**(usual | options))
            self._contexts[key].set_default_timeout(DEADLINE)
        return self._contexts[key]

    def forget(self) -> None:
        """Whatever a test has left behind, but for the files."""
        for context in self._contexts.values():
            for page in context.pages:
                if page.url.startswith("http"):
                    page.evaluate("localStorage.clear()")
                page.close()
            context.clear_cookies()
            context.clear_permissions()


class Site:
    """A served Workbell, and how to look at it."""

    def __init__(self, served_: Served, chrome: Chrome) -> None:
        self.served = served_
        self.bell = served_.bell
        self.url = served_.url
        self._chrome = chrome
        self.wrong: list[str] = []
        self.expected = ""  # part of an error on the console that belongs to the test
        self.requests: list[str] = []  # the paths that watched pages asked for, in order

    def context(
        self, *, scopes: tuple[str, ...] = ("admin",), tenant: str = EVERY_TENANT, **options: Any
    ) -> BrowserContext:
        """A browser that is signed in with these scopes."""
        made = self.bell.tokens.create("browser", scopes=scopes, tenant=tenant, kind=TokenKind.SESSION, user_id=7)
        context = self._chrome.context(f"{scopes} {tenant}", **options)
        context.add_cookies([{"name": f"{COOKIE}_{urlsplit(self.url).port}", "value": made.text, "url": self.url}])
        return context

    def open(self, path: str = "/", **options: Any) -> Page:
        """A page; what goes wrong on it fails the test at its end."""
        page = self.context(**options).new_page()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.wrong.append(f"error on the page: {error}"))
        page.goto(f"{self.url}{path}", wait_until="commit")
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        return page

    def watch(self, page: Page) -> None:
        """Note what it asks for from now on."""
        page.on("request", lambda request: self.requests.append(request.url.removeprefix(self.url)))

    def _on_console(self, message: Any) -> None:
        refused = "status of 4" in message.text  # shown by the page itself
        expected = self.expected and self.expected in message.text
        if message.type == "error" and not refused and not expected:
            self.wrong.append(f"console: {message.text}")


@pytest.fixture
def site(chrome: Chrome, tmp_path: Path) -> Iterator[Site]:
    bell = make_bell(tmp_path)
    try:
        with served(bell) as made:
            site = Site(made, chrome)
            yield site
            chrome.forget()
            assert not site.wrong, site.wrong
    finally:
        bell.runtime.close()
        bell.store.close()


def check_accessible(page: Page) -> None:
    """No serious problem that axe-core can find by the rules of WCAG, up to 2.2 AA."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("rules => axe.run(document, rules)", RULES)["violations"]
    serious = [
        f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes']][:3]}"
        for one in found
        if one["impact"] in SERIOUS
    ]
    assert not serious, serious
