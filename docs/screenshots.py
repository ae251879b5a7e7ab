"""Take the pictures of the README and the docs from the real page: `python docs/screenshots.py`.

It copies the example shop to a folder of its own, runs it with `workbell dev`, signs in with the URL that is printed,
and waits until there is something to see.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.chromium import HELP, chromium  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDE, LOW, NARROW = {"width": 1440, "height": 900}, {"width": 1440, "height": 640}, {"width": 390, "height": 844}
DEADLINE = 90_000
DRAWN = 5  # minutes of the chart in which something ended: what is drawn of fewer is no picture
LONGEST = 480_000
URL = re.compile(r"http://\S+\?token=\S+")


@contextmanager
def shop() -> Iterator[str]:
    """The example shop, running; its sign-in URL."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "shop"
        shutil.copytree(ROOT / "examples" / "first", place, ignore=shutil.ignore_patterns("*.db*", "__pycache__"))
        command = [sys.executable, "-m", "workbell", "dev", "--start", "open_shop"]
        environment = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen(  # noqa: S603
            command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            assert process.stdout is not None
            found = next(found for line in process.stdout if (found := URL.search(line)))
            drain(process)
            yield found.group()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def drain(process: subprocess.Popen[str]) -> None:
    """What it goes on printing must be read, or it would stand still."""
    import threading

    threading.Thread(target=lambda: [None for _ in process.stdout or ()], daemon=True).start()


def open_screen(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Screens").get_by_role("link", name=name, exact=True).click()
    expect(page.locator("main h1")).to_have_text(name)
    expect(page.locator("main .loading")).to_have_count(0)


def take(page: Page, name: str) -> None:
    page.mouse.move(1, 1)
    page.screenshot(path=IMAGES / f"{name}.png")


def main() -> None:
    path = chromium()
    if path is None:
        sys.exit(HELP)
    IMAGES.mkdir(exist_ok=True)
    expect.set_options(timeout=DEADLINE)
    with shop() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport=WIDE, color_scheme="light", timezone_id="Europe/Berlin")
        page.set_default_timeout(DEADLINE)
        page.goto(url)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="15 min").click()
        expect(page.locator(".figure").filter(has_text="failed (last")).not_to_contain_text(re.compile("^0"))
        minutes = page.locator(".chart-table tbody td:nth-child(2)").filter(has_text=re.compile("[1-9]"))
        expect(minutes.nth(DRAWN)).to_be_attached(timeout=LONGEST)
        expect(page.locator(".progress-note").filter(has_text="page").first).to_be_visible()
        take(page, "overview")
        open_screen(page, "Runs")
        expect(page.locator("tbody tr")).to_have_count(50)
        take(page, "runs")
        page.get_by_role("button", name="failed").click()
        page.locator("tbody tr").first.get_by_role("link").first.click()
        expect(page.get_by_text("How did it end?")).to_be_visible()
        page.set_viewport_size(LOW)  # what stands below names the paths of this machine
        take(page, "run")
        page.set_viewport_size(WIDE)
        open_screen(page, "Jobs")
        expect(page.locator(".strip").first).to_be_visible()
        take(page, "jobs")
        open_screen(page, "Schedules")
        page.locator("tbody tr").first.get_by_role("link").first.click()
        expect(page.locator("main h1")).not_to_have_text("Schedules")
        expect(page.locator("main .loading")).to_have_count(0)
        take(page, "schedule")
        page.get_by_label("Theme").select_option("dark")
        open_screen(page, "Overview")
        expect(page.locator(".progress-note").filter(has_text="page").first).to_be_visible()
        take(page, "overview-dark")
        page.set_viewport_size(NARROW)
        take(page, "overview-narrow")
        browser.close()


if __name__ == "__main__":
    main()
