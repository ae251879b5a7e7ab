"""A Workbell on each kind of store, with a few jobs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.support.inside.features import Claimant, FairClaims, JobFunction, LocalClient
from tests.support.inside.stores import Store
from tests.support.inside.values import Settings, state
from workbell import Context, Run, Workbell


@pytest.fixture
def bell(store: Store) -> Iterator[Workbell]:
    made = Workbell(store=store, settings=Settings())
    yield made
    made.runtime.close()  # the store is closed by its own fixture


@pytest.fixture
def send(bell: Workbell) -> JobFunction[[str, int], str]:
    @bell.job(queue="mail")
    def send(to: str, copies: int = 1) -> str:
        return f"{copies} to {to}"

    return send


@pytest.fixture
def report(bell: Workbell) -> JobFunction[[int], int]:
    @bell.job
    async def report(ctx: Context, number: int) -> int:
        ctx.progress(1, 2, "half")
        assert not ctx.canceled
        return number + ctx.run.attempt

    return report  # type: ignore[return-value]


def take(bell: LocalClient, limit: int = 100) -> list[Run]:
    """Claim what is queued, as a worker does."""
    claimant = Claimant("w1", timedelta(seconds=30), lambda lane: True)
    return FairClaims(bell.store).claim(claimant, limit, bell.store.clock.now())


def finish(bell: LocalClient, run: Run, result: str = '"done"') -> Run:
    """End a claimed run well."""
    change = state.succeed(run, bell.store.clock.now(), result=result, keep=timedelta(days=1))
    assert bell.store.runs.apply([change]) == {run.id}
    return change.after(run)


def fail(bell: LocalClient, run: Run) -> Run:
    """End a claimed run badly."""
    now = bell.store.clock.now()
    change = state.fail(run, now, error="ValueError: bad", reason="error", keep=timedelta(days=1))
    assert bell.store.runs.apply([change]) == {run.id}
    return change.after(run)
