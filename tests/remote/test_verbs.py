"""The client has every verb of Workbell, under the same name and with the same parameters: a generated comparison."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.inside.features import LocalClient as Local
from workbell import Client, Workbell

EXCEPTIONS = {
    "after_commit": "of a transaction in the program",
    # What takes objects that live in one process, or what the service does itself.
    "store": "the service has it",
    "registry": "needs the functions behind the jobs",
    "tenant": "the token says whose it is",
    "schedules.put_all": "for what code declares",
    "schedules.update_if": "over HTTP, `If-Match` says it",
    "schedules.delete_if": "over HTTP, `If-Match` says it",
    "schedules.check": "for what code declares",
    "schedules.disable_others": "for what code declares",
    "triggers.processors": "needs the functions behind the jobs",
    "webhooks.seal": "with the keys of the server, which never leave it",
    "audit.add": "the service notes what is done, and by whom",
    "tokens.check": "for who is handed a token: the service",
    "tokens.redeem": "for who is handed a token: the service",
    "agents.pair": "what an agent does, not a client",
    "agents.working": "what an agent does, not a client",
}
LEFT_OUT = {
    "jobs.put": {"expected"},  # over HTTP, `If-Match` says it
    "jobs.update": {"expected"},
    "jobs.enable": {"expected"},
    "jobs.disable": {"expected"},
    "jobs.delete": {"expected"},
    "triggers.update": {"expected"},
    "triggers.delete": {"expected"},
    "tokens.create": {"kind", "agent", "created_by"},  # the service says who made it
    "agents.pairing": {"created_by"},
    "notifications.list": {"user_id"},  # whose they are, the token says
    "notifications.mark_read": {"user_id"},
}
ROOMS = "runs jobs schedules triggers events executions webhooks notifications tokens tenants audit agents".split()
ROOMS += "queues files workers pauses".split()
NO_ROOMS = {"tenant"}
CALLED = ("runs", "workers", "pauses", "executions")  # parts that are verbs as well
# Verbs of an application that holds the jobs, works or serves, and not of who only asks for things.
OWN = set(dir(Workbell)) - set(dir(Local))


def verbs(thing: object, room: str = "") -> Iterator[str]:
    for name, value in inspect.getmembers(type(thing)):
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
            yield f"{room}.{name}" if room else name


def parameters(thing: Any, verb: str) -> dict[str, tuple[Any, Any]]:
    value: Any = thing
    for part in verb.split("."):
        value = getattr(value, part)
    return {one.name: (one.kind, one.default) for one in inspect.signature(value).parameters.values()}


@pytest.fixture(scope="module")
def bell() -> Iterator[Workbell]:
    with Workbell("memory://") as bell:
        yield bell


client = Client("https://bells.example.com")


def plain(verb: str) -> str:
    """`schedules.aget` is `schedules.get`: an exception stands for both."""
    room, dot, name = verb.rpartition(".")
    return f"{room}{dot}{name[1:]}" if name.startswith("a") and f"{room}{dot}{name[1:]}" in KNOWN else verb


KNOWN = {*EXCEPTIONS, *LEFT_OUT}


def test_every_verb_is_there_with_the_same_parameters(bell: Workbell) -> None:
    """Missing, or different: nothing."""
    wrong: list[str] = []
    local = [verb for verb in verbs(bell) if verb not in OWN]
    local += CALLED
    local += [verb for room in ROOMS for verb in verbs(getattr(bell, room), room)]
    assert len(local) > 150
    for verb in local:
        if plain(verb) in EXCEPTIONS:
            continue
        try:
            theirs = parameters(client, verb)
        except AttributeError:
            wrong.append(f"{verb} is missing")
            continue
        left_out = LEFT_OUT.get(plain(verb), set())
        ours = {name: one for name, one in parameters(bell, verb).items() if name not in left_out}
        if ours != theirs:
            wrong.append(f"{verb}: {ours} here, {theirs} there")
    assert wrong == []


def test_no_exception_is_there_for_nothing(bell: Workbell) -> None:
    for verb in EXCEPTIONS:
        room, _, name = verb.rpartition(".")
        assert hasattr(getattr(bell, room) if room else bell, name), f"{verb} does not exist any more"
        there: Any = getattr(client, room) if room else client
        assert not hasattr(there, name), f"{verb} is no exception"
    for verb, left_out in LEFT_OUT.items():
        assert left_out <= set(parameters(bell, verb))


def test_there_is_no_room_that_the_client_has_not(bell: Workbell) -> None:
    """A room of verbs is an attribute of the local client; a new one must come here, or be named above."""
    local = Local(bell.runtime)
    rooms = {name for name in dir(local) if not name.startswith("_") and not inspect.isroutine(getattr(local, name))}
    assert rooms - NO_ROOMS - set(ROOMS) == set()


def test_every_verb_has_an_async_twin() -> None:
    for verb in [*verbs(client), *(verb for room in ROOMS for verb in verbs(getattr(client, room), room))]:
        room, _, name = verb.rpartition(".")
        there = getattr(client, room) if room else client
        if name in ("awatch", "tail", "request", "for_tenant") or inspect.iscoroutinefunction(getattr(there, name)):
            continue
        twin = getattr(there, "await_" if name == "wait" else f"a{name}")
        if name == "watch":
            assert inspect.signature(twin).parameters == inspect.signature(there.watch).parameters
            continue
        assert inspect.iscoroutinefunction(twin)
        assert inspect.signature(twin).parameters == inspect.signature(getattr(there, name)).parameters
