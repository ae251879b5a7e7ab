"""The verbs about events, triggers and webhooks: each has a twin for async code, with one signature."""

from __future__ import annotations

import inspect

import pytest

from tests.support.fresh_store import fresh_store
from workbell import Workbell
from workbell.events.triggers import Triggers
from workbell.events.verbs import Events
from workbell.settings import Settings
from workbell.webhooks.verbs import Webhooks

ALONE = {Triggers: {"processors"}, Events: {"tail"}, Webhooks: set()}


@pytest.mark.parametrize("kind", ALONE)
def test_each_verb_and_its_twin_have_one_signature(kind: type) -> None:
    public = {name for name in vars(kind) if name[0] != "_"}
    twins = {name for name in public if inspect.iscoroutinefunction(getattr(kind, name))}
    assert {f"a{name}" for name in public - twins - ALONE[kind]} == twins
    for twin in twins:
        one, other = getattr(kind, twin[1:]), getattr(kind, twin)
        assert inspect.signature(one).parameters == inspect.signature(other).parameters, twin


@pytest.mark.parametrize(("project", "source"), [("shop", "/shop"), ("workbell", "/workbell/app")])
def test_a_project_is_the_source_of_its_events(project: str, source: str) -> None:
    """In all of its processes, so that one key means one event; and never Workbell's own, which is refused."""
    with Workbell(store=fresh_store(), settings=Settings(project=project)) as bell:
        assert bell.emit("posts.created").source == source
