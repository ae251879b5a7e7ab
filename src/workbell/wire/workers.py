"""Workers, and what they are doing."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.rewind import Rewind
from workbell.model.worker import SeenWorker, Worker
from workbell.wire.fields import Cursor, Limit
from workbell.wire.operation import ListPage, Operations, Query
from workbell.wire.runs import RunShown


class WorkerShown(Worker, frozen=True, kw_only=True):
    """One worker process. Its `runs` are those of the tenant; `busy` counts all that it holds.

    For a token of another tenant than the program's, `id` is an alias, `host`, `incarnation` and `version` are empty,
    `pid` is 0, `jobs` are those that the tenant has, and `busy` counts the tenant's own runs.
    """

    alive: Annotated[bool, Meta(description="Whether it was seen lately.")]
    busy: int
    runs: list[RunShown]

    @classmethod
    def of(cls, seen: SeenWorker) -> WorkerShown:
        """A worker as it is sent, whole."""
        own = {name: getattr(seen.worker, name) for name in Worker.__struct_fields__}
        return cls(
            **own,
            alive=seen.alive,
            busy=seen.busy,
            runs=[run if isinstance(run, RunShown) else RunShown.of(run) for run in seen.runs],
        )

    def value(self) -> SeenWorker:
        """The worker; its runs are as the API shows them."""
        own = {name: getattr(self, name) for name in Worker.__struct_fields__}
        return SeenWorker(Worker(**own), self.alive, self.busy, self.runs)  # type: ignore[arg-type]


class WorkersQuery(Query, frozen=True, kw_only=True):
    after: Annotated[str, Meta(max_length=500, description="The cursor: `next` of the page before.")] = ""
    limit: Limit = 1000


class RewindsQuery(Query, frozen=True, kw_only=True):
    before: Cursor | None = None
    limit: Limit = 100


operations = Operations("workers")

list_ = operations.add(
    "list",
    "GET",
    "/workers",
    Scope.READ,
    ListPage[WorkerShown],
    """List the workers of all machines: how much each does, and which of it is the tenant's.

Lost ones are listed for a day. A token of another tenant than the program's sees what concerns that tenant: an
alias for the id, its own runs and how many these are; neither host, pid and version nor what they do for others.""",
    query=WorkersQuery,
    verb="workers.__call__",
)
drain = operations.add(
    "drain",
    "POST",
    "/workers/{worker_id}/drain",
    Scope.OPERATE,
    WorkerShown,
    """Have a worker claim nothing more, and end what it runs. Only with a token of all tenants.

What it has not begun goes back to its queue. It confirms the drain within seconds: from `drain_seen_at` on it
begins nothing. It stays there until it is resumed or stopped; once `drain_seen_at` is set and `busy` is 0, its
machine can be taken away. A slash in its id is sent as %2F.""",
)
resume = operations.add(
    "resume",
    "POST",
    "/workers/{worker_id}/resume",
    Scope.OPERATE,
    WorkerShown,
    "Let a drained worker claim runs again. Only with a token of all tenants.",
)
rewinds = operations.add(
    "rewinds",
    "GET",
    "/rewinds",
    Scope.READ,
    ListPage[Rewind],
    """List runs that a rewind of the store concerns, newest first: what workers knew of them and the store forgot.

A store is rewound when an older backup is restored, or when a failover loses commits. The records stay for 30 days. A
token of another tenant than the program's sees an alias for the worker.""",
    query=RewindsQuery,
)
