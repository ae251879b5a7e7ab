"""`/metrics`: read by the parser of Prometheus' own client, for who may see it, and no more than a second old."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.fresh_store import fresh_store
from tests.support.inside.http import METRICS_FRESH as FRESH
from tests.support.inside.http import Family, RequestCounts, Sample, metrics, written
from tests.support.inside.values import BUCKETS, DELIVERY, Agent, Lane, Settings, Worker, fail, new_id, succeed
from workbell import Retry, Run, Status, Workbell, __version__
from workbell.testing import ManualClock

pytestmark = pytest.mark.anyio

Numbers = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Numbers:
    """Every sample by its name and labels; and none is there twice."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}
    assert len(found) == len(samples)
    return found


def of(numbers: Numbers, name: str, **labels: str) -> float:
    return numbers[name, tuple(sorted(labels.items()))]


class Scene:
    def __init__(self, bell: Workbell, http: httpx2.AsyncClient) -> None:
        self.bell = bell
        self.http = http

    def token(self, *scopes: str, tenant: str | None = "*") -> dict[str, str]:
        return {"Authorization": f"Bearer {self.bell.tokens.create('t', scopes=scopes, tenant=tenant).text}"}

    async def numbers(self, headers: dict[str, str], query: str = "") -> Numbers:
        answer = await self.http.get(f"/metrics{query}", headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        return read(answer.text)

    def end(self, took: float, *, failed: bool = False, lane: Lane | None = None) -> None:
        """As a worker counts a run that had waited for a second."""
        now = self.bell.store.clock.now()
        due, started = now - timedelta(seconds=took + 1), now - timedelta(seconds=took)
        run = Run(new_id(), lane or Lane("default", "mail", "send"), Status.RUNNING, 0, due, due, due, token=1)
        keep = timedelta(days=1)
        change = (
            fail(run, now, error="E", reason="error", keep=keep, started_at=started)
            if failed
            else succeed(run, now, result=None, keep=keep, started_at=started)
        )
        self.bell.runtime.publisher.tallies.moved([(run, change)])


@asynccontextmanager
async def opened(clock: ManualClock, **settings: Any) -> AsyncIterator[Scene]:
    bell = Workbell(store=fresh_store(clock), settings=Settings(**settings))
    bell.job(name="send", queue="mail", retry=Retry(attempts=1))(lambda: None)
    transport = httpx2.ASGITransport(app=bell.asgi())
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        yield Scene(bell, http)
    bell.runtime.close()


@pytest.fixture
async def scene(clock: ManualClock) -> AsyncIterator[Scene]:
    async with opened(clock) as scene:
        yield scene


async def test_runs_that_ended(scene: Scene) -> None:
    for took in (0.01, 0.02, 0.3, 4000):
        scene.end(took)
    scene.end(0.3, failed=True)
    scene.end(1, lane=Lane("acme", "webhooks", DELIVERY, None, "endpoint"))
    numbers = await scene.numbers(scene.token("read"))
    send = {"job": "send", "queue": "mail"}
    assert of(numbers, "workbell_runs_total", status="succeeded", **send) == 4
    assert of(numbers, "workbell_runs_total", status="failed", **send) == 1
    assert of(numbers, "workbell_webhook_deliveries_total", status="succeeded") == 1
    buckets = {
        bound: of(numbers, "workbell_run_duration_seconds_bucket", le=str(bound), **send) for bound in (0.01, 0.05)
    }
    assert buckets == {0.01: 1, 0.05: 2}
    assert of(numbers, "workbell_run_duration_seconds_bucket", le="3600", **send) == 4
    assert of(numbers, "workbell_run_duration_seconds_bucket", le="+Inf", **send) == 5
    assert of(numbers, "workbell_run_duration_seconds_count", **send) == 5
    assert of(numbers, "workbell_run_duration_seconds_sum", **send) == pytest.approx(4000.63)
    assert of(numbers, "workbell_run_wait_seconds_sum", **send) == pytest.approx(5)
    assert of(numbers, "workbell_run_wait_seconds_count", **send) == 5
    bounds = [key for key in numbers if key[0].endswith("_bucket") and ("job", "send") in key[1]]
    assert len(bounds) == len(BUCKETS) + 1


async def test_what_is_there_now(scene: Scene, clock: ManualClock) -> None:
    bell, now = scene.bell, clock.now()
    scene.end(1, lane=Lane("default", "idle", "other"))
    for delay in (0, 0, 60):
        bell.enqueue("send", delay=delay)
    bell.schedules.put("often", job="send", every=60, anchor=now)
    bell.store.agents.put(Agent(id=new_id(), name="box", created_at=now, seen_at=now))
    later = now + timedelta(seconds=90)
    for pid, seen_at in ((1, later), (2, now - timedelta(hours=1)), (3, later)):
        known = {"incarnation": "i", "version": "1", "queues": None, "jobs": (), "concurrency": 4}
        bell.store.workers.put(Worker(id=f"w{pid}", host="h", pid=pid, started_at=now, seen_at=seen_at, **known))
    bell.store.workers.drain("w3", now)
    clock.advance(90)
    numbers = await scene.numbers(scene.token("read"))
    depth = {
        (queue, status): of(numbers, "workbell_queue_depth", queue=queue, status=status)
        for queue in ("mail", "idle")
        for status in ("scheduled", "queued", "running")
    }
    assert {place: number for place, number in depth.items() if number} == {
        ("mail", "queued"): 2,
        ("mail", "scheduled"): 1,
    }
    assert of(numbers, "workbell_queue_oldest_age_seconds", queue="mail") == 90
    assert of(numbers, "workbell_queue_oldest_age_seconds", queue="idle") == 0
    bell.pause(queue="mail")
    clock.advance(seconds=2)  # for which the page is kept
    paused = await scene.numbers(scene.token("read"))
    assert of(paused, "workbell_queue_oldest_age_seconds", queue="mail") == 0, "somebody holds it back"
    assert of(numbers, "workbell_schedule_lag_seconds") == 30
    assert of(numbers, "workbell_workers") == 2
    assert of(numbers, "workbell_worker_slots", state="free") == 4  # and none of the drained one
    assert of(numbers, "workbell_worker_slots", state="busy") == 0
    assert of(numbers, "workbell_agents") == 0  # not heard of for long
    assert of(numbers, "workbell_sockets") == 0
    builds = [labels for name, labels in numbers if name == "workbell_build_info"]
    assert dict(builds[0])["version"] == __version__


async def test_runs_of_a_disabled_definition_have_no_age(scene: Scene, clock: ManualClock) -> None:
    scene.bell.jobs.put("archive", handler="send", queue="old")
    scene.bell.enqueue("archive", {})
    clock.advance(seconds=30)
    waits = await scene.numbers(scene.token("read"))
    assert of(waits, "workbell_queue_oldest_age_seconds", queue="old") == 30
    scene.bell.jobs.disable("archive")
    clock.advance(seconds=2)
    held = await scene.numbers(scene.token("read"))
    assert of(held, "workbell_queue_oldest_age_seconds", queue="old") == 0
    assert of(held, "workbell_queue_depth", queue="old", status="queued") == 1


async def test_requests_are_counted_by_route_and_never_by_path(scene: Scene, clock: ManualClock) -> None:
    headers = scene.token("read")
    for path in ("/api/v1/jobs/send", "/api/v1/jobs/nothing", "/no/such/path", "/other/path"):
        await scene.http.get(path, headers=headers)
    numbers = await scene.numbers(headers)
    counted = {key[1]: value for key, value in numbers.items() if key[0] == "workbell_http_requests_total"}
    found = {(dict(labels)["route"], dict(labels)["status"]): count for labels, count in counted.items()}
    assert found == {("/api/v1/jobs/{name}", "200"): 1, ("/api/v1/jobs/{name}", "404"): 1, ("", "404"): 2}


def test_strangers_cannot_make_the_counters_grow() -> None:
    measured = RequestCounts()
    for number in range(100):
        measured.count(f"METHOD{number}", "", 404, 0.0)
    assert dict(measured.requests) == {("other", "", 404): 100}


async def test_it_is_as_old_as_a_second(scene: Scene, clock: ManualClock) -> None:
    headers = scene.token("read")
    scene.end(1)
    labels = {"job": "send", "queue": "mail", "status": "succeeded"}
    assert of(await scene.numbers(headers), "workbell_runs_total", **labels) == 1
    scene.end(1)
    assert of(await scene.numbers(headers), "workbell_runs_total", **labels) == 1
    clock.advance(FRESH)
    assert of(await scene.numbers(headers), "workbell_runs_total", **labels) == 2


async def test_a_tenant_sees_its_own(scene: Scene) -> None:
    scene.end(1)
    scene.end(1, lane=Lane("acme", "secret-queue", "secret-job"))
    theirs = await scene.numbers(scene.token("read", tenant="default"))
    assert "secret" not in str(theirs)
    assert of(theirs, "workbell_runs_total", job="send", queue="mail", status="succeeded") == 1
    root = scene.token("read")
    both = await scene.numbers(root, "?by_tenant=1")
    assert (
        of(both, "workbell_runs_total", tenant="acme", job="secret-job", queue="secret-queue", status="succeeded") == 1
    )
    assert of(both, "workbell_queue_depth", tenant="default", queue="mail", status="queued") == 0
    one = await scene.numbers(root, "?tenant=acme")
    assert ("job", "send") not in [label for _, labels in one for label in labels]


async def test_a_tenant_sees_nothing_of_what_all_share(scene: Scene) -> None:
    """Requests, sockets, busy and free slots tell what others do; the version is the operator's. Of the tenant of the
    program, a token sees them."""
    shared = {"workbell_http_requests_total", "workbell_http_request_seconds_total", "workbell_build_info"}
    shared |= {"workbell_sockets", "workbell_worker_slots"}
    await scene.http.get("/api/v1/jobs", headers=scene.token("read"))
    theirs = {name for name, _ in await scene.numbers(scene.token("read", tenant="acme"))}
    assert theirs.isdisjoint(shared)
    assert {"workbell_workers", "workbell_schedule_lag_seconds", "workbell_agents"} <= theirs
    for tenant in ("default", "*"):
        seen = await scene.numbers(scene.token("read", tenant=tenant), "?tenant=acme" if tenant == "*" else "")
        assert shared <= {name for name, _ in seen}


@pytest.mark.parametrize(("scope", "wanted"), [("enqueue", 403), ("agent", 403), ("operate", 200)])
async def test_it_needs_a_token_that_may_read(scene: Scene, scope: str, wanted: int) -> None:
    headers = scene.token(scope)
    assert (await scene.http.get("/metrics", headers=headers)).status_code == wanted
    assert (await scene.http.get("/metrics")).status_code == 401


async def test_it_may_be_open(clock: ManualClock) -> None:
    async with opened(clock, http_metrics_open=True) as scene:
        scene.end(1)
        assert of(await scene.numbers({}), "workbell_runs_total", job="send", queue="mail", status="succeeded") == 1


async def test_what_never_began_is_not_timed(clock: ManualClock) -> None:
    """Else each name that somebody enqueues and cancels would cost seventeen lines more at every look."""
    async with opened(clock) as scene:
        bell = scene.bell
        bell.cancel(bell.enqueue("nobody-knows", {}, target="label:press").id)
        numbers = await scene.numbers(scene.token("read"))
        assert of(numbers, "workbell_runs_total", job="nobody-knows", queue="default", status="canceled") == 1
        assert not [name for name, _ in numbers if name.startswith(("workbell_run_duration", "workbell_run_wait"))]


def depths(numbers: Numbers, *, tenant: str | None = None) -> dict[str, float]:
    """Queued runs by queue."""
    found = {}
    for (name, pairs), value in numbers.items():
        labels = dict(pairs)
        if name == "workbell_queue_depth" and labels["status"] == "queued" and labels.get("tenant") == tenant:
            found[labels["queue"]] = value
    return found


async def test_queues_beyond_a_limit_are_summed_up(
    scene: Scene, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each tenant: names are free, and one tenant must neither bloat the page nor hide what others have."""
    monkeypatch.setattr(metrics, "MOST_SHOWN", 3)
    acme = scene.bell.for_tenant("acme")
    for number in range(6):
        acme.enqueue("send", queue=f"flood-{number}")
    clock.advance(30)
    for _ in range(2):
        acme.enqueue("send", queue="wanted")
    acme.enqueue("send", queue="other")
    scene.bell.enqueue("send")
    every = await scene.numbers(scene.token("read"))
    assert depths(every) == {"wanted": 2, "flood-0": 1, "flood-1": 1, "": 5, "mail": 1}
    assert of(every, "workbell_queue_oldest_age_seconds", queue="") == 30
    both = await scene.numbers(scene.token("read"), "?by_tenant=1")
    assert depths(both, tenant="acme") == {"wanted": 2, "flood-0": 1, "flood-1": 1, "": 5}
    assert depths(both, tenant="default") == {"mail": 1}
    clock.advance(FRESH)
    assert depths(await scene.numbers(scene.token("read", tenant="acme"))) == depths(both, tenant="acme")


async def test_what_is_shown_once_is_shown_again_and_the_rest_never_falls(
    scene: Scene, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prometheus takes a counter that falls for one that began anew, and would count all of it twice."""
    monkeypatch.setattr(metrics, "MOST_SHOWN", 2)
    headers = scene.token("read")
    counts = []
    for lane, number in (("a", 3), ("b", 2), ("c", 1), ("c", 9), ("d", 20)):
        for _ in range(number):
            scene.end(1, lane=Lane("default", lane, "send"))
        clock.advance(FRESH)
        numbers = await scene.numbers(headers)
        found = {}
        for (name, pairs), value in numbers.items():
            labels = dict(pairs)
            if name == "workbell_runs_total":
                found[labels["job"], labels["queue"]] = value
        counts.append(found)
    a, b = ("send", "a"), ("send", "b")
    assert counts[1:] == [
        {a: 3, b: 2},
        {a: 3, b: 2, ("", ""): 1},
        {a: 3, b: 2, ("", ""): 10},
        {a: 3, b: 2, ("", ""): 30},
    ]
    assert of(numbers, "workbell_run_duration_seconds_count", job="", queue="") == 30
    assert of(numbers, "workbell_run_wait_seconds_count", job="", queue="") == 30
    assert of(numbers, "workbell_run_duration_seconds_bucket", job="", queue="", le="1") == 30


async def test_long_names_take_more_room(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name stands in two dozen lines."""
    monkeypatch.setattr(metrics, "MOST_BYTES", 250)
    for name in ("x" * 200, "é" * 100, "short"):
        scene.bell.enqueue("send", queue=name)
    numbers = await scene.numbers(scene.token("read"))
    assert depths(numbers) == {"short": 1, "x" * 200: 1, "": 1}


async def test_the_page_is_written_on_a_thread(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def noted(families: Any) -> str:
        threads.append(threading.get_ident())
        return written(families)

    monkeypatch.setattr(metrics, "written", noted)
    await scene.numbers(scene.token("read"))
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


def test_names_of_people_are_written_as_they_are() -> None:
    names = ['a"b', "a\\b", "a\\nb", "ß, {x}", "a\nb", '"} 1\nforged 2']
    about = 'one\nline, with a \\ and a "'
    text = written([Family("jobs", "gauge", about, [Sample({"job": name}, 1.5) for name in names])])
    (family,) = text_string_to_metric_families(text)
    assert [sample.labels["job"] for sample in family.samples] == names
    assert family.documentation == about
