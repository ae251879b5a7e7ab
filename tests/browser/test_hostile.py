"""Hostile names, inputs, errors and logs on every screen: shown as text, executing nothing, within a narrow page."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from workbell import Context, Retry, Workbell
from workbell.testing import drain

MARK = "hacked"
CORPUS = (
    f"<script>window.{MARK}=1</script>",
    f'"><img src=x onerror="window.{MARK}=1">',
    f"'><svg onload=window.{MARK}=1>",
    f"javascript:window.{MARK}=1",
    f"</textarea></script><iframe srcdoc='<script>top.{MARK}=1</script>'>",
    f"${{window.{MARK}=1}} {{{{window.{MARK}=1}}}} <%= {MARK} %>",
    f"&lt;script&gt;window.{MARK}=1&lt;/script&gt; \\u003cscript\\u003e",
    "x" * 180,  # no place to break
    "עברית ‮ dlrow olleh ‬ 𝕏 ﷽",
)
NAMES = [text[:180] for text in CORPUS if text.isprintable()]
INPUT = {"__proto__": {"x": 1}, "constructor": CORPUS, **{text: [text, {text: text}] for text in CORPUS}}
SCREENS = """/ /runs /jobs /schedules /queues /workers /events /events?view=triggers
/webhooks /notifications /tokens /tenants /audit /doctor /jobs/100% /jobs/%E0%A4%A"""


def fill(bell: Workbell, folder: Path) -> list[str]:
    """Put the corpus wherever somebody can write; the addresses of what was made."""
    paths = []
    for place, name in enumerate(NAMES):

        @bell.job(name=name, queue=f"q{name}"[:190])
        def hostile(ctx: Context, name: str = name, **_more: Any) -> Any:
            ctx.progress(1, 2, name)
            for text in CORPUS:
                ctx.logger.warning(text)
            if len(name) % 2:
                raise ValueError("\n".join(CORPUS))
            return INPUT

        run = bell.enqueue(name, {"name": name}, tag=name, retry=Retry(attempts=1))
        bell.schedules.put(name, job=name, every=86_400 + place, description=CORPUS[0], input={"name": name})
        bell.notify(7, {"title": name, "body": INPUT})
        bell.tokens.create(name, scopes=["read"])
        bell.tenants.put(name, weight=2)
        endpoint = bell.webhooks.add(f"https://hooks.example.com/{quote(name)}", patterns=["**"], description=name)
        bell.webhooks.disable(endpoint.endpoint.id, reason=name)
        if place < 2:
            paths += [f"/runs/{run.id}", f"/webhooks/{endpoint.endpoint.id}"]
            paths += [f"/{screen}/{quote(name, safe='')}" for screen in ("jobs", "schedules", "queues")]
    event = bell.emit("orders.x", INPUT, subject=CORPUS[1], source=CORPUS[0], key=CORPUS[2])
    bell.enqueue(NAMES[0], {"name": NAMES[0]}, target=NAMES[1], delay=3600)
    bell.agents.pairing("<b>agent")
    (folder / "jobs").mkdir(exist_ok=True)
    (folder / "jobs" / "<img src=x>.py").write_text(f"{CORPUS[0]}\n")
    bell.engine.reload()
    drain(bell)
    bell.pause(queue=f"q{NAMES[1]}"[:190])
    return [*paths, f"/events/{event.id}"]


def test_nothing_of_it_is_executed(site: Site, tmp_path: Path) -> None:
    paths = [*SCREENS.split(), *fill(site.bell, tmp_path)]
    page = site.open("/", viewport={"width": 390, "height": 844})
    page.on("dialog", lambda dialog: (site.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
    for path in paths:
        visit(page, path)
        check_harmless(page, path)


def visit(page: Page, path: str) -> None:
    """As a click on a link does it: the page is not loaded anew."""
    page.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }", path)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator("main .loading")).to_have_count(0)


def check_harmless(page: Page, path: str) -> None:
    found = page.evaluate(
        """() => ({
            mark: window.hacked ?? null,
            made: document.querySelectorAll("main :is(img, iframe, script, svg[onload], object)").length,
            links: [...document.querySelectorAll("a")].map((a) => a.protocol).filter((p) => !p.startsWith("http")),
            handlers: [...document.querySelectorAll("main *")]
                .filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name))).length,
            wide: document.scrollingElement.scrollWidth > innerWidth
                ? [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth)
                    .map((e) => `${e.tagName}.${e.className}`).slice(0, 5)
                : [],
        })"""
    )
    assert found == {"mark": None, "made": 0, "links": [], "handlers": 0, "wide": []}, path
