"""Executions and their invocations, as the client shows them (C4, C5, C7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.conftest import take
from tests.support.inside.features import MatchEvents
from tests.support.inside.values import RESCHEDULES, new_id
from workbell import Event, EventNotFound, InvalidOption, Retry, RunNotFound, TriggerNotFound, Workbell
from workbell.testing import drain


@pytest.fixture(autouse=True)
def triggers(bell: Workbell) -> None:
    """Each event starts `mail`, which tells what it saw, and `fail`, twice."""

    @bell.processor("mail")
    def mail(event: Event, execution: Any) -> dict[str, Any]:
        return {"type": event.type, "attempt": execution.attempt_number, "job_id": execution.job_id}

    @bell.processor("fail")
    def fail(event: Event) -> None:
        raise ValueError(f"attempt at {event.type}")

    bell.triggers.add("mails", pattern="posts.*", processor="mail")
    bell.triggers.add("failing", pattern="posts.*", processor="fail", retry=Retry(attempts=2, delay=0, jitter=0))


def test_from_event_to_invocation(bell: Workbell) -> None:
    event = bell.emit("posts.created", {"id": 7})
    assert bell.executions(event=event.id) == []
    drain(bell)
    trigger = bell.triggers.get("mails")
    [good] = bell.executions(event=event.id, trigger="mails")
    assert good == bell.execution(good.id) == bell.executions(trigger=trigger.id)[0]
    assert (good.job_id, good.event_id, good.status, good.attempt_number) == (trigger.id, event.id, "completed", 1)
    assert good.result == {"type": "posts.created", "attempt": 1, "job_id": trigger.id}
    [bad] = bell.executions(event=event.id, status="failed")
    assert (bad.attempt_number, bad.next_retry_at) == (2, None)
    assert "ValueError: attempt at posts.created" in (bad.error or "")
    tries = bell.invocations(bad.id)
    assert [(each.attempt_number, each.status, each.execution_id) for each in tries] == [
        (1, "failed", bad.id),
        (2, "failed", bad.id),
    ]
    assert len({each.id for each in tries}) == 2
    assert [each.status for each in bell.invocations(good.id)] == ["success"]


def test_statuses_on_the_way(bell: Workbell) -> None:
    bell.triggers.delete("failing")
    event = bell.emit("posts.created")
    fan_out(bell)
    [waiting] = bell.executions(status="pending")
    assert (waiting.event_id, waiting.attempt_number, waiting.locked) == (event.id, 0, None)
    [run] = take(bell)
    [held] = bell.executions(trigger="mails", status="running")
    assert held.id == run.id
    assert held.locked == held.started_at == run.started_at
    assert [each.status for each in bell.invocations(run.id)] == ["running"]


def fan_out(bell: Workbell) -> None:
    """As a scheduler does."""
    matcher = MatchEvents(bell.store, bell.registry, bell.runtime.subscriptions, lambda _: None, 1.0)
    assert matcher.fan_out_waiting(bell.store.clock.now())


def test_old_ones_are_found_behind_many_other_runs(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    """C5: the list has no end but that of history."""
    monkeypatch.setattr("workbell.events.executions.PAGE", 2)
    event = bell.emit("posts.created")
    drain(bell)

    @bell.job
    def other() -> None: ...

    bell.enqueue_many([("other", {})] * 30)
    assert {each.event_id for each in bell.executions(limit=2)} == {event.id}


def test_pages(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbell.events.executions.PAGE", 2)
    events = [bell.emit("posts.created") for _ in range(5)]
    drain(bell)
    newest = [event.id for event in reversed(events)]
    found: list[str | None] = []
    before: str | None = None
    while page := bell.executions(trigger="mails", before=before, limit=2):
        found += [each.event_id for each in page]
        before = page[-1].id
    assert found == newest
    both = bell.executions(event=newest[0], limit=2)
    assert [each.id for each in both] == sorted((each.id for each in both), reverse=True)
    assert bell.executions(event=newest[0], before=both[0].id, limit=1) == both[1:]
    every: list[str] = []
    before = None
    while rest := bell.executions(before=before, limit=2):
        every += [each.id for each in rest]
        before = rest[-1].id
    assert len(every) == len(set(every)) == 10


@pytest.mark.anyio
async def test_the_verbs_for_async_code(bell: Workbell) -> None:
    event = await bell.aemit("posts.created")
    await bell.runtime.hop(drain, bell)
    [good] = await bell.aexecutions(event=event.id, status="completed")
    assert await bell.aexecution(good.id) == good
    assert len(await bell.ainvocations(good.id)) == 1


def test_what_there_is_not(bell: Workbell, send: Any) -> None:
    plain = send.enqueue("x")
    bell.emit("posts.created")
    with pytest.raises(RunNotFound, match="no event made it"):
        bell.execution(plain.id)
    with pytest.raises(RunNotFound):
        bell.invocations(new_id())
    with pytest.raises(EventNotFound):
        bell.executions(event=new_id())
    with pytest.raises(TriggerNotFound):
        bell.executions(trigger="nobody")
    for given in ({"status": "succeeded"}, {"limit": 0}, {"before": "x"}):
        with pytest.raises(InvalidOption):
            bell.executions(**given)  # type: ignore[arg-type]
    assert bell.executions() == []


def test_nobody_sees_those_of_another_tenant(bell: Workbell) -> None:
    event = bell.emit("posts.created")
    drain(bell)
    [good] = bell.executions(event=event.id, trigger="mails")
    other = bell.for_tenant("other")
    assert other.executions() == other.executions(trigger=bell.triggers.get("mails").id) == []
    for ask in (lambda: other.execution(good.id), lambda: other.invocations(good.id)):
        with pytest.raises(RunNotFound):
            ask()


def test_those_that_follow_a_failed_one_are_its_triggers_too(bell: Workbell) -> None:
    """B8: the ledger names the first of a chain, and whoever asks by trigger or event wants to see how it went on."""
    bell.triggers.add("chained", pattern="pages.*", processor="fail", retry=Retry(attempts=1), auto_reschedule=0)
    bell.triggers.add("beside", pattern="pages.*", processor="mail")
    event, other = bell.emit("pages.created"), bell.emit("pages.gone")
    drain(bell)
    chain = bell.executions(trigger="chained", event=event.id)
    assert [one.status for one in chain] == ["failed"] * (RESCHEDULES + 1)
    assert [bell.get(one.id).rescheduled_from for one in chain] == [*(one.id for one in chain[1:]), None]
    everything = bell.executions(trigger="chained")
    assert {one.event_id for one in everything} == {event.id, other.id}
    assert len(everything) == 2 * len(chain)
    pages = [bell.executions(trigger="chained", limit=4)]
    while pages[-1]:
        pages.append(bell.executions(trigger="chained", limit=4, before=pages[-1][-1].id))
    assert [one.id for page in pages for one in page] == [one.id for one in everything]
