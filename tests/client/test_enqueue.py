"""Enqueue: by object and by name, with options, one and many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.client.conftest import take
from tests.support.inside.features import LocalClient, Registry, Resources, Runtime
from tests.support.inside.values import Settings, is_id
from workbell import DuplicateRun, InvalidInput, InvalidOption, JobsError, Retry, Run, Status, UnknownJob, Workbell


def stored(bell: Workbell) -> list[Run]:
    return bell.runs()


def test_a_job_is_enqueued_by_calling_it_later(bell: Workbell, send: Any) -> None:
    """D4: the caller gets the run's id and needs nothing else."""
    run = send.enqueue("a@b.c", copies=2)
    assert is_id(run.id)
    assert bell.get(run.id) == run
    assert (run.job, run.queue, run.tenant, run.status) == ("send", "mail", "default", Status.QUEUED)
    assert run.input == {"to": "a@b.c", "copies": 2}
    assert (run.attempt, run.failures, run.priority, run.result, run.error) == (0, 0, 0, None, None)


def test_by_name_is_the_same(bell: Workbell, send: Any) -> None:
    one, other = send.enqueue(to="x"), bell.enqueue("send", {"to": "x"})
    same = [name for name in one.__struct_fields__ if name != "id" and not name.endswith(("_at", "_for"))]
    assert [getattr(one, name) for name in same] == [getattr(other, name) for name in same]
    assert bell.enqueue("send", {"to": "x"}, delay=60).status is Status.SCHEDULED


def test_an_unknown_job_names_the_remedy(bell: Workbell) -> None:
    remedy = r"Declare it with @bell\.job; if .* another language, with bell\.jobs\.put\('sned', handler='sned'\)\."
    with pytest.raises(UnknownJob, match=rf"no job 'sned', here or in the store; none is known\. {remedy}"):
        bell.enqueue("sned")
    bell.job(name="report")(lambda: None)
    with pytest.raises(UnknownJob, match=rf"no job 'sned', here or in the store; known are report\. {remedy}"):
        bell.enqueue("sned")
    bell.jobs.put("send", handler="send")
    with pytest.raises(UnknownJob, match=rf"did you mean 'send'\? known are report, send\. {remedy}"):
        bell.enqueue("sned")
    with pytest.raises(JobsError, match="job: expected a text, got int"):
        bell.enqueue(5)  # type: ignore[arg-type]
    assert stored(bell) == []


def test_a_job_that_only_the_store_knows_can_be_enqueued(bell: Workbell, send: Any) -> None:
    """An application need not import the code that a worker runs."""
    bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
    application = Workbell(store=bell.store, settings=bell.settings)
    run = application.enqueue("send", {"to": "x", "anything": 1})  # what it takes is checked by the worker
    assert (run.job, run.queue) == ("send", "mail")
    assert bell.get(run.id).input == {"to": "x", "anything": 1}
    application.runtime.close()


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "the argument 'to' is missing"),
        ((5,), {}, "the argument 'to': expected str, got int"),
        (("a", 1, 2), {}, "takes 2 arguments by position, and 3 were given"),
        (("a",), {"to": "b"}, "'to' was given twice"),
        (("a",), {"subject": "b"}, "there is no argument 'subject'"),
        (("x" * 300_000,), {}, "bytes as JSON and the limit is 262,144"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_input_is_checked_before_anything_is_written(
    bell: Workbell, send: Any, args: tuple[Any, ...], kwargs: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInput, match=f"job send.*{says}"):
        send.enqueue(*args, **kwargs)
    assert stored(bell) == []


def test_an_input_by_name_must_be_a_dict(bell: Workbell, send: Any) -> None:
    with pytest.raises(InvalidInput, match="must be a dict of arguments, got list"):
        bell.enqueue("send", ["a@b.c"])  # type: ignore[arg-type]


def test_options_are_kept_with_the_run(bell: Workbell, send: Any) -> None:
    at = datetime(2040, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
    made = send.options(
        run_at=at, expires=at + timedelta(days=1), key="k", tag="t", priority=9, queue="slow", user_id=7, target="a1",
        retry=Retry(attempts=9, give_up_on=(KeyError,)), timeout=5, persistent=False, auto_reschedule=60,
        remove_delay=timedelta(hours=1),
    ).enqueue("x")  # fmt: skip
    run = bell.get(made.id)
    assert run == made
    assert (run.scheduled_for, run.expires_at, run.status) == (at, at + timedelta(days=1), Status.SCHEDULED)
    assert (run.key, run.tag, run.priority, run.queue, run.user_id, run.target) == ("k", "t", 9, "slow", 7, "a1")
    assert run.retry == Retry(attempts=9, give_up_on=(KeyError,))  # type: ignore[arg-type]
    assert (run.options.timeout, run.options.remove_delay, run.persistent) == (5, 3600, False)


def test_a_bad_option_writes_nothing(bell: Workbell, send: Any) -> None:
    with pytest.raises(InvalidOption, match="Unknown option 'dealy'"):
        send.options(dealy=5).enqueue("x")
    with pytest.raises(InvalidOption, match="priority: 500"):
        bell.enqueue("send", {"to": "x"}, priority=500)
    assert stored(bell) == []


def test_an_argument_among_the_options_is_said_to_be_one(bell: Workbell, send: Any) -> None:
    """A job takes its arguments by name, `bell.enqueue` takes them in a dict: the likeliest mistake."""
    with pytest.raises(InvalidOption, match=r"Unknown option 'to'; .* belong in its input: bell.enqueue\(name, {"):
        bell.enqueue("send", to="x")  # type: ignore[call-arg]
    assert stored(bell) == []


def test_priority_decides_who_is_first(bell: Workbell, send: Any) -> None:
    low, high, default = (send.options(priority=number).enqueue("x") for number in (-5, 5, 0))
    assert [take(bell, 1)[0].id for _ in range(3)] == [high.id, default.id, low.id]


def test_a_duplicate_returns_the_run_that_is_there(bell: Workbell, send: Any) -> None:
    first = send.options(key="k").enqueue("x")
    again = send.options(key="k").enqueue("another")
    assert again == first
    assert [run.id for run in stored(bell)] == [first.id]


def test_a_duplicate_can_be_rejected(bell: Workbell, send: Any) -> None:
    first = send.options(key="k").enqueue("x")
    with pytest.raises(DuplicateRun, match=f"The key 'k' is held by run {first.id}; wait for it, or enqueue") as told:
        send.options(key="k", on_duplicate="reject").enqueue("x")
    assert told.value.run_id == first.id
    assert len(stored(bell)) == 1


def test_a_duplicate_can_replace_what_has_not_started(bell: Workbell, send: Any) -> None:
    first = send.options(key="k", delay=60).enqueue("old")
    second = send.options(key="k", on_duplicate="replace").enqueue("new")
    assert second.id != first.id
    assert (bell.get(first.id).status, bell.get(first.id).reason) == (
        Status.CANCELED,
        f"replaced by run {second.id} with the same key",
    )
    # One that runs is left to run; the new one takes over the key.
    take(bell)
    third = send.options(key="k", on_duplicate="replace").enqueue("newer")
    assert bell.get(second.id).status is Status.RUNNING
    assert send.options(key="k").enqueue("x").id == third.id


def test_a_key_is_free_again_when_its_run_has_ended(bell: Workbell, send: Any) -> None:
    first = send.options(key="k").enqueue("x")
    bell.cancel(first.id)
    assert send.options(key="k").enqueue("x").id != first.id


def test_a_key_can_be_taken_for_longer_than_the_run_lives(bell: Workbell, send: Any) -> None:
    first = send.options(key="k", key_for=3600).enqueue("x")
    bell.cancel(first.id)
    again = send.options(key="k").enqueue("x")
    assert (again.id, again.status) == (first.id, Status.CANCELED)


def test_a_key_belongs_to_its_tenant(bell: Workbell, send: Any) -> None:
    first = send.options(key="k").enqueue("x")
    assert send.options(key="k", tenant="other").enqueue("x").id != first.id


def test_a_tag_can_replace_what_has_not_started(bell: Workbell, send: Any) -> None:
    """B10: pending runs of the same tag end as canceled, with that reason."""
    old = [send.options(tag="t").enqueue("x"), send.options(tag="t", delay=60, key="k").enqueue("y")]
    other = send.options(tag="u").enqueue("x")
    foreign = send.options(tag="t", tenant="other").enqueue("x")
    new = send.options(tag="t", replace_tag=True).enqueue("z")
    for run in old:
        assert bell.get(run.id).status is Status.CANCELED
        assert bell.get(run.id).reason == f"replaced by run {new.id} of the same tag"
    assert bell.get(other.id).status is Status.QUEUED
    assert bell.for_tenant("other").get(foreign.id).status is Status.QUEUED
    assert send.options(key="k").enqueue("x").id != old[1].id  # its key went with it


def test_many_in_one_call(bell: Workbell, send: Any) -> None:
    runs = bell.enqueue_many(send.request(f"{number}@b.c") for number in range(2500))
    assert [run.input["to"] for run in runs] == [f"{number}@b.c" for number in range(2500)]
    assert len({run.id for run in runs}) == 2500
    assert bell.get(runs[-1].id) == runs[-1]
    assert sum(counts.queued for counts in bell.store.reports.counts()) == 2500


def test_many_may_be_named_and_have_options(bell: Workbell, send: Any, report: Any) -> None:
    runs = bell.enqueue_many(
        [("send", {"to": "x"}), report.request(5), send.options(delay=60, key="k", tag="t").request("y")]
    )
    assert [(run.job, run.status) for run in runs] == [
        ("send", Status.QUEUED),
        ("report", Status.QUEUED),
        ("send", Status.SCHEDULED),
    ]
    assert [bell.get(run.id) for run in runs] == runs
    assert bell.enqueue_many([]) == []


def test_awkward_text_survives_a_bulk_enqueue(bell: Workbell, send: Any) -> None:
    awkward = ["\\N", "a\tb\nc\r\\", "\x00", "{}", "é—✓𝄞", "\\.", "%s %(x)s :id", "'\"--"]
    runs = bell.enqueue_many(
        [send.options(tag=text.strip() if text.strip().isprintable() and text.strip() else "t").request(text)
         for text in awkward]
    )  # fmt: skip
    assert [bell.get(run.id).input["to"] for run in runs] == awkward
    assert [bell.get(run.id).tag for run in runs] == [run.tag for run in runs]


def test_many_are_one_write_or_none(bell: Workbell, send: Any) -> None:
    taken = send.options(key="taken").enqueue("x")
    with pytest.raises(DuplicateRun):
        bell.enqueue_many(
            [send.request("a"), send.options(key="new").request("b"),
             send.options(key="taken", on_duplicate="reject").request("c")]
        )  # fmt: skip
    with pytest.raises(InvalidInput):
        bell.enqueue_many([send.request("a"), ("send", {"to": 5})])
    assert [run.id for run in stored(bell)] == [taken.id]
    assert send.options(key="new").enqueue("x").status is Status.QUEUED


def test_duplicates_within_one_call(bell: Workbell, send: Any) -> None:
    one, two, three = bell.enqueue_many(send.options(key="k").request(str(number)) for number in range(3))
    assert one.id == two.id == three.id
    assert len(stored(bell)) == 1


def test_a_direct_call_is_just_a_call(bell: Workbell, send: Any) -> None:
    assert send("a@b.c") == "1 to a@b.c"
    assert send(to="a@b.c", copies=3) == "3 to a@b.c"
    assert send.__name__ == "send"
    assert stored(bell) == []


@pytest.mark.anyio
async def test_a_direct_call_with_a_context(bell: Workbell, report: Any) -> None:
    assert await report(5) == 5  # attempt 0: it belongs to no run
    assert await report(number=6) == 6
    assert stored(bell) == []


def test_a_name_is_taken_once(bell: Workbell, send: Any) -> None:
    def other() -> None: ...

    with pytest.raises(JobsError, match=r"job send: declared by .*send and by .*other; give one of them another name="):
        bell.job(name="send")(other)


def test_the_priority_of_a_job(bell: Workbell) -> None:
    @bell.job(priority=5)
    def urgent(number: int = 1) -> None: ...

    assert urgent.enqueue().priority == 5
    assert urgent.options(delay=60).enqueue().priority == 5
    assert urgent.options(priority=0).enqueue().priority == 0
    assert urgent.options(priority=-7, tag="t").enqueue().priority == -7
    assert bell.enqueue("urgent", {"number": 2}).priority == 5
    assert [run.priority for run in bell.enqueue_many([urgent.request(), ("urgent", {})])] == [5, 5]
    # Also where only the store knows the job.
    bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, bell.tenant))
    registry = Registry(Resources.from_settings(Settings()))
    elsewhere = LocalClient(Runtime(bell.store, registry, keep=bell.runtime.keep))
    assert elsewhere.enqueue("urgent").priority == 5
    elsewhere.close()
