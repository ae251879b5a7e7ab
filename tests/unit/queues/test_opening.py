"""Opening a queue by its URL: the store's own, and those of third parties by their entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.folder_queue import FOLDER_QUEUE
from tests.support.third_party import install_queue
from workbell import InvalidUrl, MissingPackage, SettingsError, Workbell
from workbell.doctor.queue import queue_findings
from workbell.queues.in_store import InStoreQueue
from workbell.queues.opening import open_queue
from workbell.settings import Settings, load
from workbell.stores.memory.store import MemoryStore
from workbell.stores.opening import open_store


@pytest.fixture
def provide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    monkeypatch.syspath_prepend(tmp_path / "site")
    yield lambda code: install_queue(tmp_path / "site", code) and None
    sys.modules.pop("folder_queue", None)


def test_our_own() -> None:
    assert isinstance(open_queue("store://", MemoryStore()), InStoreQueue)


def test_one_of_a_third_party(provide: Callable[[str], None], tmp_path: Path) -> None:
    provide(FOLDER_QUEUE)
    assert type(open_queue(f"folder://{tmp_path}", MemoryStore())).__name__ == "FolderQueue"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("store://x", "takes nothing after it: write store://"),
        (
            "store",
            r"'store' names no queue; there are cloudflare-queue, redis, rediss, store and unix\. Write the URL as ",
        ),
        ("zmq://me:secret@host/0", "'zmq' names no queue; there are .* install the package"),
    ],
)
def test_a_url_that_names_none(url: str, said: str) -> None:
    with pytest.raises(InvalidUrl, match=said) as caught:
        Workbell(settings=Settings(url="memory://", queue_url=url))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def open_url(url, **_):\n    return object()\n", "its object is no queue, it lacks ack, close, give_back"),
        ("def open_url(url, **_):\n    raise OSError(url)\n", "could not open the queue: OSError: folder://me:…@host"),
    ],
)
def test_an_error_of_a_third_party_names_its_package(code: str, said: str, provide: Callable[[str], None]) -> None:
    provide(code)
    with pytest.raises(SettingsError, match=said) as caught:
        open_queue("folder://me:secret@host", MemoryStore())
    assert str(caught.value).startswith("folder-queue 1.2 (entry point folder = folder_queue:open_url)")


def test_redis_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "workbell.queues.redis", raising=False)
    with pytest.raises(MissingPackage, match=r"pip install 'workbell\[redis\]'"):
        open_queue("redis://me:secret@host/0", MemoryStore())


def test_a_poll_is_slower_beside_a_queue() -> None:
    assert Settings().poll_pace == 1.0
    assert Settings(queue_url="redis://host").poll_pace == 5.0
    assert Settings(queue_url="redis://host", poll=0.2).poll_pace == 0.2


def test_it_is_a_setting_like_others(tmp_path: Path) -> None:
    file = tmp_path / "workbell.toml"
    file.write_text('queue_url = "folder://a"\n', "utf-8")
    assert load(environment={}).queue_url == "store://"
    assert load(environment={}, file=file).queue_url == "folder://a"
    assert load(environment={"WORKBELL_QUEUE_URL": "folder://b"}, file=file).queue_url == "folder://b"


@pytest.mark.parametrize(
    ("url", "wakes"),
    [
        ("sqlite:///{folder}/workbell.db", True),
        ("memory://", True),
        ("d1+https://bridge.example.com", False),
    ],
)
def test_what_the_doctor_says_of_the_stores_own_hints(
    url: str, wakes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks the store, and connects to nothing for it."""
    monkeypatch.setenv("WORKBELL_D1_TOKEN", "a-token")
    store = open_store(url.format(folder=tmp_path))
    (found,) = queue_findings("store://", store, 2.5)
    store.close()
    if wakes:
        assert found.text == "the store's own hints wake workers"
    else:
        says = "nothing wakes workers, as the store's hints do not reach them; they poll every 2.5 s"
        assert found == ("note", "queue", says, "a queue (`queue_url`) wakes them at once.")
