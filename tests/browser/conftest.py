"""A real Chromium in front of a real server: a site with a few jobs, and pages on which nothing may go wrong.

The browser is shared by the tests of a module, and not by more: while it lives, the thread counts as one that runs an
event loop, and tests of other modules start their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.chromium import HELP, chromium
from tests.support.served import Served, served
from workbell import Context, Event, Workbell
from workbell.client import Client
from workbell.http.service import COOKIE
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
]
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium()
    if path is None:
        pytest.skip(HELP)
    expect.set_options(timeout=DEADLINE)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield launched
        launched.close()


def make_bell(folder: Path) -> Workbell:
    """A Workbell with jobs that work, fail, tell how far they are, and listen."""
    settings = Settings(url="memory://", storage=str(folder / "storage"), jobs=str(folder / "jobs"))
    bell = Workbell(settings=settings)

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


class Site:
    """A served Workbell, and how to look at it."""

    def __init__(self, served_: Served, browser: Browser) -> None:
        self.served = served_
        self.bell = served_.bell
        self.url = served_.url
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.wrong: list[str] = []
        self.requests: list[str] = []  # the paths that pages asked for, in order

    def context(
        self, *, scopes: tuple[str, ...] = ("admin",), tenant: str = EVERY_TENANT, **options: Any
    ) -> BrowserContext:
        """A browser that is signed in with these scopes."""
        made = self.bell.tokens.create("browser", scopes=scopes, tenant=tenant, kind=TokenKind.SESSION, user_id=7)
        context = self._browser.new_context(**({"timezone_id": "Europe/Berlin", "reduced_motion": "reduce"} | options))
        context.set_default_timeout(DEADLINE)
        context.add_cookies([{"name": COOKIE, "value": made.text, "url": self.url}])
        self._contexts.append(context)
        return context

    def open(self, path: str = "/", **options: Any) -> Page:
        """A page in a browser of its own; what goes wrong on it fails the test at its end."""
        page = self.context(**options).new_page()
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.wrong.append(f"error on the page: {error}"))
        page.on("request", lambda request: self._on_request(request.url))
        page.goto(f"{self.url}{path}")
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        return page

    def _on_console(self, message: Any) -> None:
        if message.type == "error" and "status of 4" not in message.text:  # a refusal is shown by the page itself
            self.wrong.append(f"console: {message.text}")

    def _on_request(self, url: str) -> None:
        if url.startswith(self.url):
            self.requests.append(url.removeprefix(self.url).partition("?")[0])
        elif not url.startswith(("data:", "blob:", "about:", "chrome-error:")):
            self.wrong.append(f"asked another site: {url}")

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def site(browser: Browser, tmp_path: Path) -> Iterator[Site]:
    bell = make_bell(tmp_path)
    try:
        with served(bell) as made:
            site = Site(made, browser)
            yield site
            site.close()
            assert not site.wrong, site.wrong
    finally:
        Client.close(bell)
        bell.store.close()


def check_accessible(page: Page) -> None:
    """No serious problem that axe-core can find."""
    found = Axe().run(page).response["violations"]
    serious = [
        f"{one['id']}: {one['help']}: {[node['html'][:200] for node in one['nodes']][:3]}"
        for one in found
        if one["impact"] in SERIOUS
    ]
    assert not serious, serious
