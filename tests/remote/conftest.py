"""A Workbell that is served, and a client of it: what it answers is held against what the Workbell itself answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from operator import attrgetter
from typing import Any

import msgspec
import pytest

from tests.support.inside.stores import SqliteFiles, Store
from tests.support.inside.values import Settings
from tests.support.served import served
from workbell import Attempt, Client, Context, Endpoint, Event, Retry, Workbell


class Scene:
    """The verbs here, and those of a client over HTTP."""

    def __init__(self, bell: Workbell, url: str) -> None:
        self.bell = bell
        self.url = url
        self.token = bell.tokens.create("root", scopes=["admin"], tenant="*", user_id=7).text
        self.client = Client(url, self.token)
        self._loop = asyncio.Runner()

    def close(self) -> None:
        self._loop.run(self.client.aclose())
        self._loop.close()

    def asked(self, verb: str, *args: Any, **options: Any) -> Any:
        """What the client answers: `asked("schedules.get", "nightly")`."""
        return attrgetter(verb)(self.client)(*args, **options)

    def awaited(self, verb: str, *args: Any, **options: Any) -> Any:
        """The same of the async twin."""
        room, _, word = verb.rpartition(".")
        twin = f"{room}." * bool(room) + ("await_" if word == "wait" else f"a{word}")

        return self._loop.run(attrgetter(twin)(self.client)(*args, **options))

    def same(self, verb: str, *args: Any, **options: Any) -> Any:
        """What the Workbell answers, after the client has answered the same, sync and async."""
        local = attrgetter(verb)(self.bell)(*args, **options)
        for ask in (self.asked, self.awaited):
            assert self.shown(ask(verb, *args, **options)) == self.shown(local)
        return local

    def raises(self, kind: type[Exception], verb: str, *args: Any, **options: Any) -> None:
        """Both raise the same, with the same words."""
        with pytest.raises(kind) as local:
            attrgetter(verb)(self.bell)(*args, **options)
        for ask in (self.asked, self.awaited):
            with pytest.raises(kind) as remote:
                ask(verb, *args, **options)
            assert type(remote.value) is type(local.value)
            assert str(remote.value) == str(local.value)

    def shown(self, value: Any) -> Any:
        """A value without what is not told to the outside."""
        if isinstance(value, Endpoint):
            return self.shown(self.bell.webhooks.describe(value.id))
        if isinstance(value, Mapping):
            return {key: self.shown(one) for key, one in value.items()}
        if isinstance(value, msgspec.Struct):
            told = value.as_dict() if hasattr(value, "as_dict") else msgspec.structs.asdict(value)
            if isinstance(value, Attempt):
                del told["token"]
            return self.shown({key: one for key, one in told.items() if key not in HIDDEN})
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self.shown(one) for one in value]
        return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


HIDDEN = ("hash", "last_used_at")


@contextmanager
def scene_of(bell: Workbell) -> Iterator[Scene]:
    with served(bell) as server:
        scene = Scene(bell, server.url)
        try:
            yield scene
        finally:
            scene.close()


def make_bell(store: Store, storage: str = "storage") -> Workbell:
    bell = Workbell(store=store, settings=Settings(http_port=0, http_log="problems", storage=storage))

    @bell.job
    def send(ctx: Context, to: str, urgent: bool = False) -> dict[str, str]:
        ctx.logger.info("to %s", to)
        ctx.logger.warning("sent")
        ctx.progress(1, 2, message="half")
        return {"sent": to}

    @bell.job(queue="slow", retry=Retry(attempts=1))
    def fail(reason: str) -> None:
        raise ValueError(reason)

    @bell.processor("count")
    def count(event: Event) -> dict[str, str]:
        return {"type": event.type}

    return bell


@pytest.fixture(scope="module")
def module_scene(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Shared by the tests of a file: what one of them makes, the others must not stumble over."""
    folder = tmp_path_factory.mktemp("remote")
    store = sqlite_files.open(folder / "workbell.db")
    with make_bell(store, str(folder / "storage")) as bell, scene_of(bell) as scene:
        yield scene


@pytest.fixture
def scene(module_scene: Scene) -> Scene:
    return module_scene
