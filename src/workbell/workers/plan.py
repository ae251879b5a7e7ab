"""Worker plan: which processes a supervisor keeps running."""

from __future__ import annotations

from typing import NamedTuple

from workbell.boot.recipe import Recipe
from workbell.workers.messages import StoreNamed
from workbell.workers.task import ChildKind, Task


class WorkerPlan(NamedTuple):
    """How many workers, how they work, and when one is replaced by a fresh one."""

    recipe: Recipe
    workers: int
    grace: float
    server: bool = True
    queues: list[str] | None = None
    concurrency: int | None = None
    watch: bool = False
    max_runs: int | None = None
    max_memory: int | None = None
    probed: bool = False

    def tasks(self) -> list[Task]:
        """Tasks of the children, the server first: it finds problems of the project before anything else is started."""
        kinds = [(ChildKind.SERVER, "server")] if self.server else []
        kinds += [(ChildKind.WORKER, f"worker {number + 1}") for number in range(self.workers)]
        return [self._task(kind, name, reports=index == 0) for index, (kind, name) in enumerate(kinds)]

    def keeper(self, store: StoreNamed) -> Task:
        return Task(kind=ChildKind.KEEPER, name="keeper", recipe=self.recipe, grace=self.grace, store=store)

    def _task(self, kind: ChildKind, name: str, *, reports: bool) -> Task:
        return Task(
            kind=kind,
            name=name,
            recipe=self.recipe,
            grace=self.grace,
            queues=self.queues,
            concurrency=self.concurrency,
            watch=self.watch,
            probed=self.probed,
            reports=reports,
        )
