"""Arguments that no request can carry: the client refuses them with errors of Workbell, before anything is sent."""

from __future__ import annotations

import asyncio
from io import BytesIO, StringIO
from operator import attrgetter
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.remote.conftest import Scene
from workbell import Client, InvalidOption, NotFound, WorkbellError

HALF = "a\ud800"  # half of a surrogate pair, which UTF-8 cannot write

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("get", (HALF,), {}),
    ("get", (7,), {}),
    ("get", (None,), {}),
    ("get", ("x" * 100_000,), {}),
    ("wait", (HALF,), {}),
    ("logs", (HALF,), {}),
    ("runs.page", (), {"tag": HALF}),
    ("runs.page", (), {"tag": "x" * 100_000}),
    ("runs.page", (), {"before": HALF}),
    ("count_runs", (), {"schedule": HALF}),
    ("count_runs", (), {"status": ["queued", HALF]}),
    ("bulk", ("cancel",), {"tag": HALF}),
    ("bulk", (HALF,), {}),
    ("schedules.get", (HALF,), {}),
    ("schedules.delete", (HALF,), {}),
    ("schedules.list", (), {"after": HALF}),
    ("events.list", (), {"type": HALF}),
    ("events.counts", ([HALF],), {}),
    ("tokens.list", (), {"tenant": HALF}),
    ("tenants.put", (HALF,), {}),
    ("agents.pairing", (HALF,), {}),
    ("agents.pairing", (), {"labels": "gpu"}),
    ("agents.label", ("web-1", "gpu"), {}),
    ("notifications.mark_read", ([HALF],), {}),
    ("notifications.mark_read", ([object()],), {}),
    ("consume", (), {"runs": [HALF]}),
    ("files.get", (HALF,), {}),
    ("files.put", (b"x",), {"filename": HALF}),
]


class Silent:
    """A client that notes what it sends, and a service that is not there."""

    def __init__(self) -> None:
        self.sent: list[httpx2.Request] = []
        self.client = Client("https://bells.example.com", "wb_x", transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        return httpx2.Response(500)

    def raised(self, verb: str, *args: Any, **options: Any) -> list[WorkbellError]:
        room, _, word = verb.rpartition(".")
        twin = f"{room}." * bool(room) + ("await_" if word == "wait" else f"a{word}")
        with pytest.raises(WorkbellError) as plain:
            attrgetter(verb)(self.client)(*args, **options)
        with pytest.raises(WorkbellError) as awaited:
            asyncio.run(attrgetter(twin)(self.client)(*args, **options))
        return [plain.value, awaited.value]


@pytest.mark.parametrize(("verb", "args", "options"), CALLS)
def test_it_is_refused_before_it_is_sent(verb: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    scene = Silent()
    for error in scene.raised(verb, *args, **options):
        assert isinstance(error, InvalidOption)
        assert str(error).isprintable()
        assert len(str(error)) < 400
    assert scene.sent == []


def test_the_word_of_what_cannot_be_sent_is_named() -> None:
    for error in Silent().raised("runs.page", tag=HALF):
        assert str(error) == "tag: half of a surrogate pair cannot be sent; leave it out."


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_names_that_lead_elsewhere(name: str) -> None:
    scene = Silent()
    assert {type(error) for error in scene.raised("schedules.get", name)} == {NotFound}
    assert scene.sent == []


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("/nonexistent", {}),
        ("/", {}),
        ("a\x00b", {"filename": "a"}),
        (HALF, {"filename": "a"}),
        (b"x", {}),
        (b"x", {"filename": ""}),
        (b"x", {"filename": "a/b"}),
        (b"x", {"filename": HALF}),
        (b"x", {"filename": "a" * 256}),
        (b"x", {"filename": "a", "content_type": "é"}),
        (b"x", {"filename": "a", "content_type": "text/csv\r\nx-own: yes"}),
        (b"x", {"filename": "a", "content_type": HALF}),
        (b"x", {"filename": "a", "content_type": 7}),
        (7, {"filename": "a"}),
        (None, {"filename": "a"}),
    ],
)
def test_files_are_refused_in_the_words_of_the_local_verb(scene: Scene, data: Any, options: dict[str, Any]) -> None:
    scene.raises(InvalidOption, "files.put", data, **options)
    assert Silent().raised("files.put", data, **options)


def test_a_file_that_was_opened_as_text(scene: Scene) -> None:
    for put in (scene.bell.files.put, scene.client.files.put):
        with pytest.raises(InvalidOption, match="opened as text"):
            put(StringIO("x"), filename="a")  # type: ignore[arg-type]


@pytest.mark.parametrize("ask", ["asked", "awaited"])
def test_files_are_stored_as_the_local_verb_would(scene: Scene, ask: str, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    for data, options, shown in (
        (b"a,b\n", {"filename": "numbers.csv"}, ("numbers.csv", "text/csv", 4)),
        (bytearray(b"x"), {"filename": "x"}, ("x", "application/octet-stream", 1)),
        (memoryview(b"x"), {"filename": "ö.txt"}, ("ö.txt", "text/plain", 1)),
        (BytesIO(b"x"), {"filename": "x", "content_type": "image/png"}, ("x", "image/png", 1)),
        (tmp_path / "note.txt", {}, ("note.txt", "text/plain", 5)),
        (str(tmp_path / "note.txt"), {"filename": "other"}, ("other", "application/octet-stream", 5)),
    ):
        made = getattr(scene, ask)("files.put", data, **options)
        assert (made.filename, made.content_type, made.size) == shown
        assert scene.bell.files.get(made.id) == made
