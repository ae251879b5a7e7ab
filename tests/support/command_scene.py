"""A project with an app, and one thing of each kind in two tenants: for tests that call every command."""

from __future__ import annotations

from workbell import Event, Workbell
from workbell.model.worker import Worker
from workbell.testing import drain

Scene = dict[str, dict[str, str]]  # ids by tenant and kind

APP = """
from workbell import Event, Workbell

bell = Workbell()


@bell.processor("listen")
def listen(event: Event) -> None: ...


@bell.job
def report(day: str = "today") -> None: ...


@bell.job
def crash() -> None:
    raise ValueError("no")
"""
TOML = 'app = "shop:bell"\nurl = "sqlite:///workbell.db"\n'


def fill(tenant: str) -> dict[str, str]:
    """One thing of each kind in the store of this folder; their ids."""
    with Workbell("sqlite:///workbell.db", tenant=tenant) as bell:

        @bell.processor("listen")
        def listen(event: Event) -> None: ...

        @bell.job
        def report(day: str = "today") -> None: ...

        @bell.job(retry=1)
        def crash() -> None:
            raise ValueError("no")

        failed = crash.enqueue()
        drain(bell)
        now = bell.store.clock.now()
        box = {"host": "box", "pid": 1, "incarnation": "first", "version": "1", "queues": None, "jobs": ()}
        worker = Worker(id="box/1/first", concurrency=1, started_at=now, seen_at=now, **box)
        bell.store.workers.put(worker)
        bell.runtime.declare_jobs()
        bell.pause(queue="mails")
        token = bell.tokens.create("reader").token
        bell.audit.add("tokens.create", token.id, actor="cli:ada")
        made = {
            "agent": bell.agents.pair(bell.agents.pairing("box").text).agent.id,
            "definition": bell.jobs.put("hello", handler="report").id,
            "endpoint": bell.webhooks.add("https://shop.example.com/hook", patterns=["posts.*"]).endpoint.id,
            "event": bell.emit("posts.created").id,
            "failed": failed.id,
            "schedule": bell.schedules.put("nightly", job="report", cron="@daily").id,
            "token": token.id,
            "trigger": bell.triggers.add("mails", pattern="posts.*", processor="listen").id,
            "waiting": report.options(delay=3600, queue=tenant).enqueue().id,
        }
        if tenant == "acme":
            bell.pause(job="report")
        return made
