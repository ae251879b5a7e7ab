"""Live views of events, and of job files as they are saved: the topics `events` and `reloads` of `/ws`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.inside.http import topics
from tests.support.inside.values import load
from tests.support.project_folder import ProjectFolder
from tests.support.served import Served, served
from workbell import Workbell
from workbell.testing import drain

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    folder = ProjectFolder(tmp_path / "demo")
    folder.write("workbell.toml", "")
    monkeypatch.chdir(folder.folder)
    return folder


@pytest.fixture
def server(project: ProjectFolder, sqlite_url: str) -> Iterator[Served]:
    settings = load({"url": sqlite_url, "http_port": 0}, environment={}, file=project.folder / "workbell.toml")
    with Workbell(settings=settings) as bell, served(bell) as made:
        yield made


async def test_files_as_they_are_saved(server: Served, project: ProjectFolder) -> None:
    """A broken one is told of, is a problem in GET /jobs, and its last good version goes on."""
    bell, engine = server.bell, server.bell.engine
    project.job("report.py", "return 1")
    engine.start()
    engine.watch()

    def save(body: str) -> None:
        """At once: a file that is half written would be a problem of its own."""
        project.job("../report.new", body).replace(project.folder / "jobs/report.py")

    def result() -> object:
        run = bell.enqueue("report")
        drain(bell)
        return bell.get(run.id).result

    async with server.client() as talk, server.client(tenant="other") as stranger:
        assert (await talk.subscribe("reloads"))["items"] == []
        assert (await stranger.subscribe("reloads"))["items"] == []
        save("return 2")
        [changed] = (await talk.hear_of("a"))["items"]
        assert (changed["path"], changed["outcome"], changed["jobs"]) == ("jobs/report.py", "changed", ["report"])
        assert (changed["message"], changed["line"], result()) == (None, None, 2)
        save("return (3")
        [failed] = (await talk.hear_of("a"))["items"]
        assert (failed["outcome"], failed["line"], failed["jobs"]) == ("failed", 3, ["report"])
        assert "cannot be read as Python" in failed["message"]
        assert [(problem.path, problem.line) for problem in engine.problems] == [("jobs/report.py", 3)]
        assert result() == 2
        save("return 2")
        mended, before = (await talk.hear_of("a"))["items"]
        assert (before["id"], failed["standing"], before["standing"]) == (failed["id"], True, False)
        assert (mended["outcome"], mended["message"]) == ("loaded", "it is in order again")
        assert [int(one["id"]) for one in (changed, failed, mended)] == [1, 2, 3]
        assert list(engine.problems) == []
        project.remove("jobs/report.py")
        [gone] = (await talk.hear_of("a"))["items"]
        assert (gone["outcome"], gone["jobs"]) == ("removed", ["report"])
        await stranger.say(type="ping")
        assert await stranger.hear() == {"type": "pong"}, "nothing was said to another tenant"


async def test_events_as_they_come(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "EVENTS", 3)
    monkeypatch.setattr(topics, "PAGE", 2)  # of what is looked through for a pattern
    bell = server.bell
    first = bell.emit("posts.created", {"id": 1})
    bell.emit("users.created")
    bell.for_tenant("other").emit("posts.created")
    async with server.client() as every, server.client() as some:
        told = await every.subscribe("events")
        assert [event["type"] for event in told["items"]] == ["users.created", "posts.created"]
        assert told["items"][1]["data"] == {"id": 1}
        told = await some.subscribe("events", pattern="posts.*")
        assert [event["id"] for event in told["items"]] == [first.id]
        have = {first.id}
        for number in range(3):
            new = bell.emit("posts.deleted", {"id": number})
            heard = await some.hear_of("a")
            have = (have | {event["id"] for event in heard["items"]}) - set(heard["removed"])
            assert new.id in have
        assert (first.id in have, len(have)) == (False, 3)
        for wrong, why in (({"pattern": "a..b"}, "a..b"), ({"job": "x"}, "it knows pattern")):
            await every.say(type="subscribe", id="b", topic="events", **wrong)
            heard = await every.hear()
            while heard["type"] == "changes":
                heard = await every.hear()
            assert (heard["type"], why in heard["message"]) == ("error", True), heard
