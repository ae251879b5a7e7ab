"""`bell.tenants` and `bell.audit`: what is set for tenants, and what was done (E6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.values import Settings
from tests.support.inside.wire import AuditShown, TenantShown
from workbell import InvalidOption, TenantNotFound, Workbell
from workbell.testing import ManualClock


@pytest.fixture
def bell(clock: ManualClock) -> Iterator[Workbell]:
    made = Workbell(store=fresh_store(clock), settings=Settings())
    yield made
    made.runtime.close()


def test_what_is_not_named_stays(bell: Workbell, clock: ManualClock) -> None:
    made = bell.tenants.put("acme", weight=3, concurrency=10, rate="100/m", description="Acme")
    clock.advance(5)
    changed = bell.tenants.put("acme", concurrency=None)
    assert (changed.weight, changed.concurrency, changed.rate, changed.description) == (3, None, "100/m", "Acme")
    assert (changed.created_at, changed.updated_at) == (made.created_at, clock.now())
    assert bell.tenants.get("acme") == changed
    assert bell.tenants.put("acme", rate=None).rate is None


def test_all_that_are_known(bell: Workbell) -> None:
    """Also those that nothing was set for."""

    @bell.job
    def work() -> None: ...

    bell.for_tenant("runs").enqueue("work", {})
    bell.tokens.create("x", tenant="tokens")
    bell.tokens.create("x", tenant="*")
    bell.tenants.put("settings", weight=2)
    assert [(tenant.name, tenant.weight) for tenant in bell.tenants.list()] == [
        ("runs", 1),
        ("settings", 2),
        ("tokens", 1),
    ]
    told = msgspec.structs.asdict(TenantShown.of(bell.tenants.get("runs")))
    assert told == {
        "name": "runs",
        "created_at": None,
        "updated_at": None,
        "description": "",
        "weight": 1,
        "concurrency": None,
        "rate": None,
        "unreadable": None,
    }
    assert TenantShown.of(bell.tenants.get("settings")).updated_at is not None


def test_forgotten(bell: Workbell) -> None:
    bell.tenants.put("acme", weight=3)
    bell.tenants.delete("acme")
    assert bell.tenants.list() == []
    with pytest.raises(TenantNotFound, match="acme"):
        bell.tenants.delete("acme")
    with pytest.raises(TenantNotFound, match="acme"):
        bell.tenants.get("acme")
    with pytest.raises(InvalidOption, match="printable"):
        bell.tenants.delete("\x00")  # no database takes that


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("*", {}, "every tenant"),
        ("", {}, "tenant"),
        ("a\nb", {}, "tenant"),
        ("a", {"weight": 0}, "weight"),
        ("a", {"weight": 1001}, "weight"),
        ("a", {"weight": None}, "weight"),
        ("a", {"concurrency": 0}, "concurrency"),
        ("a", {"rate": "often"}, "rate"),
        ("a", {"description": 5}, "description"),
        ("a", {"height": 5}, "height"),
    ],
)
def test_what_cannot_be_set(name: str, settings: dict[str, Any], words: str, bell: Workbell) -> None:
    with pytest.raises(InvalidOption, match=words):
        bell.tenants.put(name, **settings)
    assert bell.tenants.list() == []


@pytest.mark.anyio
async def test_for_async_code(bell: Workbell) -> None:
    made = await bell.tenants.aput("acme", weight=3)
    assert await bell.tenants.aget("acme") == made
    assert await bell.tenants.alist() == [made]
    await bell.tenants.adelete("acme")
    entry = await bell.audit.aadd("a.b", "c", actor="ada", detail={"n": 1}, address="::1", tenant="acme")
    assert (entry.tenant, entry.detail_text, entry.address) == ("acme", '{"n":1}', "::1")
    assert await bell.audit.alist(tenant="acme") == [entry]


def test_what_was_done(bell: Workbell, clock: ManualClock) -> None:
    first = bell.audit.add(
        "runs.cancel", "r1", actor="ada", detail={"reason": "x", "token": "hush"}, address="10.0.0.1"
    )
    second = bell.audit.add("tokens.create", actor="eve")
    theirs = bell.for_tenant("acme").audit.add("a.b", actor="ada")
    shown = msgspec.json.decode(msgspec.json.encode(AuditShown.of(first)), type=AuditShown)
    assert shown.value() == first
    assert msgspec.structs.asdict(shown) == {
        "id": first.id,
        "tenant": "default",
        "at": clock.now(),
        "actor": "app:ada",
        "action": "runs.cancel",
        "subject": "r1",
        "address": "10.0.0.1",
        "detail": {"reason": "x", "token": "…"},
    }
    assert bell.audit.list() == [second, first]
    assert bell.audit.list(limit=1) == [second]
    assert bell.audit.list(before=second.id) == [first]
    assert bell.audit.list(tenant="acme") == [theirs]
    assert bell.audit.list(tenant="*") == [theirs, second, first]


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1001}, {"before": "x"}, {"tenant": ""}])
def test_what_cannot_be_listed(wrong: dict[str, Any], bell: Workbell) -> None:
    with pytest.raises(InvalidOption):
        bell.audit.list(**wrong)
