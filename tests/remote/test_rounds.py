"""One-shot calls of a client: the server does the round."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tests.remote.conftest import Scene
from tests.support.inside.values import Settings
from tests.support.served import served
from tests.support.waiting import until
from workbell import Answer, Client, Dispatched, Forbidden, InvalidOption, ServiceUnavailable, Status, Workbell


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_both_verbs(scene: Scene, ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token = scene.bell.tokens.create("rounds", scopes=["dispatch", "consume"], tenant="*").text
    monkeypatch.setattr(scene, "client", Client(scene.url, token))
    call = getattr(scene, ask)
    assert isinstance(call("dispatch", limit=5), Dispatched)
    assert isinstance(call("dispatch"), Dispatched)
    call("consume", limit=1000)
    run = scene.bell.enqueue("send", {"to": "x"})
    (one,) = call("consume", runs=[run.id]).results
    assert (one.run, one.answer, one.status) == (run.id, Answer.DONE, Status.SUCCEEDED)
    run = scene.bell.enqueue("send", {"to": "x"})
    (one,) = call("consume", message={"version": 1, "run": run.id}).results
    assert (one.run, one.answer) == (run.id, Answer.DONE)
    assert call("consume", limit=3, seconds=5).results == ()
    with pytest.raises(InvalidOption):
        call("consume", runs=[run.id], limit=3)


def test_without_the_scope(scene: Scene) -> None:
    for verb in ("dispatch", "consume"):
        with pytest.raises(Forbidden, match=f"needs the scope {verb}"):
            scene.asked(verb)


def test_the_server_is_stopped(sqlite_url: str) -> None:
    """What it works on is handed back, and the caller still gets its answer, if that does not take long."""
    begun = threading.Event()
    with Workbell(settings=Settings(url=sqlite_url, http_port=0)) as bell, served(bell) as service:

        @bell.job
        async def rest() -> None:
            begun.set()
            await asyncio.sleep(60)

        run = rest.enqueue()
        token = bell.tokens.create("queue", scopes=["consume"], tenant="*").text
        with Client(service.url, token) as client, ThreadPoolExecutor(1) as thread:
            asking = thread.submit(lambda: client.consume(runs=[run.id]))
            assert begun.wait(30)
            service.stop()
            with suppress(ServiceUnavailable):  # on a busy machine the connection is cut before that
                (one,) = asking.result(60).results
                assert (one.answer, one.reason) == (Answer.RETRY, "handed back: stopped")
        until(lambda: bell.get(run.id).status is Status.QUEUED, "the run to be handed back", 30)
