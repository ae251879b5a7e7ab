"""Copying what belongs to the service: everything out in pages, and a page of another store in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from workbell.model.clock import EPOCH
from workbell.stores import service_rows
from workbell.stores.added_up import place_of
from workbell.stores.port import Batch
from workbell.stores.session import Row, Session
from workbell.stores.sql_events import FIRST_ID
from workbell.stores.sql_tallies import PLACE

if TYPE_CHECKING:
    from workbell.stores.sql_store import SqlStore

PAGE = 1000
LOWEST = -(2**63)


def export(store: SqlStore) -> Iterator[Batch]:
    """Everything, a page at a time; notifications before the marks of who has read them."""
    after: Any = FIRST_ID
    while tokens := [service_rows.token_from(row) for row in _page(store, "export_tokens", after=after)]:
        yield Batch(tokens=tokens)
        after = tokens[-1].id
    tenants, agents = store.list_tenants(), store.list_agents()
    if tenants or agents:
        yield Batch(tenants=tenants, agents=agents)
    after = FIRST_ID
    while audit := [service_rows.audit_from(row) for row in _page(store, "export_audit", after=after)]:
        yield Batch(audit=audit)
        after = audit[-1].id
    after = FIRST_ID
    while notifications := store.new_notifications(after, PAGE):
        yield Batch(notifications=notifications)
        after = notifications[-1].id
    last: tuple[Any, Any] = (FIRST_ID, LOWEST)
    while reads := [_read_from(row) for row in _page(store, "export_reads", after=last[0], after_user=last[1])]:
        yield Batch(reads=reads)
        last = (reads[-1][2], reads[-1][1])
    place: tuple[Any, ...] = (EPOCH - timedelta(microseconds=1), "", "", "", "")
    while page := _page(store, "export_tallies", **dict(zip(PLACE, place, strict=True))):
        tallies = [service_rows.tally_from(row) for row in page]
        yield Batch(tallies=tallies)
        place = place_of(tallies[-1])


def _page(store: SqlStore, name: str, **values: Any) -> list[Row]:
    return store.read(lambda session: session.rows(name, limit=PAGE, **values))


def _read_from(row: Row) -> tuple[str, int, str, datetime]:
    return row[0], row[1], row[2], row[3].astimezone(UTC)


def load(store: SqlStore, session: Session, batch: Batch) -> None:
    """Take over a page. What is there already stays."""
    for token in batch.tokens:
        session.rows("load_token", **service_rows.token_values(token))
    for tenant in batch.tenants:
        session.rows("load_tenant", **service_rows.tenant_values(tenant))
    for agent in batch.agents:
        session.rows("add_agent", **service_rows.agent_values(agent))
    if batch.audit:
        store.add_audit_in(session, batch.audit)
    if batch.notifications:
        store.add_notifications_in(session, batch.notifications)
    for read_mark in batch.reads:
        session.rows("load_read", **dict(zip(service_rows.READ, read_mark, strict=True)))
    if batch.tallies:
        session.rows("add_tallies", **store.spell_tallies(batch.tallies))
