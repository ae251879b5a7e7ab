"""Pauses, workers, webhooks, counting and acting on many over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.remote.conftest import Scene
from tests.support.inside.values import Worker
from tests.unit.makers import worker_of
from workbell import EndpointNotFound, EndpointRefused, InvalidOption, Retry, WorkerNotFound
from workbell.testing import drain

NOBODY = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"
HOOK = "https://hooks.example.com/in?token=secret"


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_pausing_and_resuming(scene: Scene, ask: str) -> None:
    for what in ({"queue": "slow"}, {"job": "send"}, {"queue": "slow", "job": "send"}):
        made = getattr(scene, ask)("pause", **what)
        assert made in scene.bell.pauses()
        assert (made.queue, made.job) == (what.get("queue"), what.get("job"))
    scene.same("pauses")
    assert getattr(scene, ask)("resume", queue="slow", job="send") == 1
    assert getattr(scene, ask)("resume", job="send") == 1
    assert getattr(scene, ask)("resume", queue="slow") == 1
    assert scene.same("pauses") == []
    scene.raises(InvalidOption, "pause")
    scene.raises(InvalidOption, "resume")


def test_workers(scene: Scene) -> None:
    assert scene.same("workers") == []
    now = datetime.now(UTC)
    for number, seen_at in enumerate((now, now - timedelta(minutes=5))):
        scene.bell.store.workers.put(
            Worker(
                id=f"w{number}",
                host="here",
                pid=7,
                incarnation="i",
                version="1",
                queues=None if number else ("q",),
                jobs=("send",),
                concurrency=3,
                started_at=seen_at,
                seen_at=seen_at,
            )
        )
    assert {one.worker.id: one.alive for one in scene.same("workers")} == {"w0": True, "w1": False}


def test_draining_a_worker(scene: Scene) -> None:
    worker = worker_of("send", now=datetime.now(UTC))
    scene.bell.store.workers.put(worker)
    for verb, drained in (("drain_worker", True), ("resume_worker", False)):
        told = scene.same(verb, worker.id).worker
        assert (told.drained_at is not None) is drained
        if told.drained_at is not None:
            scene.bell.store.workers.note_drained(worker.id, told.drained_at, told.drained_at)
            assert worker.id in [one.worker.id for one in scene.same("workers") if one.worker.drain_seen_at]
        scene.raises(WorkerNotFound, verb, "h/nobody")
    scene.bell.store.workers.remove([worker.id])


def test_counting(scene: Scene) -> None:
    for number in range(3):
        scene.bell.enqueue("send", {"to": "n", "urgent": number == 0}, tag="counted", delay=3600)
    assert scene.same("count_runs", tag="counted").count == 3
    assert scene.same("count_runs", tag="counted", input={"urgent": True}).count == 1
    assert scene.same("count_runs", tag="counted", input={"to": "7"}).count == 0
    assert len(scene.same("runs", tag="counted", input={"to": "n"}, limit=2)) == 2
    assert len(scene.same("page_of_runs", tag="counted", limit=2).runs) == 2
    scene.same("runs", tag="counted", since=datetime(2020, 1, 1, tzinfo=UTC), until=datetime(2100, 1, 1, tzinfo=UTC))
    scene.raises(InvalidOption, "runs", colour="red")


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_acting_on_many(scene: Scene, ask: str) -> None:
    tag = f"many-{ask}"
    runs = [scene.bell.enqueue("send", {"to": "b"}, tag=tag, delay=3600) for _ in range(3)]
    counted = getattr(scene, ask)("bulk", "cancel", tag=tag, dry_run=True)
    made = getattr(scene, ask)("bulk", "cancel", tag=tag, input={"to": "b"})
    drain(scene.bell)
    assert scene.same("get", counted.id).result["matched"] == 3
    assert scene.same("get", made.id).result["done"] == 3
    assert {scene.bell.get(run.id).status for run in runs} == {"canceled"}
    with pytest.raises(InvalidOption, match="action"):
        getattr(scene, ask)("bulk", "burn", tag=tag)


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_webhooks(scene: Scene, ask: str) -> None:
    endpoint, secret = getattr(scene, ask)(
        "webhooks.add",
        HOOK,
        patterns="posts.*",
        headers={"x-token": "hidden"},
        description="D",
        retry=Retry(attempts=4, delay=2, factor=3, cap=30, jitter=0),
        rate="10/s",
        concurrency=2,
        timeout=5,
    )
    name = endpoint.id
    there = scene.bell.webhooks.get(name)
    assert scene.shown(endpoint) == scene.shown(there)
    assert there.retry is not None
    assert (there.patterns, there.rate, there.concurrency, there.timeout) == (("posts.*",), "10/s", 2, 5)
    assert secret.startswith("whsec_")
    assert "hidden" not in str(endpoint)
    assert secret not in repr(getattr(scene, ask)("webhooks.add", HOOK, patterns=["a"], secret=secret))
    for verb in ("get", "health", "describe", "deliveries"):
        scene.same(f"webhooks.{verb}", name)
    for verb in ("list", "describe_all"):
        scene.same(f"webhooks.{verb}")
    assert getattr(scene, ask)("webhooks.update", name, url=HOOK + "2", patterns=["b"], retry=None).url == HOOK + "2"
    assert scene.bell.webhooks.get(name).retry is None
    getattr(scene, ask)("webhooks.update", name, retry={"initial_delay_ms": 7000})
    assert scene.bell.webhooks.get(name).retry == Retry(attempts=10, delay=7, factor=6, cap=86400, jitter=0)
    rotated = getattr(scene, ask)("webhooks.rotate", name, overlap=60)
    assert rotated.secret != secret
    assert len(rotated.endpoint.secrets) == 2
    assert getattr(scene, ask)("webhooks.disable", name, "too slow").disabled_reason == "too slow"
    scene.raises(InvalidOption, "webhooks.test", name)
    assert getattr(scene, ask)("webhooks.enable", name).enabled
    delivery = getattr(scene, ask)("webhooks.test", name)
    assert scene.same("webhooks.deliveries", name, limit=1)[0].id == delivery.id
    scene.same("webhooks.deliveries", name, status="queued", before=delivery.id)
    scene.same("webhooks.attempts", delivery.id)
    assert getattr(scene, ask)("webhooks.replay", name, since=datetime(2020, 1, 1, tzinfo=UTC)) == []
    assert getattr(scene, ask)("webhooks.delete", name) is None
    for verb in ("get", "enable", "rotate", "delete", "deliveries"):
        scene.raises(EndpointNotFound, f"webhooks.{verb}", name)
    scene.raises(EndpointRefused, "webhooks.add", "http://127.0.0.1/", patterns="a")
