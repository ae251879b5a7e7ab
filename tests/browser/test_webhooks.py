"""Webhooks on the page, with a real receiver: made, sent to, failing, sent again, switched off; secrets told once."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, check_accessible
from tests.support.receiver import Receiver, receiving
from tests.unit.makers import worker_of
from workbell.model.run import Status
from workbell.testing import drain

HOSTILE = "<script>document.title=1</script>"
BROKEN = f"HTTP/1.1 500 Broken\r\nContent-Length: {len(HOSTILE)}\r\n\r\n{HOSTILE}".encode()
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nthank you"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
DEADLINE = 30.0


@pytest.fixture
def receiver(site: Site) -> Iterator[Receiver]:
    """A receiver in a thread of its own, to which the site may send although it is on this machine."""
    site.bell.registry.resources = site.bell.registry.resources._replace(webhook_allow=("127.0.0.1",))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="receiver", daemon=True)
    thread.start()
    block = receiving(OK)
    try:
        yield asyncio.run_coroutine_threadsafe(block.__aenter__(), loop).result(DEADLINE)
    finally:
        asyncio.run_coroutine_threadsafe(block.__aexit__(None, None, None), loop).result(DEADLINE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(DEADLINE)


def _look_away(page: Page) -> None:
    """Rows stand still for as long as the pointer or the focus is among them."""
    page.get_by_role("heading", level=1).click()


def test_from_an_endpoint_to_its_deliveries(site: Site, receiver: Receiver) -> None:
    url = f"http://127.0.0.1:{receiver.port}/hooks"
    page = site.open("/webhooks")
    expect(page.get_by_text("workbell webhooks add")).to_be_visible()
    page.get_by_role("button", name="Add an endpoint").click()
    dialog = page.get_by_role("dialog")
    rate, at_once = (dialog.get_by_label(name).bounding_box() for name in ("Rate", "At once"))
    assert rate is not None
    assert at_once is not None
    assert (rate["y"], rate["height"]) == (at_once["y"], at_once["height"])  # however long the hint below one is
    dialog.get_by_label("URL").fill(url)
    dialog.get_by_label("Patterns").fill("or*ders")
    dialog.get_by_label("Headers").fill("X-Token: very-private")
    check_accessible(page)
    dialog.get_by_role("button", name="Add endpoint").click()
    expect(dialog.get_by_role("alert")).to_contain_text("one whole segment")
    dialog.get_by_label("Patterns").fill("orders.*\ninvoices.**")
    dialog.get_by_role("button", name="Add endpoint").click()
    once = page.get_by_role("dialog").filter(has_text="The secret of this endpoint")
    expect(once.get_by_text("shown only this once")).to_be_visible()
    assert SECRET.fullmatch(once.get_by_role("region", name="Secret").inner_text().strip())
    once.get_by_role("button", name="I have saved it").click()
    [endpoint] = site.bell.webhooks.list()
    assert endpoint.patterns == ("orders.*", "invoices.**")
    assert not SECRET.search(page.content())
    check_accessible(page)

    page.get_by_role("link", name=url).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(url)
    expect(page.get_by_text("X-Token", exact=False)).to_be_visible()
    expect(page.get_by_text("Nothing was sent yet")).to_be_visible()
    event = site.bell.emit("orders.placed", {"id": 7})
    drain(site.bell)
    row = page.locator("tbody tr").filter(has_text="orders.placed")
    expect(row).to_contain_text("delivered")
    expect(row).to_contain_text("200")
    assert [one.header("x-token") for one in receiver.requests] == ["very-private"]
    check_accessible(page)
    row.get_by_role("button", name="Open").click()
    expect(page.get_by_role("region", name="Answer to attempt 1")).to_contain_text("thank you")
    check_accessible(page)
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    _look_away(page)

    receiver.reply = BROKEN
    site.bell.emit("orders.failed")
    drain(site.bell)
    failed = page.locator("tbody tr").filter(has_text="orders.failed")
    expect(failed).to_contain_text("to be retried")
    expect(page.get_by_text("1 failed in a row")).to_be_visible()
    failed.get_by_role("button", name="Open").click()
    expect(page.get_by_role("region", name="Answer to attempt 1")).to_have_text(HOSTILE)
    expect(page.get_by_text("It answered 500.").last).to_be_visible()
    receiver.reply = OK
    page.get_by_role("dialog").get_by_role("button", name="Send now").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    _look_away(page)
    drain(site.bell)
    expect(failed.filter(has_text="delivered")).to_have_count(1)
    expect(failed.filter(has_text="canceled")).to_have_count(1)
    assert len(receiver.requests) == 3
    row.get_by_role("button", name="Resend").click()
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    _look_away(page)
    expect(row).to_have_count(2)
    again = site.bell.webhooks.deliveries(endpoint.id, limit=1)[0]
    assert (again.event, again.status) == (event.id, Status.QUEUED)

    page.get_by_role("button", name="Send a test ping").click()
    expect(page.get_by_text("There was no attempt yet")).to_be_visible()
    drain(site.bell)
    expect(page.get_by_role("region", name="Answer to attempt 1")).to_contain_text("thank you")


def test_switching_rotating_and_removing(site: Site, receiver: Receiver) -> None:
    url = f"http://127.0.0.1:{receiver.port}/"
    made, first = site.bell.webhooks.add(url, patterns=["orders.*"], description=HOSTILE)
    site.bell.webhooks.disable(made.id, f"it wants no more {HOSTILE}")
    site.bell.emit("orders.missed")
    drain(site.bell)
    page = site.open("/webhooks")
    row = page.locator("tbody tr")
    expect(row).to_contain_text(f"it wants no more {HOSTILE}")
    expect(row).to_contain_text("disabled")
    row.get_by_role("link", name=url).click()
    why = page.get_by_role("region", name="Why it is disabled")
    expect(why).to_contain_text(f"it wants no more {HOSTILE}")
    check_accessible(page)
    why.get_by_role("button", name="Enable and send what it missed").click()
    page.get_by_role("dialog").get_by_role("button", name="Enable and send").click()
    expect(page.get_by_text("1 event is sent again.")).to_be_visible()
    expect(why).to_have_count(0)
    assert site.bell.webhooks.get(made.id).enabled
    drain(site.bell)
    expect(row.filter(has_text="orders.missed")).to_contain_text("delivered")

    page.get_by_role("button", name="Rotate secret").click()
    page.get_by_label("The old one signs as well").select_option("3600")
    check_accessible(page)
    page.get_by_role("button", name="Create new secret").click()
    secret = page.get_by_role("region", name="Secret").inner_text().strip()
    assert secret not in ("", first)
    page.get_by_role("button", name="I have saved it").click()
    expect(page.locator(".secrets li")).to_have_count(2)
    page.reload()
    expect(page.locator(".secrets li")).to_have_count(2)
    assert not SECRET.search(page.content())
    assert secret not in str(page.evaluate(f"fetch('/api/v1/webhooks/{made.id}').then(found => found.text())"))

    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Patterns").fill("orders.**")
    dialog.get_by_label("Rate").fill("10/s")
    dialog.get_by_label("At once").fill("3")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("10/s")).to_be_visible()
    known = site.bell.webhooks.get(made.id)
    assert (known.patterns, known.rate, known.concurrency, known.timeout) == (("orders.**",), "10/s", 3, None)
    page.get_by_role("button", name="Disable").click()
    dialog.get_by_label("Reason").fill("the shop moves")
    dialog.get_by_role("button", name="Disable it").click()
    expect(why).to_contain_text("the shop moves")
    assert site.bell.webhooks.get(made.id).reason == "the shop moves"
    why.get_by_role("button", name="Enable", exact=True).click()
    expect(why).to_have_count(0)
    page.get_by_role("button", name="Replay …").click()
    dialog.get_by_role("button", name="Send again").click()
    expect(page.get_by_text("nothing is sent again")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Events are sent nowhere yet")).to_be_visible()
    assert site.bell.webhooks.list() == []


def test_who_may_only_read_sees_no_buttons(site: Site, receiver: Receiver) -> None:
    made, _ = site.bell.webhooks.add(f"http://127.0.0.1:{receiver.port}/", patterns=["orders.*"])
    site.bell.emit("orders.placed")
    drain(site.bell)
    site.bell.webhooks.disable(made.id)
    page = site.open("/webhooks", scopes=("read",), viewport={"width": 390, "height": 844})
    expect(page.locator("tbody tr")).to_contain_text("disabled by hand")
    expect(page.get_by_role("button", name="Add an endpoint")).to_have_count(0)
    page.get_by_role("link", name=made.url).click()
    expect(page.locator("tbody tr")).to_contain_text("delivered")
    for name in ("Edit", "Rotate secret", "Enable", "Delete", "Resend", "Send a test ping", "Replay …"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_role("button", name="Open")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_slowed_endpoint_says_so(site: Site, receiver: Receiver) -> None:
    """Since when, how many wait (as the store counts them), and a button that ends it once the receiver answers."""
    bell, url = site.bell, f"http://127.0.0.1:{receiver.port}/hooks"
    endpoint, _ = bell.webhooks.add(url, patterns="orders.*")
    page = site.open(f"/webhooks/{endpoint.id}")
    expect(page.get_by_role("button", name="Send a test ping")).to_be_visible()
    expect(page.get_by_label("Why it is slowed")).to_have_count(0)
    for _ in range(10):
        bell.store.subscribers.note_delivery(endpoint.id, False, bell.store.clock.now())
    bell.pause(queue="webhooks")
    for number in range(3):
        bell.emit("orders.paid", {"id": number})
    drain(bell)
    bell.resume(queue="webhooks")
    waiting = bell.count_runs(job="webhook-delivery", status=["queued", "scheduled"]).count
    assert waiting == 3
    band = page.get_by_label("Why it is slowed")
    expect(band).to_contain_text("Slowed to one attempt a minute: 10 attempts in a row have failed since")
    expect(band).to_contain_text("3 deliveries wait.")
    expect(page.get_by_text("1 a minute while it fails (else no limit)")).to_be_visible()
    check_accessible(page)
    page.goto(f"{site.url}/webhooks")
    expect(page.locator("tbody tr")).to_contain_text("slowed: 10 failed in a row")
    expect(page.locator("tbody tr")).to_contain_text("one attempt a minute, 3 wait")
    (run, *_) = bell.runs(job="webhook-delivery")
    bell.store.workers.put(worker_of("webhook-delivery", queues=("webhooks",), now=bell.store.clock.now()))
    page.goto(f"{site.url}/runs/{run.id}")
    expect(page.locator(".why")).to_contain_text(f"Its endpoint {url} is slowed to one attempt a minute")
    expect(page.locator(".why")).to_contain_text("3 deliveries wait")
    page.goto(f"{site.url}/webhooks/{endpoint.id}")
    band.get_by_role("button", name="Try now").click()
    expect(page.get_by_role("dialog")).to_contain_text("queued")
    assert bell.runs(job="webhook-delivery")[0].lane.key == f"ping:{endpoint.id}"  # which no brake holds up
    with site.served.working():
        expect(page.get_by_label("Why it is slowed")).to_have_count(0)
        for delivery in bell.runs(job="webhook-delivery"):
            assert bell.wait(delivery.id, timeout=30).status is Status.SUCCEEDED
    assert bell.webhooks.health(endpoint.id).failures == 0
