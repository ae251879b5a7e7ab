"""The bundle in a browser: it does what the modules do, and the page draws with few requests."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Chrome, Site
from workbell.http.dashboard.bundle import bundle_script


def printed(chrome: Chrome, sources: dict[str, str]) -> str:
    """What the bundle leaves in `globalThis.said`."""
    page = chrome.context("bundle").new_page()
    page.add_script_tag(content=bundle_script(sources, "main.js"), type="module")
    page.wait_for_function("globalThis.said !== undefined")
    said: str = page.evaluate("globalThis.said")
    page.close()
    return said


def test_every_form_of_import_and_export(chrome: Chrome) -> None:
    sources = {
        "main.js": 'import whole from "./parts/default.js";\n'
        'import { one, two as second,\n  Thing } from "./parts/named.js";\n'
        'import { passed } from "./parts/passing.js";\n'
        'import{small as s}from"./parts/small.js";\n'
        'const later = await import("./parts/later.js");\n'
        "const said = [whole(), one, second(), new Thing().name, passed, s, later.word, await later.wait()];\n"
        'globalThis.said = said.join(" ");',
        "parts/default.js": 'export default function () { return "default"; }',
        "parts/named.js": "export const one = 1;\nexport function two() {\n  return one + 1;\n}\n"
        'export class Thing {\n  name = "thing";\n}\n',
        "parts/passing.js": 'export { original as passed } from "./small.js";',
        "parts/small.js": 'var a="original",b="small";export{a as original,b as small};',
        "parts/later.js": 'import { one } from "./named.js";\nexport const word = `later ${one}`;\n'
        'export async function wait() {\n  return "waited";\n}',
    }
    assert printed(chrome, sources) == "default 1 2 thing original small later 1 waited"


def test_a_module_is_executed_once_and_behind_its_imports(chrome: Chrome) -> None:
    sources = {
        "main.js": 'import { b } from "./b.js";\nimport { a } from "./a.js";\n'
        'globalThis.said = [a, b, globalThis.seen].join(" ");',
        "a.js": 'globalThis.seen = (globalThis.seen ?? "") + "a";\nexport const a = 1;',
        "b.js": 'import { a } from "./a.js";\nglobalThis.seen += "b";\nexport const b = a + 1;',
    }
    assert printed(chrome, sources) == "1 2 ab"


def test_a_visit_takes_few_files(site: Site) -> None:
    page = site.context(accept_downloads=False).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(site.url)))
    for path in ("/runs", "/schedules"):
        page.goto(f"{site.url}{path}")
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
    files = {path.rpartition("/")[2] for path in asked if path.startswith("/static/")}
    assert files <= {"bundle.css", "bundle.js", "theme.js", "bell.svg"}


def test_single_files_draw_the_same_page(site: Site) -> None:
    page = site.open("/runs?debug")
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
