"""One-shot calls of a client: the server does the round."""

from __future__ import annotations

import pytest

from tests.remote.conftest import Scene
from workbell import Answer, Client, Forbidden, InvalidOption, Status
from workbell.model.one_shot import Dispatched


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
    assert call("consume", limit=3, seconds=5).results == ()
    with pytest.raises(InvalidOption):
        call("consume", runs=[run.id], limit=3)


def test_without_the_scope(scene: Scene) -> None:
    for verb in ("dispatch", "consume"):
        with pytest.raises(Forbidden, match=f"needs the scope {verb}"):
            scene.asked(verb)
