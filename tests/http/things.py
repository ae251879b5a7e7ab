"""One thing of each kind in a tenant, for tests that ask every route for it: who adds a route adds its example here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.support.inside.features import Agents, LocalClient, Storage
from tests.support.inside.values import Settings
from tests.support.inside.wire import PREFIX
from tests.unit.makers import worker_of
from workbell import Workbell
from workbell.testing import drain

PARAMETER = re.compile(r"{(\w+)}")


class Things:
    """What there is in a tenant: the values of path parameters, by the beginning of the path and the parameter."""

    def __init__(self, bell: Workbell, tenant: str) -> None:
        client = bell.for_tenant(tenant)
        self.client = client
        agents = Agents(client.runtime, client.verified, Settings().lease_span)
        _, pairing = agents.pairing(f"box-{tenant}")
        agent, self.agent_token = agents.pair(pairing, host="h", version="1")
        trigger = client.triggers.add("counts", pattern="posts.*", processor="count")
        self.event = client.emit("posts.created", {"id": 7})
        self.ended = client.enqueue("send", {"to": "x"})
        drain(bell)
        endpoint = client.webhooks.add("https://hooks.example.com/x", patterns=["posts.*"]).endpoint
        client.schedules.put(f"nightly-{tenant}", job="send", cron="0 3 * * *", input={"to": "x"})
        file = Storage(client.registry.resources.storage, tenant=tenant).put(b"content", filename="a.txt")
        for_agent = client.enqueue("send", {"to": "x"}, target=agent.name)
        [handed] = agents.working.poll(agent, "s", jobs=["send"], capacity=1)
        self.lease = handed.run.token
        worker = worker_of("send", now=bell.store.clock.now(), id="w")
        bell.store.workers.put(worker)
        self.examples: Mapping[tuple[str, str], str] = {
            ("runs", "run_id"): client.enqueue("rest").id,
            ("events", "event_id"): self.event.id,
            ("jobs", "name"): client.jobs.put(f"send-{tenant}", handler="send").name,
            ("schedules", "name"): f"nightly-{tenant}",
            ("agents", "run_id"): for_agent.id,
            ("agents", "name"): agent.name,
            ("tokens", "token_id"): client.tokens.create("t", scopes=["read"]).token.id,
            ("tenants", "name"): tenant,
            ("triggers", "name_or_id"): trigger.id,
            ("executions", "execution_id"): client.executions()[0].id,
            ("webhooks", "endpoint_id"): endpoint.id,
            ("webhooks", "delivery_id"): client.webhooks.test(endpoint.id).id,
            ("queues", "name"): "default",
            ("workers", "worker_id"): worker.id,
            ("files", "file_id"): file.id,
        }

    def parameters(self, path: str) -> dict[str, str]:
        """The values for a path; one without an example is not known here, and fails whoever asks."""
        resource = path.removeprefix(f"{PREFIX}/").partition("/")[0]
        return {name: self.examples[resource, name] for name in PARAMETER.findall(path)}

    def path(self, path: str, method: str = "GET") -> str:
        """A route's path with its parameters filled in, below /api/v1; with the query that it needs."""
        filled = path.format_map(self.parameters(path)).removeprefix(PREFIX)
        return filled + QUERIES.get((method, path.removeprefix(PREFIX)), "")

    def body(self, method: str, path: str) -> Any:
        """Something that the route can work on."""
        found = BODIES.get((method, path.removeprefix(PREFIX)))
        return found(self) if callable(found) else found


QUERIES = {
    ("POST", "/files"): "?filename=a.txt",
    ("GET", "/events/match"): "?type=posts.created",
    ("GET", "/events/counts"): "?event=0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
}
ENDPOINT = {"url": "https://hooks.example.com/y", "patterns": ["a"]}
BODIES: Mapping[tuple[str, str], Any] = {
    ("POST", "/runs"): {"job": "send", "input": {"to": "x"}},
    ("POST", "/runs/batch"): {"runs": [{"job": "send", "input": {"to": "x"}}]},
    ("POST", "/bulk"): {"action": "cancel", "filter": {"job": "nothing"}},
    ("POST", "/events"): {"type": "posts.created"},
    ("POST", "/events/batch"): {"events": [{"type": "posts.created"}]},
    ("PUT", "/jobs/{name}"): {"handler": "send", "input": {"to": "x"}},
    ("PATCH", "/jobs/{name}"): {"description": "x"},
    ("PUT", "/schedules/{name}"): {"job": "send", "cron": "0 4 * * *", "input": {"to": "x"}},
    ("PATCH", "/schedules/{name}"): {"description": "x"},
    ("POST", "/cron/preview"): {"cron": "0 4 * * *"},
    ("POST", "/agents/self/poll"): {"session": "s", "jobs": ["send"], "capacity": 1, "wait": 0},
    ("POST", "/agents/self/heartbeat"): {"session": "s", "holding": []},
    ("POST", "/agents/self/runs/{run_id}/take"): {"session": "s"},
    ("POST", "/agents/self/runs/{run_id}/progress"): lambda things: {
        "token": things.lease,
        "session": "s",
        "done": 1,
        "total": 2,
    },
    ("POST", "/agents/self/runs/{run_id}/result"): lambda things: {
        "token": things.lease,
        "session": "s",
        "status": "succeeded",
    },
    ("POST", "/agents/pair"): {"token": "wb_nothing"},
    ("POST", "/agents/pairings"): {"name": "another"},
    ("PATCH", "/agents/{name}"): {"labels": ["x"]},
    ("POST", "/tokens"): {"name": "x", "scopes": ["read"]},
    ("PUT", "/tenants/{name}"): {"weight": 2},
    ("POST", "/consume"): {"runs": []},
    ("POST", "/notifications"): {"user_id": 7, "data": 1},
    ("POST", "/notifications/read"): {"all": True},
    ("POST", "/triggers"): {"name": "more", "event_pattern": "a", "processor_name": "count"},
    ("PATCH", "/triggers/{name_or_id}"): {"description": "x"},
    ("POST", "/webhooks"): ENDPOINT,
    ("PATCH", "/webhooks/{endpoint_id}"): {"description": "x"},
    ("POST", "/webhooks/{endpoint_id}/replay"): {"since": "2020-01-01T00:00:00Z"},
}


def things_of(client: LocalClient) -> str:
    """All that a stranger must not have changed, as one text."""
    kinds = (client.runs(), client.events.list(), client.triggers.list(), client.webhooks.list(), client.pauses())
    kinds += (client.schedules.list(), client.tokens.list())  # type: ignore[assignment]
    return repr([[getattr(one, "id", one) for one in kind] for kind in kinds]) + repr(
        [[getattr(one, "updated_at", None) for one in kind] for kind in kinds]
    )
