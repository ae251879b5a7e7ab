"""The cache of definitions: when it is read, and when who found nothing in it should ask again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Workbell
from workbell.handlers.definitions import CACHED_FOR, Definitions
from workbell.model.clock import ManualClock
from workbell.settings import Settings


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def other(clock: ManualClock) -> Iterator[Workbell]:
    """Another process, which changes definitions."""
    with Workbell(store=fresh_store(clock), settings=Settings()) as bell:
        yield bell


@pytest.fixture
def definitions(other: Workbell) -> Definitions:
    return Definitions(lambda: other.store)


def test_what_was_read_before_is_asked_for_once_more(
    definitions: Definitions, other: Workbell, clock: ManualClock
) -> None:
    began = clock.monotonic()
    assert definitions.find("default", "email-eu") is None
    assert definitions.recheck_in(began) is None  # it was read for this
    clock.advance(0.25)
    other.jobs.put("email-eu", handler="email")
    began = clock.monotonic()
    assert definitions.recheck_in(began) is None  # nobody has asked
    assert definitions.find("default", "email-eu") is None
    assert definitions.recheck_in(began) == pytest.approx(CACHED_FOR - 0.25)
    clock.advance(CACHED_FOR)
    assert definitions.recheck_in(began) == 0
    began = clock.monotonic()
    assert definitions.find("default", "email-eu") is not None
    assert definitions.recheck_in(began) is None


def test_an_expired_cache_is_read_at_the_next_use(definitions: Definitions, other: Workbell) -> None:
    assert definitions.find("default", "email-eu") is None
    other.jobs.put("email-eu", handler="email")
    assert definitions.find("default", "email-eu") is None
    assert definitions.cached("default", "email-eu") is None
    definitions.expire()
    assert definitions.cached("default", "email-eu") is None
    assert definitions.find("default", "email-eu") == definitions.cached("default", "email-eu") is not None
