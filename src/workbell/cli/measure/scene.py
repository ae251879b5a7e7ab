"""The measured job, in its own tenant and queue, and the removal of its runs."""

from __future__ import annotations

from typing import Any

from workbell.app import Workbell
from workbell.cli.measure.tally import WorkerNumbers
from workbell.handlers.job_function import JobFunction
from workbell.model import state
from workbell.model.run import LIVE, Lane
from workbell.model.state import Retention
from workbell.runs.booking import Booking
from workbell.runs.publisher import RunPublisher
from workbell.settings import Settings
from workbell.stores.port import Filter, Store

NAME = "workbell-bench"
LANE = Lane(NAME, NAME, NAME)
PAGE = 1000


def make_bell(url: str) -> Workbell:
    """A Workbell with the shipped defaults, except that its finished runs may be removed at once."""
    settings = Settings(url=url, tenant=NAME, keep_succeeded=0, keep_other=0)
    return Workbell(settings=settings)


def make_job(bell: Workbell, tally: WorkerNumbers | None = None) -> JobFunction[..., Any]:
    """A handler that does nothing but note that it was called, and how long ago its run was asked for."""

    @bell.job(name=NAME, queue=NAME)
    async def handler(sent: int) -> None:
        if tally is not None:
            tally.hit(sent)

    return handler


def is_ours(lane: Lane) -> bool:
    return lane.tenant == NAME


def some_left(store: Store) -> bool:
    """Whether any run of ours is not finished."""
    return bool(store.runs.list(Filter(NAME, LIVE, job=NAME, limit=1)))


def clear(store: Store) -> None:
    """Remove our runs: end those that wait, then delete what may go."""
    now = store.clock.now()
    while waiting := store.runs.list(Filter(NAME, LIVE[:2], job=NAME, limit=PAGE)):
        over = [(run, state.cancel(run, now, reason="the measurement is over", keep=now - now)) for run in waiting]
        Booking(lambda: store, RunPublisher(lambda: store), Retention()).book(over)
    while store.prune(store.clock.now(), PAGE) >= PAGE:
        pass
