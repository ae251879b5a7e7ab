"""Deliveries by running workers on a real store: their limits, their failures, and workers that cannot send (C8)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.support.hooks import Hooks
from tests.support.inside.features import DELIVERIES_AT_ONCE as AT_ONCE
from tests.support.inside.values import DELIVERY, Move, Settings
from tests.support.waiting import until
from tests.support.webhook_scene import HERE
from workbell import Retry, Run, Workbell

pytestmark = pytest.mark.anyio

QUICK = {"poll": 0.05, "grace": 0.0}


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    with Hooks() as hooks:
        yield hooks


def bell_on(url: str) -> Workbell:
    return Workbell(settings=Settings(url=url, webhook_allow=HERE, **QUICK))  # type: ignore[arg-type]


async def settled(bell: Workbell, endpoint: str, count: int, status: str = "succeeded") -> None:
    """Until so many deliveries have ended so."""

    def done() -> bool:
        return len(bell.webhooks.deliveries(endpoint, status=status)) >= count

    await asyncio.to_thread(until, done, f"{count} deliveries to be {status}")


async def test_limits_of_an_endpoint_hold_over_all_workers(sql_store_url: str, hooks: Hooks) -> None:
    with bell_on(sql_store_url) as bell, bell_on(sql_store_url) as second:
        narrow, _ = bell.webhooks.add(hooks.url("/narrow"), patterns="posts.*", concurrency=2)
        usual, _ = bell.webhooks.add(hooks.url("/usual"), patterns="posts.*")
        paced, _ = bell.webhooks.add(hooks.url("/paced"), patterns="posts.*", rate="4/s")
        begun: list[Run] = []  # as they were claimed, by either
        for worker in (bell, second):
            worker.host.bus.subscribe(lambda told: begun.extend(one.run for one in told if one.move is Move.START))
        hooks.hold("/narrow")
        hooks.hold("/usual")
        for number in range(9):
            bell.emit("posts.created", {"number": number})
        async with bell.running(), second.running():
            await hooks.await_for(2, "/narrow")
            await hooks.await_for(AT_ONCE, "/usual")
            for endpoint, many in ((narrow, 2), (usual, AT_ONCE)):
                waiting = bell.webhooks.deliveries(endpoint.id, status="queued")[0]
                assert bell.why(waiting.id) == (
                    f"A limit holds it back: {many} of {many} runs of job {DELIVERY} with endpoint={endpoint.id} "
                    "are running."
                )
            # What an endpoint is allowed from now on counts for the workers that run.
            await bell.webhooks.aupdate(narrow.id, concurrency=3)
            await hooks.await_for(3, "/narrow")
            hooks.release("/narrow")
            hooks.release("/usual")
            for endpoint in (narrow, usual, paced):
                await settled(bell, endpoint.id, 9)
        assert (hooks.most["/narrow"], hooks.most["/usual"]) == (3, AT_ONCE)
        assert len(hooks.arrived) == 27
        times = sorted(run.started_at for run in begun if run.lane.key == paced.id and run.started_at is not None)
        assert len(times) == 9
        assert all(later - first >= timedelta(seconds=1) for first, later in zip(times, times[4:], strict=False))


async def test_two_triggers_and_an_own_pattern_send_an_event_once(sql_store_url: str, hooks: Hooks) -> None:
    """C8: whichever of two workers makes which delivery."""
    with bell_on(sql_store_url) as bell, bell_on(sql_store_url) as second:
        own, _ = bell.webhooks.add(hooks.url("/own"), patterns="posts.*")
        others = [bell.webhooks.add(hooks.url(f"/{number}"), patterns="nothing.like_this")[0] for number in range(3)]
        for name in ("one", "two"):
            bell.triggers.add(name, pattern="posts.*", processor=DELIVERY)
        events = [bell.emit("posts.created", {"number": number}).id for number in range(10)]
        async with bell.running(), second.running():
            for endpoint in (own, *others):
                await settled(bell, endpoint.id, 10)

            def made() -> list[int] | None:
                runs = [run for name in ("one", "two") for run in bell.executions(trigger=name)]
                done = [run.result["deliveries"] for run in runs if run.status == "completed"]
                return done if len(done) == 20 else None

            assert sum(await asyncio.to_thread(until, made, "the runs of both triggers")) == 30
        for path in ("/own", "/0", "/1", "/2"):
            assert sorted(one.id for one in hooks.to(path)) == sorted(events)


async def test_failures_and_their_attempts_are_kept(sql_store_url: str, hooks: Hooks) -> None:
    with bell_on(sql_store_url) as bell:
        soon = Retry(5, delay=0.01, factor=1, jitter=0)
        endpoint, secret = bell.webhooks.add(hooks.url("/hook"), patterns="posts.*", retry=soon)
        bell.webhooks.add(hooks.url("/ear"), patterns="webhook.*")
        hooks.answer_once(500, 302, 429, path="/hook")
        async with bell.running():
            event = await bell.aemit("posts.created", {"id": 7})
            await settled(bell, endpoint.id, 1)
            (delivery,) = bell.webhooks.deliveries(endpoint.id)
            assert (delivery.attempts, delivery.status_code, delivery.answer) == (4, 200, "thanks")
            attempts = bell.webhooks.attempts(delivery.id)
            assert [one.result["status_code"] for one in attempts] == [500, 302, 429, 200]
            assert [one.error and one.error.split(",")[0].rstrip(".") for one in attempts] == [
                "It answered 500",
                "It answered 302",
                "It answered 429",
                None,
            ]
            assert all(one.result["duration_ms"] > 0 for one in attempts)
            assert {one.id for one in hooks.to("/hook")} == {event.id}
            assert bell.webhooks.health(endpoint.id).failures == 0

            hooks.answer(410, path="/hook")
            await bell.aemit("posts.created", {"id": 8})
            (told,) = await hooks.await_for(1, "/ear")
            found = bell.webhooks.get(endpoint.id)
            assert (found.enabled, found.reason) == (False, "the endpoint answered 410 Gone: it wants no more")
            assert told.event["data"]["reason"] == found.reason
            await settled(bell, endpoint.id, 1, "failed")
            missed = await bell.aemit("posts.created", {"id": 9})

            def recorded() -> list[str]:
                listed = bell.store.events.matches_of_subscriber(endpoint.id, before=None, limit=9)
                return [match.event for match in listed if match.outcome == "disabled"]

            assert await asyncio.to_thread(until, recorded, "what it misses to be recorded") == [missed.id]
            hooks.answer(200, path="/hook")
            await bell.webhooks.aenable(endpoint.id)
            again = await bell.webhooks.areplay(endpoint.id, since=event.created_at)
            assert len(again) == 2
            await settled(bell, endpoint.id, 3)
        assert [one.event["data"]["id"] for one in hooks.to("/hook")][:5] == [7, 7, 7, 7, 8]
        assert {one.event["data"]["id"] for one in hooks.to("/hook")[5:]} == {8, 9}
        assert hooks.to("/hook")[-1].verified_by(secret)


async def test_a_worker_without_the_means_leaves_deliveries_to_others(
    sqlite_url: str, hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("workbell.webhooks.delivery.find_spec", lambda _name: None)
        poor = bell_on(sqlite_url)
        poor.registry.prepare_built_in()
    with poor, bell_on(sqlite_url) as able:
        done: list[int] = []

        @poor.job
        def work(number: int) -> None:
            done.append(number)

        endpoint, secret = poor.webhooks.add(hooks.url(), patterns="posts.*")
        async with poor.running():
            await poor.aemit("posts.created", {"id": 7})
            await asyncio.to_thread(until, lambda: poor.webhooks.deliveries(endpoint.id), "the delivery to be made")
            run = await work.aenqueue(1)  # later than the delivery, and it is served
            await poor.await_(run.id, timeout=30)
            (delivery,) = poor.webhooks.deliveries(endpoint.id)
            assert (delivery.status, delivery.attempts, hooks.arrived) == ("queued", 0, [])
            for bell in (poor, able):
                assert bell.why(delivery.id) == (
                    "1 worker is running, and it cannot send webhooks: the packages for it are not installed; "
                    "pip install 'workbell[webhooks]' where one runs, and start it again. It waits, and nothing is "
                    "spent meanwhile."
                )
        async with able.running():
            await settled(able, endpoint.id, 1)
    assert hooks.arrived[0].verified_by(secret)["data"] == {"id": 7}
