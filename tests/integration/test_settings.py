"""Every setting does something: what it changes is looked at with a value of its own, and with the default."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.docs.pages import ROOT
from tests.integration.conftest import Folder
from tests.support.fresh_store import fresh_store
from tests.support.inside.features import Announcer, Duty, Housekeeping, SchedulerHalf, new_key
from tests.support.inside.http import http_binding as binding
from tests.support.inside.http import make_app
from tests.support.inside.values import Settings
from tests.support.waiting import until
from workbell import Context, Retry, Run, Workbell, WorkbellError
from workbell.testing import ManualClock, drain

pytestmark = pytest.mark.anyio

Made = Callable[..., Workbell]  # a Workbell with the given settings


class Shown(NamedTuple):
    """A value of a setting, and what is seen with it and not with the default."""

    value: Any
    seen: Any
    look: Callable[[Workbell], Any]


class Elsewhere(NamedTuple):
    """A test that shows what a setting does, where that takes processes, a terminal or another server."""

    test: str
    word: str  # in its file


def url(bell: Workbell) -> str:
    bell.enqueue("work")
    return next(path.name for path in Path.cwd().iterdir() if path.suffix == ".db")


def stored(field: str) -> Callable[[Workbell], Any]:
    return lambda bell: getattr(bell.enqueue("work"), field)


def kept(bell: Workbell, job: str) -> float:
    """Seconds for which a run of the job is kept after its end."""
    bell.enqueue(job)
    (ended,) = drain(bell)
    assert ended.remove_at is not None
    assert ended.finished_at is not None
    return (ended.remove_at - ended.finished_at).total_seconds()


def event_is_kept_for_an_hour(bell: Workbell) -> bool:
    event = bell.emit("a.b")
    bell.dispatch()
    bell.store.prune(bell.store.clock.now() + timedelta(hours=1), 100)
    return bool(bell.store.events.find([event.id]))


def entry_is_kept_for_an_hour(bell: Workbell) -> bool:
    bell.audit.add("queues.pause", "mail", actor="ada")
    bell.store.prune(bell.store.clock.now() + timedelta(hours=1), 100)
    return bool(bell.audit.list())


def files_of_a_handler(bell: Workbell) -> list[str]:
    """The folders and files in which a handler has kept something."""
    here = Path.cwd()
    bell.enqueue("write")
    drain(bell)
    return sorted(path.name for path in here.iterdir() if not path.name.startswith("workbell.db"))


def seconds_of_a_lease(bell: Workbell) -> float:
    bell.enqueue("lease")
    (run,) = bell.consume().results
    return float(bell.get(run.run).result)


def length_of_a_chain(bell: Workbell) -> int:
    bell.enqueue("fail", auto_reschedule=60)
    clock = bell.store.clock
    assert isinstance(clock, ManualClock)
    while drain(bell):
        clock.advance(60)
    return len(bell.runs())


async def slots(bell: Workbell) -> int:
    async with bell.running():
        (worker,) = await asyncio.to_thread(until, bell.workers, "the worker to be known")
        return worker.worker.concurrency


def housekeeping(bell: Workbell) -> list[Duty]:
    announcer = Announcer(bell.store, None, lambda: None)
    return [*Housekeeping(bell.store, bell.runtime.booking, announcer, bell.settings, threading.Event()).thread.duties]


def scheduling(bell: Workbell) -> list[Duty]:
    announcer = Announcer(bell.store, None, lambda: None)
    half = SchedulerHalf(bell.runtime, bell.settings, "w", announcer, threading.Event(), lambda: None)
    return [*half.chores, *half.polls]


def pace(duties: Callable[[Workbell], list[Duty]], name: str) -> Callable[[Workbell], int]:
    """Seconds between two steps of a duty that finds nothing to do."""

    def look(bell: Workbell) -> int:
        (duty,) = [duty for duty in duties(bell) if duty.name == name]
        while duty.left() == 0:
            duty.take_step()
        return round(duty.left() or 0)

    return look


def hook_here(bell: Workbell) -> str:
    try:
        bell.webhooks.add("http://127.0.0.1:9/in", patterns="a.*")
    except WorkbellError as error:
        return type(error).__name__
    return "allowed"


def is_sealed(bell: Workbell) -> bool:
    made = bell.webhooks.add("https://hooks.example.com/in", patterns="a.*")
    return bool(bell.webhooks.describe(made.endpoint.id)["sealed"])


def host(bell: Workbell) -> str:
    with binding.bind(bell.settings) as listening:
        return str(listening.getsockname()[0])


def has_a_usual_port(bell: Workbell) -> bool:
    with binding.bind(bell.settings) as listening:
        return listening.getsockname()[1] in range(binding.PORT, binding.PORT + binding.PORTS)


def asked(
    method: str = "GET", path: str = "/api/v1/jobs", *, times: int = 1, known: bool = True, **options: Any
) -> Callable[[Workbell], Any]:
    """The answer to a request, the last of so many; `known`: with a token."""

    async def look(bell: Workbell) -> httpx2.Response:
        headers = options.pop("headers", {})
        if known:
            headers |= {"Authorization": f"Bearer {bell.tokens.create('t', scopes=['admin'], tenant='*').text}"}
        transport = httpx2.ASGITransport(app=make_app(bell._service(listen="127.0.0.1")), client=("10.0.0.9", 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            for _ in range(times):
                answer = await http.request(method, path, headers=headers, **options)
        return answer

    return look


def status(*words: str, **options: Any) -> Callable[[Workbell], Any]:
    async def look(bell: Workbell) -> int:
        return (await asked(*words, **options)(bell)).status_code

    return look


async def is_for_https(bell: Workbell) -> bool:
    return "strict-transport-security" in (await asked()(bell)).headers


async def address_in_the_audit_log(bell: Workbell) -> str | None:
    await asked("POST", "/api/v1/queues/q/pause", headers={"X-Forwarded-For": "198.51.100.7"})(bell)
    return bell.audit.list(limit=1)[0].address


async def lines_about_requests(bell: Workbell) -> int:
    """Of one that went well."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("workbell.http")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        await asked()(bell)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    return len(lines)


SOCKETS = "tests/integration/sockets/test_connections.py::test_nobody_may_have_too_many"

SETTINGS: dict[str, Shown | Elsewhere] = {
    "url": Shown("sqlite:///other.db", "other.db", url),
    "queue_url": Elsewhere("tests/engine/test_one_shot.py::test_what_is_queued_is_sent", "queue_url="),
    "app": Elsewhere("tests/process/test_supervisor.py::test_a_broken_app", "app="),
    "project": Shown("shop", "/shop", lambda bell: bell.emit("a.b").source),
    "jobs": Elsewhere("tests/engine/test_job_folder.py::test_a_file_is_a_job_with_a_schedule", "jobs"),
    "database": Shown("sqlite:///other.db", ["other.db", "storage"], files_of_a_handler),
    "storage": Shown("kept", ["app.db", "kept"], files_of_a_handler),
    "timezone": Shown(
        "Asia/Tokyo", "Asia/Tokyo", lambda bell: bell.schedules.put("s", job="work", cron="0 3 * * *").timezone
    ),
    "tenant": Shown("acme", "acme", stored("tenant")),
    "log_level": Elsewhere("tests/integration/test_settings.py::test_the_level_of_logs", "LOG_LEVEL"),
    "log_format": Elsewhere("tests/process/test_dev_project.py::test_as_a_service", "LOG_FORMAT"),
    "workers": Elsewhere("tests/process/test_supervisor.py::test_the_life_of_a_fleet", "--processes"),
    "concurrency": Shown(3, 3, slots),
    "connections": Elsewhere("tests/process/test_connection_counts.py::test_as_many_as_are_set", "CONNECTIONS"),
    "lease": Shown(7, 7, seconds_of_a_lease),
    "sweep": Shown(7, 7, pace(housekeeping, "recover")),
    "poll": Shown(7, 7, pace(scheduling, "materialise")),
    "grace": Elsewhere("tests/process/test_stop.py::test_handlers_longer_than_the_grace_are_handed_back", "grace"),
    "probe": Elsewhere("tests/faults/test_probes.py::test_a_store_that_stands_still", "--probe"),
    "reschedules": Shown(2, 3, length_of_a_chain),
    "clean_every": Shown(7, 7, pace(scheduling, "clean")),
    "keep_succeeded": Shown(60, 60, lambda bell: kept(bell, "work")),
    "keep_other": Shown(60, 60, lambda bell: kept(bell, "fail")),
    "keep_events": Shown(60, False, event_is_kept_for_an_hour),
    "keep_audit": Shown(60, False, entry_is_kept_for_an_hour),
    "webhook_allow": Shown(("127.0.0.1",), "allowed", hook_here),
    "webhook_disable_after": Elsewhere(
        "tests/unit/webhooks/test_disabling.py::test_the_time_is_a_setting", "webhook_disable_after="
    ),
    "secret_key": Shown(new_key(), True, is_sealed),
    "http": Elsewhere("tests/process/test_dev_project.py::test_the_address_to_sign_in", "WORKBELL_HTTP"),
    "http_host": Shown("127.0.0.2", "127.0.0.2", host),
    "http_port": Shown(0, False, has_a_usual_port),
    "http_auth": Shown("none", 200, status(known=False)),
    "http_hosts": Shown(("desk.example",), 200, status(headers={"Host": "desk.example"})),
    "http_public_url": Shown("https://jobs.example.com", True, is_for_https),
    "http_trusted_proxies": Shown(("10.0.0.0/8",), "198.51.100.7", address_in_the_audit_log),
    "http_body_limit": Shown(1024, 413, status("POST", "/api/v1/queues/q/pause", content=b" " * 2000)),
    "http_rate": Shown(2, 429, status(times=3)),
    "http_log": Shown("problems", 0, lines_about_requests),
    "http_metrics_open": Shown(True, 200, status("GET", "/metrics", known=False)),
    "sockets": Elsewhere(SOCKETS, "sockets=4"),
    "sockets_per_user": Elsewhere(SOCKETS, "sockets_per_user=2"),
}
ON_FILES = ("url", "keep_events", "keep_audit")  # of stores that the Workbell opens itself


def made(name: str, given: dict[str, Any]) -> Workbell:
    settings = Settings(**({"http_port": 0, "poll": 0.02} if name == "concurrency" else {}) | given)
    bell = Workbell(settings=settings, store=None if name in ON_FILES else fresh_store(ManualClock()))
    if name in ON_FILES:
        bell.store.migrate()
    bell.job(name="work")(lambda: None)

    @bell.job(retry=Retry(attempts=1))
    def fail() -> None:
        raise ValueError("no")

    @bell.job
    def write(ctx: Context) -> None:
        ctx.db.execute("CREATE TABLE orders (id)")
        ctx.storage.put(b"x", filename="x")

    @bell.job
    def lease(ctx: Context) -> float:
        run: Run = ctx.run
        assert run.lease_until is not None
        assert run.started_at is not None
        return (run.lease_until - run.started_at).total_seconds()

    return bell


@pytest.mark.parametrize("name", Settings.__struct_fields__)
async def test_every_setting_does_something(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert name in SETTINGS, f"the setting {name} is new: add what it does to SETTINGS"
    shown = SETTINGS[name]
    if isinstance(shown, Elsewhere):
        file, _, test = shown.test.partition("::")
        text = (ROOT / file).read_text()
        assert f"def {test}" in text
        assert shown.word in text
        return
    seen = []
    for number, given in enumerate(({name: shown.value}, {})):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        with made(name, given) as bell:
            found = shown.look(bell)
            seen.append(await found if hasattr(found, "__await__") else found)
    assert seen[0] == shown.seen
    assert seen[1] != shown.seen, "the same is seen with the default"


def test_the_level_of_logs(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("shop.py", "from workbell import Workbell\nbell = Workbell()\nbell.job(name='work')(lambda: None)\n")
    monkeypatch.setenv("WORKBELL_APP", "shop:bell")
    for level in (logging.DEBUG, logging.WARNING):
        monkeypatch.setenv("WORKBELL_LOG_LEVEL", logging.getLevelName(level).lower())
        assert folder.call("consume", "--limit", "1").code == 0
        assert logging.getLogger("workbell").level == level
