"""The list of runs: what the address asks for, live rows that stay where they are, and actions on many of them."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, check_accessible
from workbell import Status
from workbell.testing import drain


def test_rows_come_by_themselves(site: Site) -> None:
    page = site.open("/runs")
    expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    run = site.bell.enqueue("send", {"to": "a@b.c"})
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("queued")
    drain(site.bell)
    expect(row).to_contain_text("succeeded")
    check_accessible(page)
    row.get_by_role("link", name="send").click()
    expect(page).to_have_url(f"{site.url}/runs/{run.id}")


def test_the_filter_is_the_address(site: Site) -> None:
    for number in range(3):
        site.bell.enqueue("send", {"to": f"{number}@b.c", "copies": number}, tag="mail")
    site.bell.enqueue("broken", {"order": 2**60 + 1}, delay=3600)
    site.bell.enqueue("broken", {"order": 2**60}, delay=3600)
    page = site.open("/runs?status=scheduled")
    expect(rows(page)).to_have_count(2)
    expect(rows(page).nth(1)).to_contain_text(str(2**60 + 1))  # to the last digit
    page.get_by_role("button", name="scheduled").click()
    expect(rows(page)).to_have_count(5)
    page.get_by_label("Job").select_option("send")
    expect(page).to_have_url(re.compile(r"\?job=send$"))
    page.get_by_label("Input field").fill("copies=2")
    page.get_by_label("Input field").press("Enter")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("2@b.c")
    address = page.url
    page.go_back()
    expect(rows(page)).to_have_count(3)
    page.goto(address)  # what somebody was sent shows the same
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_label("Input field")).to_have_value("copies=2")
    page.get_by_role("button", name="Clear").click()
    expect(rows(page)).to_have_count(5)
    page.get_by_label("Input field").fill(f"order={2**60 + 1}")
    page.get_by_label("Input field").press("Enter")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text(str(2**60 + 1))
    page.get_by_label("since").fill("2091-01-01 10:00")  # by the clock of the page
    page.get_by_label("since").press("Enter")
    expect(page).to_have_url(re.compile(r"since=2091-01-01T09%3A00%3A00\.000Z"))
    expect(page.get_by_text("No run matches this filter.")).to_be_visible()
    page.goto(f"{site.url}/runs?user_id=-7")
    expect(page.get_by_role("alert")).to_contain_text("neither a whole number from 0 nor a text")


def test_runs_of_a_person_whose_id_is_a_text(site: Site) -> None:
    """What the page counts, lists and cancels is what the store has of that person; also of one with many digits."""
    bell, ada = site.bell, "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"
    people: list[int | str] = [ada, ada, 7, "007", 2**60 + 1, 2**60]
    made = [bell.enqueue("send", {"to": "x"}, user_id=person, delay=3600) for person in people]
    page = site.open("/runs")
    page.get_by_text("More filters").click()
    for person in (ada, 7, "007", 2**60 + 1):
        page.get_by_label("User").fill(str(person))
        page.get_by_label("User").press("Enter")
        meant = bell.runs(user_id=person)
        assert {run.user_id for run in meant} == {person}
        expect(rows(page)).to_have_count(len(meant))
        for run in meant:
            expect(page.get_by_label(f"Choose run {run.id}")).to_be_visible()
    page.goto(f"{site.url}/runs/{made[0].id}")
    page.get_by_role("link", name=ada).click()
    expect(page).to_have_url(re.compile(f"user_id={ada}"))
    expect(page.get_by_label("User")).to_have_value(ada)
    expect(rows(page)).to_have_count(2)
    page.get_by_role("button", name="Cancel all matching").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 scheduled, queued or running runs will be canceled.")
    with site.served.working():
        page.get_by_role("dialog").get_by_role("button", name="Cancel all matching").click()
        expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}$"))
        bell.wait(page.url.rpartition("/")[2], timeout=15)
    assert {run.user_id for run in bell.runs(job="send", status="canceled")} == {ada}
    assert bell.count_runs(job="send", status="canceled").count == 2


def test_no_row_moves_under_the_pointer(site: Site) -> None:
    bell = site.bell
    first = bell.enqueue("send", {"to": "first"})
    bell.enqueue("broken", {"order": 1}, delay=3600)
    page = site.open("/runs?status=queued&status=scheduled")
    expect(rows(page)).to_have_count(2)
    page.get_by_label(f"Choose run {first.id}").check()
    expect(page.get_by_text("1 chosen")).to_be_visible()
    rows(page).nth(1).hover()
    before = rows(page).nth(1).bounding_box()
    bell.enqueue("send", {"to": "second"})
    expect(page.get_by_role("button", name="Show 1 new")).to_be_visible()
    bell.cancel(first.id)  # it is no longer among those wanted, and stays where it is
    expect(rows(page).nth(1)).to_contain_text("canceled")
    expect(rows(page)).to_have_count(2)
    after = rows(page).nth(1).bounding_box()
    assert before == after
    page.get_by_role("button", name="Show 1 new").click()
    page.mouse.move(1, 1)
    expect(rows(page).first).to_contain_text("second")
    expect(rows(page).filter(has_text="first")).to_have_count(0)
    bell.enqueue("send", {"to": "third"})  # what was chosen is gone, and holds nothing any more
    expect(rows(page).first).to_contain_text("third")


def test_many_are_canceled_and_retried(site: Site) -> None:
    bell = site.bell
    made = [bell.enqueue("send", {"to": f"{number}@b.c"}, delay=3600) for number in range(3)]
    page = site.open("/runs?job=send")
    page.get_by_label(f"Choose run {made[0].id}").check()
    page.get_by_label(f"Choose run {made[2].id}").check()
    page.get_by_role("button", name="Cancel 2").click()
    page.get_by_role("button", name="Cancel them").click()
    expect(page.get_by_text("2 runs: canceled.")).to_be_visible()
    assert [bell.get(run.id).status for run in made] == [Status.CANCELED, Status.SCHEDULED, Status.CANCELED]
    page.get_by_label(f"Choose run {made[0].id}").check()
    page.get_by_role("button", name="Retry 1").click()
    page.get_by_role("button", name="Retry them").click()
    expect(page.get_by_text("1 run: started again.")).to_be_visible()
    assert made[0].id in [run.retry_of for run in bell.runs(job="send")]
    expect(page.get_by_text("4 match")).to_be_visible()
    page.get_by_role("button", name="Cancel all matching").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 scheduled, queued or running runs will be canceled.")
    check_accessible(page)
    with site.served.working():  # what cancels them is a run itself
        page.get_by_role("dialog").get_by_role("button", name="Cancel all matching").click()
        expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}$"))
        bell.wait(page.url.rpartition("/")[2], timeout=15)
    assert bell.get(made[1].id).status is Status.CANCELED


def test_retry_all_matching_never_doubles(site: Site) -> None:
    """However often it is pressed, the store has one retry of each run; the numbers of the page are the store's."""
    bell = site.bell
    old = [bell.enqueue("broken", {"order": number}, retry=1) for number in range(4)]
    drain(bell)
    bell.retry(old[0].id)
    bell.pause(queue="slow")
    page = site.open("/runs?job=broken&status=failed")
    expect(page.get_by_text("4 match")).to_be_visible()
    first = rows(page).filter(has=page.get_by_label(f"Choose run {old[0].id}"))
    expect(first).to_contain_text("failed")
    expect(first).to_contain_text("retried: queued")
    meant = bell.count_runs(job="broken", status="failed", retried=False).count
    assert meant == 3
    page.get_by_role("button", name="Retry all matching").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(
        "3 failed runs will be started again as new runs. 1 run that was retried before is left"
    )
    dialog.get_by_role("button", name="Retry all matching").click()
    expect(page).to_have_url(re.compile(r"/runs/[0-9a-f-]{36}$"))
    bulk = page.url.rpartition("/")[2]
    with site.served.working():
        assert bell.wait(bulk, timeout=15).result == {"matched": 3, "done": 3, "skipped": 0, "errors": []}
    retries = {run.retry_of: run for run in bell.runs(job="broken", status="queued")}
    assert sorted(retries) == sorted(run.id for run in old)
    page.goto(f"{site.url}/runs?job=broken&status=failed")
    page.get_by_role("button", name="Retry all matching").click()
    expect(page.get_by_text("All 4 were retried before.")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_label("Choose all on this page").check()
    expect(page.get_by_role("button", name="Retry 0")).to_be_disabled()
    retry = retries[old[2].id]
    bell.cancel(retry.id)
    page.goto(f"{site.url}/runs/{old[2].id}")
    notice = page.locator(".run-retried")
    expect(notice).to_contain_text(f"run {retry.id[-8:]}")
    expect(notice).to_contain_text("canceled")
    page.get_by_role("button", name="Retry", exact=True).click()  # one that is asked for by hand
    expect(page.get_by_role("dialog")).to_contain_text("It was retried before: that run is canceled.")
    check_accessible(page)
    page.get_by_role("dialog").get_by_role("button", name="Retry once more").click()
    expect(page.get_by_text("This is the new run.")).to_be_visible()
    newest = page.url.rpartition("/")[2]
    assert [run.id for run in bell.runs(retry_of=old[2].id)] == [newest, retry.id]
    page.goto(f"{site.url}/runs/{retry.id}")
    page.get_by_role("link", name=f"bulk-action {bulk[-8:]}").click()
    expect(page).to_have_url(re.compile(f"/runs/{bulk}$"))


def test_rows_under_the_pointer_keep_their_status(site: Site) -> None:
    """Also those that newer ones have pushed out of the newest fifty: each says what the store says."""
    bell = site.bell
    first, second = (bell.enqueue("send", {"to": to}, delay=3600) for to in ("first", "second"))
    page = site.open("/runs")
    expect(rows(page)).to_have_count(2)
    job = rows(page).nth(1).locator(".run-job")
    rows(page).nth(1).hover()
    before = job.bounding_box()
    bell.enqueue_many([("send", {"to": f"{number}@b.c"}) for number in range(60)])
    expect(page.get_by_role("button", name="Show 50 new")).to_be_visible()
    expect(rows(page).nth(1)).to_contain_text("scheduled")
    bell.cancel(first.id)
    expect(rows(page).nth(1)).to_contain_text("canceled")
    expect(rows(page).nth(0)).to_contain_text("scheduled")
    assert [bell.get(run.id).status for run in (first, second)] == [Status.CANCELED, Status.SCHEDULED]
    assert job.bounding_box() == before
    page.get_by_label(f"Choose run {second.id}").check()  # and can be acted on
    page.get_by_role("button", name="Cancel 1").click()
    page.get_by_role("button", name="Cancel them").click()
    expect(page.get_by_text("1 run: canceled.")).to_be_visible()
    assert bell.get(second.id).status is Status.CANCELED


def test_pages_follow_a_cursor(site: Site) -> None:
    made = [site.bell.enqueue("send", {"to": f"{number}@b.c"}, delay=3600) for number in range(60)]
    page = site.open("/runs?status=queued&status=scheduled")
    expect(rows(page)).to_have_count(50)
    page.get_by_role("link", name="Older").click()
    expect(rows(page)).to_have_count(10)
    expect(page).to_have_url(re.compile(f"status=queued&status=scheduled&before={made[10].id}$"))
    expect(page.get_by_text("That is all.")).to_be_visible()
    page.get_by_role("link", name="Newest").click()
    expect(rows(page)).to_have_count(50)


def rows(page: Page):  # type: ignore[no-untyped-def]
    return page.locator("tbody tr")
