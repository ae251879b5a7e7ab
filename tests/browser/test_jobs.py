"""Jobs: what starts each and how it goes, files that are broken, running one by hand, and pausing it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import Site, check_accessible
from tests.support.waiting import until
from workbell import Retry, Workbell
from workbell.engine.clean_history import CleanHistory
from workbell.testing import drain

NIGHTLY = '''"""Counts what was sold."""
schedule = "0 3 * * *"
timezone = "Europe/Paris"


def run(ctx):
    return 1
'''
HOSTILE = """a/b "c" 'd' <script>window.harmed = 1</script>"""


def test_a_definition_shows_its_handler_and_template(site: Site) -> None:
    """D2."""
    site.bell.jobs.put("send-eu", handler="send", input={"to": "eu@b.c"}, description="To Europe.")
    site.bell.jobs.disable("send-eu")
    page = site.open("/jobs")
    row = page.locator("tbody tr", has=page.get_by_role("link", name="send-eu"))
    for text in ("To Europe.", "disabled"):
        expect(row).to_contain_text(text)
    page = site.open("/jobs/send-eu")
    facts = page.get_by_role("main")
    for text in ("Input template", '{"to":"eu@b.c"}', "disabled: it takes no new runs"):
        expect(facts).to_contain_text(text)
    check_accessible(page)
    facts.get_by_role("link", name="send", exact=True).click()
    expect(page.locator("h1")).to_have_text("send")
    site.bell.jobs.delete("send-eu")


def test_a_definition_is_disabled_and_enabled(site: Site) -> None:
    """D2."""
    site.bell.jobs.put("send-eu", handler="send", input={"to": "eu@b.c"})
    page = site.open("/jobs/send-eu")
    main = page.get_by_role("main")
    main.get_by_role("button", name="Disable", exact=True).click()
    expect(page.locator("h1")).to_contain_text("disabled")
    assert not site.bell.jobs.get("send-eu").enabled
    expect(main.get_by_role("button", name="Run now")).to_have_count(0)
    check_accessible(page)
    main.get_by_role("button", name="Enable", exact=True).click()
    expect(page.locator("h1")).not_to_contain_text("disabled")
    expect(main.get_by_role("button", name="Run now")).to_be_visible()
    main = site.open("/jobs/send").get_by_role("main")
    expect(main.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    expect(main.get_by_role("button", name="Disable", exact=True)).to_have_count(0)
    site.bell.jobs.delete("send-eu")


def test_a_definition_whose_handler_nobody_has_says_so(site: Site) -> None:
    """D2."""
    site.bell.jobs.put("send-us", handler="sned")
    page = site.open("/jobs/send-us")
    expect(page.get_by_role("main")).to_contain_text("Its handler is job 'sned'.")
    site.bell.jobs.delete("send-us")


def test_the_list_shows_how_jobs_go_and_which_files_are_broken(site: Site, tmp_path: Path) -> None:
    bell, engine = site.bell, site.bell.engine
    engine.folder = tmp_path
    nightly = tmp_path / "jobs" / "nightly.py"
    nightly.parent.mkdir()
    nightly.write_text(NIGHTLY)
    other = Workbell(store=bell.store)  # another program, with a job that the server has no code of

    @other.job
    def elsewhere() -> None: ...

    bell.store.jobs.put(other.registry.declared_jobs(bell.store.clock, bell.tenant))
    for number in range(3):
        bell.enqueue("send", {"to": f"{number}@b.c"})
    bell.enqueue("broken", {"order": 5}, retry=Retry(attempts=1))
    drain(bell)
    page = site.open("/jobs")
    rows = {
        name: page.locator("tbody tr", has=page.get_by_role("link", name=name, exact=True))
        for name in ("send", "broken", "heard", "nightly", "elsewhere")
    }
    expect(rows["send"]).to_contain_text("Send a parcel.")
    expect(rows["send"].locator(".strip-good")).to_have_count(3)
    expect(rows["broken"].locator(".strip-bad")).to_have_count(1)
    expect(rows["broken"]).to_contain_text("slow")
    expect(rows["elsewhere"]).to_contain_text("not known here")
    expect(rows["nightly"]).to_have_count(0)
    bell.pause(job="broken")
    expect(rows["broken"]).to_contain_text("paused")

    engine.reload()
    engine.put_triggers()
    expect(rows["nightly"]).to_contain_text("Counts what was sold.")
    expect(rows["heard"]).to_contain_text("on orders.*")
    nightly.write_text(NIGHTLY.replace("(ctx)", "(ctx"))
    engine.reload()
    problem = page.locator("section", has_text="Files that could not be loaded")
    expect(problem).to_contain_text("jobs/nightly.py, line 6: it cannot be read as Python")
    expect(problem).to_contain_text("Its last version keeps running.")
    expect(page.locator(".reloads")).to_have_text("")  # it is said once
    check_accessible(page)
    rows["nightly"].get_by_role("link", name="nightly", exact=True).click()
    expect(page.locator("main .trouble")).to_contain_text("jobs/nightly.py, line 6")
    expect(page.get_by_text("at 03:00, every day, Europe/Paris")).to_be_visible()
    nightly.write_text(NIGHTLY.replace("return 1", "return 2"))
    engine.reload()
    expect(page.locator("main .trouble")).to_have_count(0)
    expect(page.locator(".reloaded")).to_have_text("reloaded jobs/nightly.py · job nightly")

    page.get_by_role("navigation").get_by_role("link", name="Jobs").click()
    page.get_by_label("Filter", exact=True).fill("ORDERS")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(rows["heard"]).to_be_visible()
    expect(page).to_have_url(f"{site.url}/jobs?q=ORDERS")
    page.get_by_label("Filter", exact=True).fill("nothing like it")
    expect(page.get_by_text("No job has “nothing like it” in it.")).to_be_visible()


def test_run_now(site: Site) -> None:
    """The form is made from the signature; what is wrong is said at the field, or by the server."""

    @site.bell.job(queue="parcels", timeout=90, concurrency=2, concurrency_key="to")
    def ship(to: str, fragile: bool, urgent: bool = False, copies: int = 1, items: list[str] | None = None) -> None: ...

    page = site.open("/jobs/ship")
    expect(page.get_by_text("2 at once for each to")).to_be_visible()
    retry = "3 attempts: 1 s after the first failure, then 2 times as long each time, at most 1 min"
    expect(page.get_by_text(retry)).to_be_visible()
    page.get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("integer, else 1")).to_be_visible()
    check_accessible(page)
    dialog.get_by_label("to *").fill("Ada <b>&</b> Co")
    dialog.get_by_label("urgent").select_option("true")
    dialog.get_by_label("copies").fill("many")
    dialog.get_by_label("items").fill('["a", 2]')
    dialog.get_by_text("Options").click()
    dialog.get_by_label("Delay").fill("3600")
    dialog.get_by_label("Priority").fill("7.5")
    dialog.get_by_label("Tag").fill("by hand")
    send = dialog.get_by_role("button", name="Run now")
    send.click()
    expect(dialog.locator(".field", has_text="copies")).to_contain_text("This is no integer.")
    expect(dialog.locator(".field", has_text="fragile")).to_contain_text("This is needed.")
    expect(dialog.get_by_label("fragile")).to_be_focused()  # the first that is wrong
    dialog.get_by_label("fragile").select_option("false")
    dialog.get_by_label("copies").fill("9007199254740993")
    as_json = dialog.get_by_label("Edit as JSON")
    as_json.check()
    text = dialog.get_by_label("Input as JSON").input_value()
    dialog.get_by_label("Input as JSON").fill(text.replace("{", '{"more": null,'))
    as_json.click()
    expect(dialog.get_by_role("alert")).to_have_text("The form cannot hold all of this, so it stays JSON.")
    expect(as_json).to_be_checked()
    dialog.get_by_label("Input as JSON").fill(text)
    as_json.uncheck()
    expect(dialog.get_by_label("copies")).to_have_value("9007199254740993")
    send.click()
    expect(dialog.locator(".field", has_text="Priority")).to_contain_text("A whole number from -100 to 100.")
    dialog.get_by_label("Priority").fill("7")
    send.click()
    expect(dialog.get_by_role("alert")).to_contain_text("job ship: the argument 'items[1]': expected str, got int")
    assert not site.bell.runs(job="ship")
    dialog.get_by_label("items").fill('["a", "b"]')
    send.click()
    expect(dialog).to_have_count(0)
    (run,) = site.bell.runs(job="ship")
    expect(page).to_have_url(f"{site.url}/runs/{run.id}")
    expected = {"to": "Ada <b>&</b> Co", "fragile": False, "urgent": True, "copies": 2**53 + 1, "items": ["a", "b"]}
    assert run.input == expected
    assert (run.status, run.queue, run.priority, run.tag) == ("scheduled", "parcels", 7, "by hand")


def test_a_job_of_any_name_is_paused_and_resumed(site: Site) -> None:
    @site.bell.job(name=HOSTILE)
    def hostile() -> None: ...

    site.bell.enqueue(HOSTILE)
    drain(site.bell)
    address = f"/jobs/{quote(HOSTILE, safe='')}"
    page = site.open("/jobs")
    page.get_by_role("link", name=HOSTILE, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(HOSTILE)
    expect(page.locator(".job-strip .strip-good")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("succeeded")
    page.get_by_role("button", name="Pause", exact=True).last.click()
    expect(page.locator("h1")).to_contain_text("paused")
    assert [pause.job for pause in site.bell.pauses()] == [HOSTILE]
    check_accessible(page)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1")).not_to_contain_text("paused")
    assert not site.bell.pauses()
    page.get_by_role("button", name="Run now").click()
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    page.wait_for_url(f"{site.url}/runs/*")
    assert page.url.rpartition("/")[2] == site.bell.runs(job=HOSTILE)[0].id
    assert len(site.bell.runs(job=HOSTILE)) == 2
    assert page.evaluate("window.harmed") is None

    reader = site.open(address, scopes=("read",), tenant=site.bell.tenant)
    expect(reader.locator("tbody tr")).to_have_count(2)
    expect(reader.locator("main").get_by_role("button")).to_have_count(0)
    assert reader.evaluate("window.harmed") is None


def test_the_system_s_own_job_is_only_looked_at(site: Site) -> None:
    """B7: it starts by itself, and nobody can enqueue or pause it."""
    bell, clock = site.bell, site.bell.store.clock
    clean = CleanHistory(bell.store, bell.runtime.booking, bell.tenant, "w", 3600, timedelta(seconds=30))
    clean.step(clock.now())
    clean.step(clock.now() + timedelta(minutes=1))  # which notes the job; the first run is made an hour later

    def succeeded() -> bool:
        clean.step(clock.now() + timedelta(minutes=62))
        return bool(bell.runs(job="clean-history", status="succeeded"))

    until(succeeded, "the end of its run")
    (run,) = bell.runs(job="clean-history")
    page = site.open("/jobs")
    row = page.locator("tbody tr", has=page.get_by_role("link", name="clean-history", exact=True))
    expect(row).to_contain_text("by itself")
    expect(row).not_to_contain_text("not known here")
    page = site.open("/jobs/clean-history")
    expect(page.locator(f"tbody a[href*='{run.id}']").first).to_be_visible()
    for name in ("Run now", "Pause"):
        expect(page.get_by_role("main").get_by_role("button", name=name, exact=True)).to_have_count(0)
