"""Runs over HTTP: every verb gives what the Workbell itself gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import msgspec
import pytest

from tests.client.conftest import take
from tests.remote.conftest import Scene, make_bell
from tests.support.fresh_store import fresh_store
from tests.support.inside.remote import options
from tests.support.inside.values import state
from tests.support.inside.wire import MadeRun
from tests.support.many_attempts import with_attempts
from workbell import (
    Client,
    DuplicateRun,
    Forbidden,
    InvalidInput,
    InvalidOption,
    Retry,
    RunNotFinished,
    RunNotFound,
    Status,
    UnknownJob,
    WaitTimeout,
)
from workbell.testing import drain

NOBODY = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"


def test_attempts_come_in_pages(scene: Scene) -> None:
    made = scene.bell.enqueue("send", {"to": "x"})
    drain(scene.bell)
    run = with_attempts(scene.bell, scene.bell.get(made.id), 1002)
    assert [one.number for one in scene.same("attempts", run.id)] == [*range(1, 1001)]
    assert [one.number for one in scene.same("attempts", run.id, after=1000)] == [1001, 1002]
    assert [one.number for one in scene.same("runs.attempts", run.id, after=999, limit=2)] == [1000, 1001]
    assert [one.number for one in scene.same("attempts", run.id, after=1000, limit=1)] == [1001]
    assert scene.same("attempts", run.id, after=1002) == []
    for limit in (0, 1001, True, "9"):
        with pytest.raises(InvalidOption, match=r"limit: .* is not from 1 to 1,000"):
            scene.bell.attempts(run.id, limit=limit)
    with pytest.raises(InvalidOption, match="after: -1 is not the number of an attempt"):
        scene.bell.attempts(run.id, after=-1)


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_enqueue_makes_the_run_that_it_answers(scene: Scene, ask: str) -> None:
    made = getattr(scene, ask)("enqueue", "send", {"to": "a@b.c", "urgent": True})
    assert (made.status, made.input, made.queue) == (Status.QUEUED, {"to": "a@b.c", "urgent": True}, "default")
    assert scene.shown(made) == scene.shown(scene.bell.get(made.id))


def test_every_option_of_an_enqueue_arrives(scene: Scene) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    retry = Retry(attempts=7, delay=3, factor=1.5, cap=9, jitter=2, give_up_on=[ValueError], only_on=["x.Y"])
    given: dict[str, Any] = {
        "run_at": later,
        "expires": later + timedelta(hours=1),
        "key": "all-options",
        "key_for": timedelta(days=1),
        "on_duplicate": "reject",
        "tag": "t",
        "replace_tag": True,
        "priority": -7,
        "queue": "special",
        "user_id": 3,
        "target": "label:gpu",
        "retry": retry,
        "timeout": 5,
        "persistent": False,
        "auto_reschedule": 60,
        "remove_delay": timedelta(hours=2),
    }
    remote = scene.bell.get(scene.client.enqueue("send", {"to": "x"}, **given).id)
    local = scene.bell.enqueue("send", {"to": "x"}, **given | {"key": "all-options-2", "replace_tag": False})
    assert remote.options.request is not None, "by it the request is known again"
    assert msgspec.structs.replace(remote.options, request=None) == local.options
    assert remote.retry == retry
    ours, theirs = remote.as_dict(), local.as_dict()
    for name in ("id", "key", "created_at", "updated_at", "expires_at"):
        ours.pop(name), theirs.pop(name)
    assert ours == theirs
    with pytest.raises(DuplicateRun) as caught:
        scene.client.enqueue("send", {"to": "y"}, **given)
    assert caught.value.run_id == remote.id


def test_the_key_of_a_job_and_that_of_the_tenant(scene: Scene) -> None:
    scene.bell.job(name="other")(lambda: None)
    send = scene.client.enqueue("send", {"to": "x"}, key="order-7")
    other = scene.client.enqueue("other", key="order-7")
    assert (send.key, other.key, scene.client.get(other.id).key) == ("order-7",) * 3
    assert send.id != other.id
    assert scene.bell.enqueue("other", key="order-7").id == other.id
    shared = scene.client.enqueue("send", {"to": "x"}, key="order-7", key_scope="tenant")
    assert shared.id not in (send.id, other.id)
    assert scene.client.enqueue("other", key="order-7", key_scope="tenant").id == shared.id
    assert scene.bell.get(shared.id).key == "order-7"


def test_a_retry_policy_in_every_way_to_say_it(scene: Scene) -> None:
    for given in (4, Retry(attempts=4), {"max_retries": 3}):
        remote = scene.client.enqueue("send", {"to": "x"}, retry=given)
        local = scene.bell.enqueue("send", {"to": "x"}, retry=given)
        assert scene.bell.get(remote.id).retry == local.retry
        assert local.retry.attempts == 4


def test_enqueue_is_refused_in_the_same_words(scene: Scene) -> None:
    scene.raises(UnknownJob, "enqueue", "nobody-knows-it", {})
    scene.raises(InvalidInput, "enqueue", "send", {})
    scene.raises(InvalidInput, "enqueue", "send", {"to": 7})
    scene.raises(InvalidOption, "enqueue", "send", {"to": "x"}, replace_tag=True)
    scene.raises(InvalidOption, "enqueue", "send", {"to": "x"}, delay=1, run_at=datetime(2100, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_enqueue_many_answers_in_the_order_of_its_requests(
    scene: Scene, ask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "PAGE_RUNS", 3)
    monkeypatch.setattr(options, "KEYED_RUNS", 2)
    requests = [("send", {"to": str(number)}) for number in range(7)]
    made = getattr(scene, ask)("enqueue_many", requests)
    assert [run.input for run in made] == [input for _, input in requests]
    listed = [*requests, scene.client.request("fail", {"reason": "so"}, priority=3, key=f"many-{ask}")]
    made += getattr(scene, ask)("enqueue_many", listed)
    assert [run.input for run in made[7:]] == [input for _, input in requests] + [{"reason": "so"}]
    assert len({run.id for run in made}) == 15
    assert scene.shown(made[-1]) == scene.shown(scene.bell.get(made[-1].id))
    assert made[-1].priority == 3
    assert getattr(scene, ask)("enqueue_many", []) == []


def test_what_is_told_of_a_run_at_every_stage_is_the_same(scene: Scene) -> None:
    bell = scene.bell
    drain(bell)
    sent, failed = (
        bell.enqueue("send", {"to": "ö@b.c"}, tag="stages"),
        bell.enqueue("fail", {"reason": "x"}, tag="stages"),
    )
    later = bell.enqueue("send", {"to": "l"}, delay=3600, user_id=5, tag="stages", persistent=False)
    for run in (sent, failed, later):
        scene.same("get", run.id)
        scene.same("attempts", run.id)
    assert "It is due in 60 min" in scene.same("why", later.id)
    drain(bell)
    bell.cancel(later.id, "no longer")
    for run in (sent, failed, later):
        scene.same("get", run.id)
        scene.same("attempts", run.id)
    assert scene.client.get(sent.id).result == {"sent": "ö@b.c"}
    assert scene.client.get(sent.id).progress == {"done": 1, "total": 2, "message": "half"}
    assert [run.status for run in scene.same("runs", tag="stages")] == ["canceled", "failed", "succeeded"]


def test_logs_come_in_pages(scene: Scene) -> None:
    run = scene.bell.enqueue("send", {"to": "logs"})
    drain(scene.bell)
    first = scene.same("logs", run.id, limit=1)
    assert [line.message for line in first] == ["to logs"]
    assert [line.message for line in scene.same("logs", run.id, after=first[0])] == ["sent"]
    scene.raises(RunNotFound, "logs", NOBODY)


def test_runs_are_found_by_the_same_filters(scene: Scene) -> None:
    bell = scene.bell
    drain(bell)
    for number in range(5):
        bell.enqueue("send", {"to": str(number)}, tag="found", user_id=number % 2, queue=f"q{number % 2}")
    bell.enqueue("fail", {"reason": "x"}, tag="found", queue="q0")
    drain(bell)
    for wanted in (
        {},
        {"status": "failed"},
        {"status": ["failed", "succeeded"]},
        {"job": "send"},
        {"queue": "q1"},
        {"user_id": 1},
        {"limit": 2},
    ):
        scene.same("runs", **{"tag": "found", **wanted})
    first = scene.same("runs", tag="found", limit=2)
    scene.same("runs", tag="found", limit=2, before=first[-1].id)
    for ask in (scene.asked, scene.awaited):
        for refused in ({"status": "gone"}, {"limit": 0}, {"limit": 1001}):
            with pytest.raises(InvalidOption):
                ask("runs", **refused)


def test_a_cancel_in_progress_is_told(scene: Scene) -> None:
    run = scene.bell.enqueue("fail", {"reason": "x"})
    [run] = [one for one in take(scene.bell) if one.id == run.id]
    scene.client.cancel(run.id)
    found = scene.client.get(run.id)
    assert (found.status, found.cancel_requested) == (Status.RUNNING, True)
    scene.same("get", run.id)
    scene.bell.store.runs.apply([state.cancel(run, run.updated_at, reason="asked", keep=timedelta(1))])


def test_cancel_and_retry(scene: Scene) -> None:
    bell = scene.bell
    for ask in (scene.asked, scene.awaited):
        run = bell.enqueue("send", {"to": "c"}, delay=3600)
        assert scene.shown(ask("cancel", run.id, "not needed")) == scene.shown(bell.get(run.id))
        assert bell.get(run.id).reason == "not needed"
        again = ask("retry", run.id)
        assert again.retry_of == run.id
        assert scene.shown(again) == scene.shown(bell.get(again.id))
    queued = bell.enqueue("send", {"to": "c"}, delay=3600)
    scene.raises(RunNotFinished, "retry", queued.id)
    for verb in ("get", "cancel", "retry", "attempts", "why"):
        scene.raises(RunNotFound, verb, NOBODY)
        scene.raises(RunNotFound, verb, "no-id-at-all")


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_wait_comes_back_with_the_ended_run_or_when_its_time_is_over(scene: Scene, ask: str) -> None:
    run = scene.bell.enqueue("send", {"to": "w"}, delay=3600)
    with pytest.raises(WaitTimeout):
        getattr(scene, ask)("wait", run.id, 0.01)
    scene.bell.cancel(run.id)
    assert scene.shown(getattr(scene, ask)("wait", run.id)) == scene.shown(scene.bell.get(run.id))
    with pytest.raises(RunNotFound):
        getattr(scene, ask)("wait", NOBODY, 1)


def test_a_wait_hears_of_the_end_while_it_waits(scene: Scene) -> None:
    run = scene.bell.enqueue("send", {"to": "w"}, delay=3600)
    watched = scene.client.watch(run.id, pace=0.01)
    assert next(watched).status == "scheduled"
    scene.bell.cancel(run.id)
    assert [seen.status for seen in watched] == ["canceled"]


def test_tenants_do_not_see_each_other(scene: Scene) -> None:
    ours = scene.bell.enqueue("send", {"to": "ours"}, delay=3600)
    theirs = scene.client.for_tenant("acme").enqueue("send", {"to": "theirs"}, delay=3600)
    named = scene.client.enqueue("send", {"to": "named"}, delay=3600, tenant="acme")
    assert (theirs.tenant, named.tenant) == ("acme", "acme")
    assert [run.id for run in scene.client.for_tenant("acme").runs()] == [named.id, theirs.id]
    with pytest.raises(RunNotFound):
        scene.client.get(theirs.id)
    with pytest.raises(RunNotFound):
        scene.client.for_tenant("acme").get(ours.id)


@pytest.mark.anyio
async def test_an_app_in_the_same_process_can_be_asked_without_a_network() -> None:
    with make_bell(fresh_store()) as bell:
        token = bell.tokens.create("one", scopes=["operate"]).text
        transport = httpx2.ASGITransport(app=bell.asgi())
        async with Client("http://localhost", token, transport=transport) as client:
            run = await client.aenqueue("send", {"to": "x"}, delay=3600)
            assert (await client.aget(run.id)).as_dict() == run.as_dict()
            with pytest.raises(InvalidOption, match="async code only"):
                client.get(run.id)


def test_a_key_of_its_own_does_what_it_does_here(scene: Scene) -> None:
    first = scene.client.enqueue("send", {"to": "first"}, key="own", delay=3600)
    again = scene.client.enqueue("send", {"to": "second"}, key="own", delay=3600)
    assert (again.id, again.input) == (first.id, {"to": "first"})
    other = scene.client.enqueue_many([scene.client.request("send", {"to": "third"}, key="own", delay=3600)])
    assert [run.id for run in other] == [first.id]


@pytest.mark.parametrize("given", [{}, {"delay": 3600, "tag": "t", "priority": 3, "queue": "q", "persistent": False}])
def test_who_may_make_runs_and_not_read_them_gets_their_ids_alone(scene: Scene, given: dict[str, Any]) -> None:
    with Client(scene.url, scene.bell.tokens.create("one", scopes=["enqueue"]).text) as client:
        made = [client.enqueue("send", {"to": "x"}, **given)]
        made += client.enqueue_many([client.request("send", {"to": "x"}, **given)])
        with pytest.raises(Forbidden):
            client.get(made[0].id)
    assert made == [MadeRun(id=run.id, status=scene.bell.get(run.id).status) for run in made]
