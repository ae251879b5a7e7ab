"""The screen of one run: live while a worker runs it, its attempts and log, why it waits, and what can be done."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, check_accessible
from tests.support.waiting import until
from workbell import Context, Retry, Workbell
from workbell.cli.jobs.run import run_job
from workbell.model.rewind import KnownRun, Standing, compare
from workbell.model.run import Status
from workbell.testing import drain

HOSTILE = "<img src=x onerror=\"document.title='taken over'\"> </code></pre><script>alert(1)</script>"
DEADLINE = 30.0


@contextmanager
def working(bell: Workbell) -> Iterator[None]:
    """A worker in a thread of its own, because the browser keeps the event loop of this one."""
    ready, loop, done = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def work() -> None:
        async with bell.running(concurrency=2):
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(work()), name="worker", daemon=True)
    thread.start()
    try:
        assert ready.wait(DEADLINE)
        yield
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(DEADLINE)
        loop.close()


def copied(page: Page, name: str) -> str:
    """What the button of a block puts on the clipboard."""
    block = page.locator(".block").filter(has=page.get_by_role("region", name=name))
    block.get_by_role("button", name="Copy").click()
    expect(block.get_by_role("button", name="Copied")).to_be_visible()
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def words_of(text: str, command: str) -> list[str]:
    """The arguments that a real shell gives to a command, if the text is pasted into it."""
    script = f"{command}() {{ for word; do printf '%s\\0' \"$word\"; done; }}\n{text}\n"
    environment = {"WORKBELL_TOKEN": "secret", "PATH": "/nowhere"}  # should the quoting fail, there is nothing to run
    shell = ["/bin/sh", "-c", script]
    answer = subprocess.run(shell, env=environment, capture_output=True, check=True, timeout=DEADLINE)
    assert not answer.stderr
    return answer.stdout.decode().split("\0")[:-1]


def test_live_then_canceled_then_retried(site: Site) -> None:
    steps = threading.Semaphore(0)

    @site.bell.job
    def export(ctx: Context, rows: int) -> None:
        """Goes a step on for each release, until it is asked to stop."""
        ctx.progress(0, rows, "begun")
        for number in range(40):
            ctx.logger.info("early row %s", number)
        steps.acquire(timeout=DEADLINE)
        ctx.progress(1, rows, HOSTILE)
        ctx.logger.warning(HOSTILE)
        until(lambda: ctx.canceled, "the wish to stop")
        steps.acquire(timeout=DEADLINE)
        raise InterruptedError

    run = site.bell.enqueue("export", {"rows": 4}, tag="nightly")
    page = site.open(f"/runs/{run.id}")
    expect(page.get_by_role("region", name="Why is it waiting?")).to_contain_text("No worker is running; start one")
    title = page.title()
    with working(site.bell):
        expect(page.locator(".run-lead")).to_contain_text("running")
        expect(page.get_by_role("progressbar")).to_have_attribute("value", "0")
        log = page.get_by_role("region", name="Log")
        expect(log).to_contain_text("early row 39")

        # It is at its end by itself, stays where somebody has scrolled to, and goes back on request.
        expect(page.get_by_role("button", name="Newest")).to_have_count(0)
        assert page.evaluate("(box) => box.scrollTop > 0", log.element_handle())
        log.evaluate("(box) => { box.scrollTop = 0; }")
        expect(page.get_by_role("button", name="Newest")).to_be_visible()
        steps.release()
        expect(page.get_by_role("progressbar")).to_have_attribute("value", "25")
        expect(page.locator(".run-progress")).to_contain_text(HOSTILE)
        expect(log).to_contain_text(HOSTILE)
        assert log.evaluate("(box) => box.scrollTop") == 0
        page.get_by_role("button", name="Newest").click()
        expect(page.get_by_role("button", name="Newest")).to_have_count(0)
        assert log.evaluate("(box) => box.scrollTop") > 0

        page.get_by_label("Level").select_option("WARNING")
        expect(log.get_by_role("listitem")).to_have_count(1)
        page.get_by_label("Level").select_option("")
        page.get_by_label("Text", exact=True).fill("ROW 17")
        expect(log.get_by_role("listitem")).to_have_count(1)
        expect(page.get_by_text("1 of 41 lines")).to_be_visible()
        check_accessible(page)

        page.get_by_role("button", name="Cancel", exact=True).click()
        expect(page.get_by_role("dialog")).to_contain_text("its handler is asked to stop")
        page.get_by_role("button", name="Cancel the run").click()
        expect(page.locator(".run-lead")).to_contain_text("stopping")
        expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)
        steps.release()
        expect(page.locator(".run-lead")).to_contain_text("canceled")
        expect(page.get_by_role("region", name="How did it end?")).to_contain_text("It was canceled")
    assert site.bell.get(run.id).status is Status.CANCELED
    expect(page.locator(".timeline")).to_contain_text("Attempt 1")
    assert page.title() == title  # nothing of what it said was executed

    old = log.element_handle()
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("link", name=f"run {run.id[-8:]}")).to_be_visible()
    old.evaluate("box => box.dispatchEvent(new Event('scroll'))")  # which may come when the log is gone: no error
    [again] = site.bell.runs(status="queued")
    expect(page).to_have_url(f"{site.url}/runs/{again.id}")
    assert (again.retry_of, again.input) == (run.id, {"rows": 4})
    page.get_by_role("link", name="nightly").click()
    expect(page).to_have_url(f"{site.url}/runs?tag=nightly")
    expect(page.locator("tbody tr")).to_have_count(2)


def test_an_error_with_its_cause_its_members_and_its_note(site: Site) -> None:
    @site.bell.job(retry=Retry(attempts=1))
    async def charge() -> None:
        async def ask() -> None:
            try:
                json.loads("{")
            except ValueError as error:
                raise ConnectionError(f"the bank said {HOSTILE}") from error

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(ask())
        except ExceptionGroup as errors:
            errors.add_note("order 7")
            raise

    run = site.bell.enqueue("charge")
    drain(site.bell)
    page = site.open(f"/runs/{run.id}")
    error = page.get_by_role("region", name="Error of attempt 1")
    for words in ("1 of 1: ConnectionError: the bank said", "Caused by: json.decoder.JSONDecode", "Note: order 7"):
        expect(error).to_contain_text(words)
    expect(error).to_have_text(site.bell.get(run.id).error or "", use_inner_text=True)
    own = error.locator(".own-frame")
    expect(own.filter(has_text="> File")).to_have_count(3)
    expect(own.filter(has_text='raise ConnectionError(f"the bank')).to_have_count(1)
    expect(own.filter(has_text="json/decoder.py")).to_have_count(0)
    expect(page.locator(".error-type")).to_have_text("builtins.ExceptionGroup")
    expect(page.get_by_text("Error type")).to_be_visible()
    check_accessible(page)


def test_failed_attempts_and_once_more_with_another_input(site: Site) -> None:
    name = "-it's `a` $job"
    input: dict[str, Any] = {"order": 2**60 + 1, "note": "it's \"me\" $(echo a) `echo b` \\ !!\n\t€ 🙂 '; echo c; '"}

    @site.bell.job(name=name, retry=Retry(attempts=2, delay=0, jitter=0), queue="slow")
    def fails(ctx: Context, order: int, note: str) -> None:
        for number in range(700):
            ctx.logger.info("line %s", number)
        raise ValueError(f"{HOSTILE} {order}")

    run = site.bell.enqueue(name, input, priority=3)
    drain(site.bell)
    page = site.open(f"/runs/{run.id}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.get_by_role("region", name="How did it end?")).to_contain_text(
        f"after 2 attempts: ValueError: {HOSTILE}"
    )
    steps = page.locator(".timeline > li")
    expect(steps.filter(has_text="Attempt 1")).to_contain_text("failed")
    expect(steps.filter(has_text="Attempt 2")).to_contain_text("failed")
    expect(page.get_by_role("img", name="in 2 attempts")).to_be_visible()
    expect(page.get_by_role("region", name="Error of attempt 2")).to_contain_text("in fails")
    expect(page.get_by_role("region", name="Input")).to_contain_text(f'"order": {2**60 + 1},')
    expect(page.locator("main img")).to_have_count(0)

    lines = page.get_by_role("region", name="Log").get_by_role("listitem")
    expect(lines).to_have_count(1000)  # of 1,400, the newest
    page.get_by_role("button", name="Older lines").click()
    expect(lines).to_have_count(1400)
    expect(lines.first).to_contain_text("line 0")
    expect(lines.first).to_contain_text("#1")
    expect(page.get_by_role("button", name="Older lines")).to_have_count(0)
    page.get_by_label("Text", exact=True).fill("line 69")  # axe looks at every line
    expect(lines).to_have_count(2 * 11)
    check_accessible(page)

    page.get_by_text("Make such a run again").click()
    curl = words_of(copied(page, "Make it again with curl"), "curl")
    assert curl[:-1] == [
        f"{site.url}/api/v1/runs",
        "-H",
        "Authorization: Bearer secret",
        "-H",
        "Content-Type: application/json",
        "--data-raw",
    ]
    assert json.loads(curl[-1]) == {"job": name, "input": input, "queue": "slow", "priority": 3}
    command = words_of(copied(page, "Make it again with workbell"), "workbell")
    assert command[:2] == ["jobs", "run"]
    said = run_job.make_context("run", command[2:]).params
    assert (said["name"], said["given"]) == (name, input)
    page.get_by_text("Show this run").click()
    assert words_of(copied(page, "Show it with workbell"), "workbell") == ["runs", "show", run.id]
    assert words_of(copied(page, "Show it with curl"), "curl")[0] == f"{site.url}/api/v1/runs/{run.id}"

    page.get_by_role("button", name="Run again with edited input").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Input", exact=True)).to_have_count(0)  # the form can hold all of it
    dialog.get_by_label("order *").fill(str(2**60 + 3))
    dialog.get_by_text("When and where").click()
    dialog.get_by_label("Priority").fill("1000")
    check_accessible(page)
    dialog.get_by_role("button", name="Run it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("priority")
    dialog.get_by_label("Priority").fill("7")
    dialog.get_by_label("Delay").fill("3600")
    dialog.get_by_role("button", name="Run it").click()
    expect(page.locator(".run-lead")).to_contain_text("scheduled")
    [again] = site.bell.runs(status="scheduled")
    expect(page).to_have_url(f"{site.url}/runs/{again.id}")
    assert again.input == input | {"order": 2**60 + 3}
    assert (again.queue, again.priority) == ("slow", 7)


def test_only_looking(site: Site) -> None:
    site.bell.pause(queue="slow")
    run = site.bell.enqueue("broken", {"order": 1})
    foreign = site.bell.for_tenant("other").enqueue("send", {"to": "a@b.c"})
    page = site.open(f"/runs/{run.id}", scopes=("read",), tenant="default", viewport={"width": 390, "height": 844})
    why = page.get_by_role("region", name="Why is it waiting?")
    expect(why).to_contain_text("Queue slow is paused since")
    expect(why.get_by_text("workbell queues resume slow")).to_be_visible()
    for name in ("Cancel", "Retry", "Run again"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    check_accessible(page)

    site.bell.cancel(run.id, "not needed any more")
    expect(page.get_by_role("region", name="How did it end?")).to_contain_text("not needed any more")
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)
    site.bell.store.prune(site.bell.store.clock.now() + timedelta(days=1000), 100)
    expect(page.get_by_text("This run was removed")).to_be_visible()
    expect(page.get_by_role("region", name="Input")).to_contain_text('"order": 1')

    page.goto(f"{site.url}/runs/{foreign.id}")
    expect(page.get_by_role("heading", name="There is no such run")).to_be_visible()
    page.get_by_role("link", name="All runs").click()
    expect(page).to_have_url(f"{site.url}/runs")


def test_a_running_attempt_has_no_error(site: Site) -> None:
    """Attempt 1 has failed and attempt 2 runs: the error belongs to attempt 1 alone."""
    bell, second, go_on = site.bell, threading.Event(), threading.Event()

    @bell.job(retry=Retry(attempts=2, delay=0, jitter=0))
    def charge(ctx: Context) -> None:
        if ctx.run.attempt == 1:
            raise ConnectionError("no route to the bank")
        second.set()
        go_on.wait(DEADLINE)

    with working(bell):
        run = bell.enqueue("charge")
        assert second.wait(DEADLINE)
        page = site.open(f"/runs/{run.id}")
        try:
            steps = page.locator(".timeline .step-attempt")
            expect(steps).to_have_count(2)
            expect(steps.nth(0)).to_contain_text("no route to the bank")
            expect(steps.nth(1)).to_contain_text("Attempt 2")
            expect(steps.nth(1)).not_to_contain_text("error")
            attempts = page.locator(".attempts > li")
            expect(attempts).to_have_count(2)
            expect(attempts.nth(0).get_by_role("region")).to_have_count(0)
            expect(attempts.nth(1).get_by_role("region", name="Error of attempt 1")).to_contain_text("no route")
            check_accessible(page)
        finally:
            go_on.set()


def test_the_same_error_is_shown_once(site: Site) -> None:
    """Of four attempts three fail alike: their error stands in the answer, in the timeline and as one traceback."""
    bell = site.bell

    @bell.job(retry=Retry(attempts=4, delay=0, jitter=0))
    def charge(ctx: Context) -> None:
        raise ConnectionError("no route to the bank" if ctx.run.attempt == 1 else "the bank did not answer")

    run = bell.enqueue("charge")
    drain(bell)
    found = bell.attempts(run.id)
    assert ["did not answer" in (one.error or "").splitlines()[0] for one in found] == [False, True, True, True]
    page = site.open(f"/runs/{run.id}")
    expect(page.get_by_role("region", name="How did it end?")).to_contain_text("the bank did not answer")
    expect(page.locator(".step-error")).to_have_text(
        ["ConnectionError: no route to the bank", "ConnectionError: the bank did not answer"]
    )
    expect(page.locator(".timeline").get_by_text("with the same error")).to_have_count(2)
    attempts = page.locator(".attempts > li")
    expect(attempts).to_have_count(4)
    expect(page.get_by_role("region", name="Error of attempt 4")).to_contain_text("the bank did not answer")
    for place in (1, 2):
        expect(attempts.nth(place)).to_contain_text("The same error as attempt 4.")
        expect(attempts.nth(place).get_by_role("region")).to_have_count(0)
    expect(page.get_by_role("region", name="Error of attempt 1")).to_contain_text("no route to the bank")
    check_accessible(page)


def test_a_run_that_a_rewound_store_executed_twice(site: Site) -> None:
    """The run page says so of a run that succeeded, and the overview names the finding; another run says nothing."""
    bell, now = site.bell, site.bell.store.clock.now()
    run, other = bell.enqueue("send", {"to": "a@b.c"}), bell.enqueue("send", {"to": "a@b.c"})
    known = KnownRun(run.id, "default", 5, "box/1/2/3", Status.SUCCEEDED, 1, now, True, None)
    bell.store.rewinds.add(compare([known], {run.id: Standing(Status.QUEUED, 0, 0, None, now)}, now, "box/1/2/3"))
    drain(bell)
    page = site.open(f"/runs/{run.id}")
    expect(page.get_by_role("region", name="Was it executed before?")).to_contain_text(
        "Executed before: worker box/1/2/3"
    )
    check_accessible(page)
    with page.expect_response(f"**/runs/{other.id}/why"):
        page.goto(f"{site.url}/runs/{other.id}")
    expect(page.get_by_role("region", name="Input")).to_be_visible()
    expect(page.get_by_role("region", name="Was it executed before?")).to_have_count(0)
    page.goto(f"{site.url}/")
    expect(page.get_by_role("link", name="Doctor, at risk")).to_contain_text("rewound")
