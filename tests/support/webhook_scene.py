"""A Workbell on a store whose clock stands still, and a sender that sends nothing: webhooks step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from tests.support.fresh_store import fresh_store
from workbell import Retry, Run, Workbell
from workbell.errors import SendFailed
from workbell.model.clock import ManualClock
from workbell.model.delivery import Delivery
from workbell.model.endpoint import Endpoint
from workbell.outgoing.allow import AllowList
from workbell.outgoing.answer import HttpAnswer
from workbell.settings import Settings
from workbell.testing import drain
from workbell.webhooks.alerts import alert_job
from workbell.webhooks.delivery import delivery_job

HERE = ("127.0.0.1",)
URL = "https://hooks.example.com/posts"
ONCE = Retry(attempts=1)


class Scene:
    """Its clock begins now: other programs judge by their own clock how old a signature is."""

    def __init__(self, **settings: Any) -> None:
        self.clock = ManualClock(datetime.now(UTC).replace(microsecond=0))
        self.store = fresh_store(self.clock)
        self.bell = Workbell(store=self.store, settings=Settings(**{"webhook_allow": HERE} | settings))
        self.webhooks = self.bell.webhooks

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.bell.close()

    def emit(self, type: str = "posts.created", data: Any = None) -> str:  # noqa: A002
        return self.bell.emit(type, {"id": 7} if data is None else data).id

    def send(self, type: str = "posts.created") -> str:  # noqa: A002
        """Emit an event and deliver it, and whatever else is due."""
        event = self.emit(type)
        self.work()
        return event

    def work(self) -> list[Run]:
        return drain(self.bell)

    def remove_all(self, table: str) -> None:
        """Remove the rows of a table: their time was over."""
        self.store.file.write(lambda connection: connection.execute(f"DELETE FROM {table}"))

    def last(self, endpoint: Endpoint) -> Delivery:
        """The newest delivery to an endpoint."""
        return self.webhooks.deliveries(endpoint.id, limit=1)[0]

    def pretend(self) -> Pretended:
        """Send nothing from now on."""
        sender = Pretended()
        for make in (delivery_job, alert_job):
            self.bell.registry.add_built_in(make(self.bell.runtime, sender.made))
        return sender


class Pretended:
    """A sender that answers itself: with a status, or by URL with another."""

    def __init__(self) -> None:
        self.status = 200
        self.by_url: dict[str, int] = {}
        self.sent: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[bytes] = []
        self.before: Callable[[], object] = lambda: None  # what happens just before it answers

    def made(self, allow: AllowList, timeout: float) -> Any:
        self.allow, self.timeout = allow, timeout
        return self

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        self.sent.append((url, dict(headers)))
        self.bodies.append(body)
        self.before()
        status = self.by_url.get(url, self.status)
        if not status:
            raise SendFailed("The connection was refused.")
        return HttpAnswer(status, {}, "said", 0.25)

    @property
    def ids(self) -> list[str]:
        """Of what was sent, in order."""
        return [headers["webhook-id"] for _, headers in self.sent]
