"""Queues, pauses, workers and stored files over HTTP; and what no route may be asked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from tests.client.conftest import take
from tests.http.conftest import Api, fits
from tests.support.inside.features import Claimant, FairClaims, Storage
from tests.support.inside.http import bounded_pages
from tests.support.inside.values import (
    KnownRun,
    QueueState,
    Rewind,
    Scale,
    Standing,
    StoredFile,
    Worker,
    alias_of,
    compare,
    new_id,
    state,
)
from tests.support.inside.wire import ListPage, Resumed, WorkerShown
from tests.support.inside.wire import ListPage as Page
from tests.unit.makers import worker_of
from workbell import InvalidOption, Pause, Status
from workbell.testing import drain

pytestmark = pytest.mark.anyio


async def test_scale(api: Api) -> None:
    """For autoscalers: every queue that was asked for, as a token's tenant has it."""
    for _ in range(2):
        api.a.enqueue("send", {"to": "x"})
    api.bell.enqueue("send", {"to": "x"}, queue="hidden")
    told = await api.reader.ask("GET", "/scale?queue=default&queue=nowhere")
    msgspec.convert(told, Scale)
    assert told["queues"]["default"].pop("due_seconds") > 0
    none = {"queued": 0, "running": 0, "due_seconds": 0.0, "wanted": 0}
    assert told["queues"] == {"default": {"queued": 2, "running": 0, "wanted": 2}, "nowhere": none}
    assert told["total"]["wanted"] == 2
    assert "hidden" not in (await api.reader.ask("GET", "/scale"))["queues"]
    assert (await api.stranger.ask("GET", "/scale?queue=default"))["queues"] == {"default": none}
    await api.reader.ask("GET", "/scale?queue=", 422)


async def test_queues_and_pauses(api: Api) -> None:
    for _ in range(2):
        api.a.enqueue("send", {"to": "x"})
    api.a.enqueue("rest", delay=60)
    api.bell.enqueue("send", {"to": "x"}, queue="hidden")
    pause = await api.operator.ask("POST", "/queues/default/pause", 200)
    msgspec.convert(pause, Pause)
    await api.operator.ask("POST", "/queues/slow/pause", 200, {"job": "rest"})
    told = await api.reader.ask("GET", "/queues")
    msgspec.convert(told, Page[QueueState])
    found = {one["name"]: one for one in told["items"]}
    assert set(found) == {"default", "slow"}
    assert (found["default"]["queued"], found["default"]["paused"], found["slow"]["scheduled"]) == (2, True, 1)
    assert found["default"]["oldest_wait_seconds"] == 0
    assert (found["slow"]["paused"], [one["job"] for one in found["slow"]["paused_jobs"]]) == (False, ["rest"])
    listed = await api.reader.ask("GET", "/pauses")
    msgspec.convert(listed, Page[Pause])
    assert {(one["queue"], one["job"]) for one in listed["items"]} == {("default", None), ("slow", "rest")}
    assert (await api.stranger.ask("GET", "/pauses"))["items"] == []
    assert await api.stranger.ask("POST", "/queues/default/resume", 200) == {"ended": 0}
    ended = await api.operator.ask("POST", "/queues/slow/resume", 200, {"job": "rest"})
    msgspec.convert(ended, Resumed)
    assert ended == {"ended": 1}
    assert await api.operator.ask("POST", "/queues/default/resume", 200, {}) == {"ended": 1}
    resumed = (await api.reader.ask("GET", "/queues"))["items"]
    assert next(one for one in resumed if one["name"] == "default")["oldest_wait_seconds"] > 0
    assert not any(one["queued"] for one in (await api.stranger.ask("GET", "/queues"))["items"])


async def test_workers_and_whose_runs_are_seen(api: Api) -> None:
    store, now = api.bell.store, api.bell.store.clock.now()
    known = {"incarnation": "i", "version": "1", "jobs": ("send",), "concurrency": 4, "started_at": now}
    store.workers.put(Worker(id="w1", host="h", pid=1, queues=None, seen_at=now, **known))
    store.workers.put(Worker(id="w2", host="h", pid=2, queues=("a",), seen_at=now - timedelta(hours=1), **known))
    for client in (api.a, api.bell):
        client.enqueue("send", {"to": "x"})
    assert len(take(api.bell)) == 2
    told = await api.root.ask("GET", "/workers?tenant=a")
    msgspec.convert(told, Page[WorkerShown])
    [first, second] = told["items"]
    assert (first["busy"], [run["tenant"] for run in first["runs"]], first["alive"]) == (2, ["a"], True)
    assert (second["busy"], second["alive"], second["queues"]) == (0, False, ["a"])
    mine = await api.caller("read", tenant="default").ask("GET", "/workers")
    assert [(one["id"], one["host"], one["busy"]) for one in mine["items"]] == [("w1", "h", 2), ("w2", "h", 0)]


async def test_a_tenant_sees_of_workers_what_concerns_its_runs(api: Api) -> None:
    store, now = api.bell.store, api.bell.store.clock.now()
    name = {
        "id": "secret-host/2147111741/incarnation",
        "host": "secret-host",
        "pid": 2147111741,
        "incarnation": "incarnation",
    }
    worker = worker_of("send", "of-others", now=now, version="release-of-others", concurrency=4, **name)
    store.workers.put(worker)
    mine = api.a.enqueue("send", {"to": "x"})
    api.bell.for_tenant("b").enqueue("send", {"to": "y"})
    claimant = Claimant(worker.id, timedelta(seconds=30), lambda lane: True)
    assert len(FairClaims(store).claim(claimant, 10, now)) == 2
    answer = await api.reader.send("GET", "/workers")
    msgspec.convert(answer.json(), Page[WorkerShown])
    [seen] = answer.json()["items"]
    assert (seen["alive"], seen["busy"], [run["id"] for run in seen["runs"]]) == (True, 1, [mine.id])
    assert (seen["jobs"], seen["queues"], seen["concurrency"]) == (["send"], None, 4)
    attempts = await api.reader.send("GET", f"/runs/{mine.id}/attempts")
    reason = await api.reader.send("GET", f"/runs/{mine.id}/why")
    assert seen["id"] in attempts.text
    assert seen["id"] in reason.text
    for text in (answer.text, attempts.text, reason.text):
        for fact in ("secret-host", "2147111741", "incarnation/", "release", "of-others"):
            assert fact not in text
    whole = (await api.root.ask("GET", f"/runs/{mine.id}/attempts?tenant=a"))["items"]
    assert [one["worker"] for one in whole] == [worker.id]
    store.workers.drain(worker.id, now)
    api.a.jobs.put("send-a", handler="send")
    shown = await api.reader.send("GET", "/jobs/send-a")
    assert shown.json()["unserved"] is not None
    assert "secret-host" not in shown.text


async def test_rewinds_name_the_worker_to_operators_alone(api: Api) -> None:
    """A tenant sees its own records, with the worker's alias; so in the sentence about the run."""
    run, worker, now = api.a.enqueue("send", {"to": "x"}), "box-of-others/1/2/3", api.bell.store.clock.now()
    ids = [run.id, new_id(), new_id()]
    known = [KnownRun(one, "a", 2**53 - 1, worker, Status.SUCCEEDED, 1, now, True, None) for one in ids]
    there = {run.id: Standing(Status.QUEUED, 0, 0, None, now)}
    api.bell.store.rewinds.add(compare(known, there, now, worker))
    page = await api.reader.ask("GET", "/rewinds?limit=2")
    msgspec.convert(page, ListPage[Rewind])
    assert [(one["run"], one["kind"], one["token"]) for one in page["items"]] == [
        (ids[2], "gone", 2**53 - 1),
        (ids[1], "gone", 2**53 - 1),
    ]
    rest = await api.reader.ask("GET", f"/rewinds?before={page['next']}")
    assert [(one["run"], one["kind"]) for one in rest["items"]] == [(run.id, "repeated")]
    assert {one["worker"] for one in (*page["items"], *rest["items"])} == {alias_of(worker)}
    assert (await api.stranger.ask("GET", "/rewinds"))["items"] == []
    whole = (await api.root.ask("GET", "/rewinds?tenant=a"))["items"]
    assert [one["worker"] for one in whole] == [worker] * 3
    why = (await api.reader.ask("GET", f"/runs/{run.id}/why"))["why"]
    assert f"Executed before: worker {alias_of(worker)} finished it as succeeded at" in why
    assert "box" not in why
    findings = (await api.root.ask("GET", "/doctor"))["items"]
    assert [(one["state"], "1 run executed before" in one["says"]) for one in findings if one["name"] == "rewound"] == [
        ("problem", True)
    ]


async def test_a_worker_is_drained_and_resumed(api: Api) -> None:
    worker = worker_of("send", now=api.bell.store.clock.now())
    api.bell.store.workers.put(worker)
    path = f"/workers/{quote(worker.id, safe='')}"
    for verb in ("drain", "resume"):
        refused = await api.operator.ask("POST", f"{path}/{verb}", 403)
        assert "shared by all tenants" in refused["detail"]
        await api.root.ask("POST", f"/workers/h%2F1/{verb}", 404)
    told = await api.root.ask("POST", f"{path}/drain", 200)
    msgspec.convert(told, WorkerShown)
    assert (told["id"], told["alive"], told["busy"]) == (worker.id, True, 0)
    [seen] = (await api.reader.ask("GET", "/workers"))["items"]
    assert seen["drained_at"] == told["drained_at"] is not None
    assert seen["drain_seen_at"] is None
    [known] = api.bell.store.workers.list()
    assert known.drained_at is not None
    api.bell.store.workers.note_drained(worker.id, known.drained_at, known.drained_at)
    [seen] = (await api.reader.ask("GET", "/workers"))["items"]
    assert seen["drain_seen_at"] == seen["drained_at"]
    resumed = await api.root.ask("POST", f"{path}/resume", 200)
    assert (resumed["drained_at"], resumed["drain_seen_at"]) == (None, None)
    entries = (await api.root.ask("GET", "/audit"))["items"]
    noted = [(entry["action"], entry["subject"]) for entry in entries]
    assert noted[:2] == [("workers.resume", worker.id), ("workers.drain", worker.id)]


async def test_queues_and_workers_come_in_pages(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """By name and by the id that the caller sees; and a page ends early where its runs carry much input."""
    now = api.bell.store.clock.now()
    for name in ("w1", "w2", "w3"):
        api.bell.store.workers.put(worker_of("send", now=now, id=name))
        api.a.enqueue("send", {"to": name}, queue=name)
    first = await api.reader.ask("GET", "/queues?limit=2")
    rest = await api.reader.ask("GET", f"/queues?after={first['next']}")
    names = [one["name"] for one in first["items"] + rest["items"]]
    assert (names, rest["next"]) == (["default", "slow", "w1", "w2", "w3"], None)
    for caller in (api.reader, api.root):
        seen = (await caller.ask("GET", "/workers"))["items"]
        monkeypatch.setattr(bounded_pages, "MOST_BYTES", 10)
        found, after = [], ""
        while after is not None:
            page = await caller.ask("GET", f"/workers?after={after}")
            assert len(page["items"]) == 1
            found += page["items"]
            after = page["next"]
        monkeypatch.undo()
        assert found == seen
        assert len(found) == 3
    ids = {one["id"] for one in (await api.reader.ask("GET", "/workers"))["items"]}
    assert ids.isdisjoint({"w1", "w2", "w3"})


async def upload(api: Api, content: bytes, name: str, **headers: str) -> Any:
    sent = {"Content-Type": "text/html"} | {word.replace("_", "-"): value for word, value in headers.items()}
    answer = await api.operator.send("POST", f"/files?filename={quote(name)}", content=content, headers=sent)
    assert answer.status_code == 201, answer.text
    fits(StoredFile, answer.json())
    return answer.json()


async def test_a_file_there_and_back(api: Api, tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    made = await upload(api, content, 'Bericht "ä".html')
    assert (made["filename"], made["content_type"], made["size"]) == ('Bericht "ä".html', "text/html", len(content))
    path = f"/files/{made['id']}"
    assert await api.reader.ask("GET", path) == made
    answer = await api.reader.send("GET", f"{path}/content")
    assert answer.content == content
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''Bericht%20%22%C3%A4%22.html"
    assert answer.headers["x-content-type-options"] == "nosniff"
    with Storage(tmp_path / "storage", tenant="a").open(made["id"]) as opened:  # as a job sees it
        assert opened.read() == content
    for method, end in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        await api.stranger.ask(method, path + end, 404)
    assert (await api.stranger.ask("GET", "/files"))["items"] == []
    await api.operator.ask("DELETE", path, 204)
    for method, end in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        await api.operator.ask(method, path + end, 404)
    entries = (await api.admin.ask("GET", "/audit"))["items"]
    assert [entry["subject"] for entry in entries if entry["action"] == "files.put"] == [made["id"]]


async def test_files_in_pages_and_made_once(api: Api) -> None:
    first = await upload(api, b"1", "a", Idempotency_Key="k")
    assert await upload(api, b"1", "a", Idempotency_Key="k") == first
    files = [first, await upload(api, b"", "b"), await upload(api, b"3", "c")]
    page = await api.reader.ask("GET", "/files?limit=2")
    fits(ListPage[StoredFile], page)
    rest = await api.reader.ask("GET", f"/files?limit=2&after={page['next']}")
    assert page["items"] + rest["items"] == files
    assert rest["next"] is None


@pytest.mark.parametrize("name", ["", "a/b", "..", "x" * 256, "a\nb"])
async def test_file_names_that_are_refused(api: Api, name: str) -> None:
    answer = await api.operator.send("POST", f"/files?filename={quote(name)}", content=b"x")
    assert answer.status_code == 422
    assert (await api.operator.send("POST", "/files", content=b"x")).status_code == 422
    assert (await api.reader.ask("GET", "/files"))["items"] == []


async def test_a_file_that_is_too_large(api: Api) -> None:
    async def chunks() -> Any:
        for _ in range(9):
            yield b"x" * 1024 * 1024

    for content in (b"x" * (9 * 1024 * 1024), chunks()):
        answer = await api.operator.send("POST", "/files?filename=a", content=content)
        assert answer.status_code == 413
    assert (await api.reader.ask("GET", "/files"))["items"] == []


STRANGE = [
    "\x00",
    "a\x00b",
    "\n",
    "\x7f",
    "x" * 5000,
    "Ünïcödé",
    "\U0001f514",
    "\u2028",
    "..",
    "%00",
    "'\"--",
    "\ud800",
]


@pytest.mark.parametrize("name", STRANGE)
async def test_strange_names_are_not_found(api: Api, name: str) -> None:
    text = quote(name.encode("utf-8", "surrogatepass"), safe="")
    for path in ("runs", "events", "triggers", "webhooks", "files", "executions", "jobs", "schedules", "agents"):
        assert (await api.reader.send("GET", f"/{path}/{text}")).status_code == 404
    answer = await api.reader.send("GET", f"/runs?tag={text}&event={text}&input.a={text}")
    assert answer.status_code in (200, 422)


async def test_all_tenants_are_no_tenant(api: Api) -> None:
    for caller in (api.root, api.admin):
        await caller.ask("GET", "/runs?tenant=*", 422)
    assert (await api.root.send("GET", "/runs?tenant=a")).status_code == 200
    with pytest.raises(InvalidOption, match="stands for all tenants"):
        api.bell.for_tenant("*")
    assert (await api.root.send("GET", f"/runs/{new_id()}?tenant=b")).status_code == 404


async def test_a_cancel_in_progress_can_be_seen(api: Api) -> None:
    """Its handler has been asked to stop, and has not: the run is running and says so, to HTTP and to lists."""
    made = await api.admin.ask("POST", "/runs?full=true", 201, {"job": "rest"})
    assert made["cancel_requested"] is False
    [run] = take(api.bell)
    told = await api.operator.ask("POST", f"/runs/{made['id']}/cancel")
    assert (told["status"], told["cancel_requested"]) == ("running", True)
    [listed] = (await api.reader.ask("GET", "/runs?status=running"))["items"]
    assert listed["cancel_requested"] is True
    api.bell.store.runs.apply([state.cancel(run, run.updated_at, reason="asked", keep=timedelta(1))])
    ended = await api.reader.ask("GET", f"/runs/{made['id']}")
    assert (ended["status"], ended["cancel_requested"]) == ("canceled", False)


async def test_why_reads_the_registry_only_where_workers_could_be_named(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page asks again and again; of a run that has ended, the sentence names no worker of the registry."""
    run = api.a.enqueue("send", {"to": "x"})
    drain(api.bell)
    waiting = api.a.enqueue("rest")
    reads: list[int] = []
    listed = api.bell.store.workers.list
    monkeypatch.setattr(api.bell.store.workers, "list", lambda: reads.append(1) or listed())
    assert "It succeeded" in (await api.reader.ask("GET", f"/runs/{run.id}/why"))["why"]
    assert reads == []
    await api.reader.ask("GET", f"/runs/{waiting.id}/why")
    assert reads == [1], "once, for the sentence itself"
