"""The first minute: `workbell dev` prints a URL that signs in once, and the page tells what becomes of saved files."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Chrome, check_accessible
from tests.support import warm
from tests.support.command_line import environment
from tests.support.waiting import until
from workbell import Workbell

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "first"
URL = re.compile(r"^ *open +(http://[^/]+)(/\?token=\S+)$", re.MULTILINE)
HELLO = 'schedule = "* * * * * *"\n\n\ndef run():\n    return "one"\n'


@contextmanager
def shop(folder: Path) -> Iterator[tuple[str, str]]:
    """The example, before it is opened: where it listens, and the rest of the URL that signs in."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("*.db*", "__pycache__"))
    output = folder / "output.txt"
    with output.open("wb") as file:
        process = warm.start(
            "workbell",
            "dev",
            "--port",
            "0",
            folder=folder,
            environment=environment(WORKBELL_HTTP="true", WORKBELL_GRACE="0"),
            out=file,
        )
    try:
        found = until(lambda: URL.search(output.read_text()), "the URL to be printed")
        yield found[1], found[2]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, output.read_text()
    finally:
        process.kill()


def test_saved_files_show_on_the_page(chrome: Chrome, tmp_path: Path) -> None:
    folder = tmp_path / "first"
    hello, stock = folder / "jobs" / "hello.py", folder / "jobs" / "stock.py"
    with shop(folder) as (address, door), Workbell(f"sqlite:///{folder}/shop.db") as bell:
        page = chrome.browser.new_context(reduced_motion="reduce").new_page()
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(f"{address}{door}")
        check_accessible(page)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        expect(page).to_have_url(f"{address}/")  # no token is left in it
        other = chrome.browser.new_context().new_page()
        other.goto(f"{address}{door}")
        other.get_by_role("button", name="Sign in").click()
        expect(other.get_by_text("This URL has been used")).to_be_visible()
        other.close()

        page.get_by_role("link", name="Jobs").click()
        table = page.get_by_role("table", name="Jobs")
        for name in ("catalogue", "charge_card", "parcels", "stock"):
            expect(table.get_by_role("link", name=name, exact=True)).to_be_visible()
        notice, bar = page.locator(".reloaded"), page.locator(".reloads .trouble")
        hello.write_text(HELLO)
        expect(notice).to_have_text("loaded jobs/hello.py · job hello")
        expect(table.get_by_role("link", name="hello", exact=True)).to_be_visible()

        page.get_by_role("link", name="Queues").click()
        hello.write_text(HELLO.replace("def run():", "def run(:"))
        expect(bar).to_contain_text("jobs/hello.py, line 4: it cannot be read as Python")
        expect(bar).to_contain_text("Its last version keeps running.")
        expect(notice).to_have_count(0)
        check_accessible(page)
        broken_at = bell.store.clock.now()
        page.reload()  # what is still wrong is shown, what was loaded before is no news
        expect(bar).to_contain_text("jobs/hello.py, line 4")
        stock.write_text(stock.read_text() + "# saved\n")
        expect(notice.filter(has_text="reloaded jobs/stock.py · job stock")).to_be_visible()
        assert notice.count() == 1  # looked at once: they go by themselves
        until(lambda: "one" in results(bell, broken_at), "the last good version to run")

        page.clock.install()
        hello.write_text(HELLO.replace("one", "two"))
        expect(bar).to_have_count(0)
        notice = notice.filter(has_text="hello.py")
        expect(notice).to_have_text("reloaded jobs/hello.py · job hello")
        until(lambda: "two" in results(bell, broken_at), "the new version to run")
        page.clock.fast_forward(11_000)
        expect(notice).to_have_count(0)
        page.context.close()
        assert not wrong


def results(bell: Workbell, since: datetime) -> list[object]:
    return [run.result for run in bell.runs(job="hello", status="succeeded", limit=5) if run.created_at > since]
