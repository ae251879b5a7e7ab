"""First visit to the dashboard over a slow line: an empty cache, 100 ms latency and 200 kB/s by Chromium's own
throttling. Requests and time until the screen is drawn, as the page is served and with `?debug` (every file by itself);
median of five. Goal: at most 12 requests, and 2.5 s.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import ARGUMENTS
from tests.support.chromium import HELP, chromium
from tests.support.served import Served, served
from workbell import Workbell
from workbell.http.policies.session_cookie import COOKIE
from workbell.model.access import EVERY_TENANT, TokenKind
from workbell.settings import Settings

TIMES = 5
LATENCY, RATE = 100, 200_000  # milliseconds, bytes a second
SHOWN = "() => document.querySelector('main h1') && !document.querySelector('main .loading')"
MOST_REQUESTS, MOST_SECONDS = 12, 2.5


def visit(browser: Browser, site: Served, path: str) -> tuple[int, float]:
    """Requests and seconds until the screen is drawn."""
    made = site.bell.tokens.create("browser", scopes=["admin"], tenant=EVERY_TENANT, kind=TokenKind.SESSION, user_id=7)
    context = browser.new_context()
    context.add_cookies([{"name": f"{COOKIE}_{urlsplit(site.url).port}", "value": made.text, "url": site.url}])
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    throttled = {"offline": False, "latency": LATENCY, "downloadThroughput": RATE, "uploadThroughput": RATE}
    session.send("Network.emulateNetworkConditions", throttled)
    began = time.perf_counter()
    page.goto(site.url + path, wait_until="commit")
    page.wait_for_function(SHOWN, polling=10, timeout=60_000)
    found = len(asked), time.perf_counter() - began
    context.close()
    return found


def main() -> int:
    path = chromium()
    if path is None:
        sys.exit(HELP)
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(url=f"sqlite:///{folder}/visit.db", storage=f"{folder}/storage", jobs=f"{folder}/jobs")
        bell = Workbell(settings=settings)
        bell.job(main, name="work")
        with (
            served(bell) as site,
            sync_playwright() as playwright,
            playwright.chromium.launch(executable_path=path, args=ARGUMENTS) as browser,
        ):
            visit(browser, site, "/")  # Chromium starts
            print(
                f"First visit, {LATENCY} ms, {RATE // 1000} kB/s: requests and seconds until drawn, median of {TIMES}"
            )
            for screen in ("/", "/?debug"):
                found = [visit(browser, site, screen) for _ in range(TIMES)]
                requests, seconds = (median(values) for values in zip(*found, strict=True))
                line = f"  {screen:8} {requests:4.0f} requests  {seconds:5.2f} s"
                if screen == "/":
                    missed = requests > MOST_REQUESTS or seconds > MOST_SECONDS
                    line += f"   goal {MOST_REQUESTS}, {MOST_SECONDS} s: {'MISSED' if missed else 'ok'}"
                print(line, flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
