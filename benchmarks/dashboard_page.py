"""How fast the dashboard's screens show in a real Chromium, with a million finished runs and a hundred thousand more
waiting; and whether the page stays responsive while runs change hundreds of times a second.

A screen is shown when its heading stands and nothing on it says that it is loading; every one is to be within a second:
at a first visit, loaded again, and reached by a link. A task of the page's own thread that takes more than 100 ms is
one too long.

FINISHED, WAITING and EVENTS make the store smaller; SECONDS and RATE say how long and how fast runs change.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from dashboard import EVENTS, FINISHED, WAITING, Asker, facts_of, free_port, serve  # noqa: E402
from dashboard_fill import fill  # noqa: E402
from dashboard_load import Load  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from tests.support.chromium import HELP, chromium  # noqa: E402
from workbell import Workbell  # noqa: E402
from workbell.http.policies.session_cookie import COOKIE  # noqa: E402
from workbell.model.access import EVERY_TENANT, TokenKind  # noqa: E402
from workbell.settings import Settings  # noqa: E402

SECONDS = float(os.environ.get("SECONDS", "10"))
RATE = float(os.environ.get("RATE", "500"))  # changes a second
TIMES = int(os.environ.get("TIMES", "5"))
SHOWN = "() => document.querySelector('main h1') && !document.querySelector('main .loading')"
STEP = "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }"  # as a link does
SCREENS = """
    / /?minutes=10080 /runs /runs?status=queued /runs?status=failed /runs?job=mail.send /runs?before={middle}
    /runs?input.customer.id=42 /runs/{failed} /runs/{waiting} /jobs /jobs/mail.send /schedules /schedules/schedule-007
    /queues /queues/mail /workers /events /events/{event} /events?view=triggers /webhooks /webhooks/{endpoint}
    /notifications /tokens /tenants /audit /doctor
""".split()


def quick(number: int) -> int:
    return number


def work(url: str, stop: float) -> None:
    """Runs that change: each is made, starts and ends."""
    import asyncio

    bell = Workbell(settings=Settings(url=url, http=False))
    bell.job(quick)

    def make() -> None:
        made, began = 0, time.monotonic()
        while time.monotonic() < stop:
            due = int((time.monotonic() - began) * RATE / 3)
            if due > made:
                bell.enqueue_many([bell.request("quick", {"number": number}) for number in range(made, due)])
                made = due
            time.sleep(0.05)

    async def run() -> None:
        async with bell.running(queues=["default"]):
            await asyncio.to_thread(make)

    asyncio.run(run())


def open_page(browser: Browser, url: str, cookie: str) -> Page:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_cookies([{"name": f"{COOKIE}_{urlsplit(url).port}", "value": cookie, "url": url}])
    page = context.new_page()
    page.add_init_script(
        "window.tasks = []; new PerformanceObserver((list) => "
        "window.tasks.push(...list.getEntries().map((e) => e.duration))).observe({type: 'longtask', buffered: true})"
    )
    return page


def measure_screens(browser: Browser, page: Page, url: str, cookie: str, facts: dict[str, str]) -> None:
    page.goto(f"{url}/")
    page.wait_for_function(SHOWN)
    rows = []
    for path in (one.format(**facts) for one in SCREENS):
        taken: dict[str, list[float]] = {"first": [], "again": [], "by link": []}
        for _ in range(TIMES):
            stranger = open_page(browser, url, cookie)  # a browser that has kept nothing
            taken["first"].append(_opened(stranger, url + path))
            stranger.context.close()
            taken["again"].append(_opened(page, url + path))
            page.evaluate(STEP, "/doctor")
            page.wait_for_function(SHOWN, polling=10)
            taken["by link"].append(_stepped(page, path))
        rows.append((max(map(max, taken.values())), taken, path))
    late = sum(row[0] > 1000 for row in rows)
    print(f"\nscreens: {len(rows)}, {late} of them over 1 s in the worst of {TIMES}; worst and median in ms")
    print("  first visit        again      by link")
    for _, taken, path in sorted(rows, key=lambda row: -row[0]):
        print("  ".join(f"{max(one):6.0f} {sorted(one)[TIMES // 2]:5.0f}" for one in taken.values()), "", path)


def _opened(page: Page, url: str) -> float:
    began = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_function(SHOWN, polling=10)
    return (time.perf_counter() - began) * 1000


def _stepped(page: Page, path: str) -> float:
    began = time.perf_counter()
    page.evaluate(STEP, path)
    page.wait_for_function(SHOWN, polling=10)
    return (time.perf_counter() - began) * 1000


def measure_load(page: Page, url: str, path: str, bell: Workbell, store_url: str) -> None:
    page.goto(f"{url}{path}")
    page.wait_for_function(SHOWN)
    time.sleep(1)
    page.evaluate("window.tasks.length = 0")
    before = bell.runs(limit=1)[0].id
    process = multiprocessing.get_context("spawn").Process(
        target=work, args=[store_url, time.monotonic() + SECONDS + 2]
    )
    process.start()
    drawn = page.evaluate(
        """seconds => new Promise((done) => {
            let frames = 0, worst = 0, last = performance.now();
            const end = last + seconds * 1000;
            const frame = (now) => {
                worst = Math.max(worst, now - last); last = now; frames++;
                now < end ? requestAnimationFrame(frame) : done({frames, worst, tasks: window.tasks});
            };
            requestAnimationFrame(frame);
        })""",
        SECONDS,
    )
    process.join()
    changed = 3 * sum(1 for run in bell.runs(limit=1000, job="quick", status="succeeded") if run.id > before)
    worst = max(drawn["tasks"], default=0)
    print(
        f"{path}: tasks over 50 ms: {len(drawn['tasks'])}, the longest {worst:.0f} ms; {drawn['frames'] / SECONDS:.0f} "
        f"frames a second, the longest {drawn['worst']:.0f} ms; at least {changed} changes of the last runs seen"
    )


def main() -> None:
    path = chromium()
    if path is None:
        sys.exit(HELP)
    load = Load(FINISHED, WAITING, EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        store_url = f"sqlite:///{Path(folder) / 'bench.db'}"
        with Workbell(settings=Settings(url=store_url)) as bell:
            fill(load, bell.store, store_url)
            token = bell.tokens.create(scopes=["admin"], tenant=EVERY_TENANT, user_id=7).text
            cookie = bell.tokens.create(scopes=["admin"], tenant=EVERY_TENANT, user_id=7, kind=TokenKind.SESSION).text
            facts = {name: quote(value) for name, value in facts_of(load, bell).items()}
            port = free_port()
            server = multiprocessing.get_context("spawn").Process(target=serve, args=[port, store_url])
            server.start()
            try:
                Asker(port, token).wait()
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
                    page = open_page(browser, f"http://127.0.0.1:{port}", cookie)
                    measure_screens(browser, page, f"http://127.0.0.1:{port}", cookie, facts)
                    print(f"\n{RATE:g} changes a second for {SECONDS:g} s:")
                    for one in ("/runs", "/", "/runs?job=quick"):
                        measure_load(page, f"http://127.0.0.1:{port}", one, bell, store_url)
                    browser.close()
            finally:
                server.kill()
                server.join()


if __name__ == "__main__":
    main()
