"""Plans of verbs about tokens, the audit log, notifications and agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from workbell.access.tokens import check_page
from workbell.agents.naming import agent_labels
from workbell.errors import InvalidOption
from workbell.model.access import EVERY_TENANT, Token
from workbell.model.agent import Agent
from workbell.model.audit import AuditEntry
from workbell.model.clock import seconds
from workbell.model.users import UserId
from workbell.remote.asking import MOST, ask, call_of
from workbell.remote.call import Plan
from workbell.remote.options import as_json, body
from workbell.remote.values import RemoteNewToken
from workbell.wire import agents, audit, notifications, tokens
from workbell.wire.agents import PairingShown
from workbell.wire.tokens import MadeToken


def _whose(tenant: str | None) -> dict[str, Any]:
    """A token of all tenants sees those for all beside those of any tenant."""
    return {} if tenant in (None, EVERY_TENANT) else {"tenant": str(tenant)}


def tokens_create(
    name: str,
    scopes: Iterable[str],
    tenant: str | None,
    user_id: UserId | None,
    expires: float | timedelta | datetime | None,
) -> Plan[RemoteNewToken]:
    if isinstance(scopes, str):
        raise InvalidOption(f'scopes: give a list, such as ["{scopes[:20]}"].')
    fields: dict[str, Any] = {"name": name, "scopes": [*scopes], "every_tenant": tenant == EVERY_TENANT}
    if user_id is not None:
        fields["user_id"] = user_id
    if expires is not None:
        fields["expires"] = as_json("expires", expires)
    while True:
        made: MadeToken = yield call_of(tokens.create, query=_whose(tenant), body=body("token", fields))
        if made.token is not None:
            return RemoteNewToken(made.value(), made.token)
        # The answer with its text was lost, and the text with it: that one is of no use to anybody.
        yield call_of(tokens.revoke, made.id, query=_whose(tenant))


def tokens_revoke(token_id: str, tenant: str | None) -> Plan[Token]:
    return (yield call_of(tokens.revoke, token_id, query=_whose(tenant))).value()


def tokens_get(token_id: str, tenant: str | None) -> Plan[Token]:
    return (yield call_of(tokens.get, token_id, query=_whose(tenant))).value()


def tokens_list(tenant: str | None, after: str | None, limit: int) -> Plan[list[Token]]:
    check_page(after, limit)
    every_one = tenant == EVERY_TENANT
    found: list[Token] = []
    while True:  # those for all tenants come with those of one
        given = {"also_ended": True, "after": after or "", "limit": MOST}
        page: list[Token] = yield from ask(tokens.list_, given, query=_whose(tenant))
        found += [token for token in page if (token.tenant == EVERY_TENANT) is every_one]
        if len(page) < MOST or len(found) >= limit:
            return found[:limit]
        after = page[-1].id


def audit_list(before: str | None, limit: int, tenant: str | None) -> Plan[list[AuditEntry]]:
    given = {"before": before, "limit": limit, "every_tenant": True if tenant == EVERY_TENANT else None}
    return ask(audit.list_, given, query=_whose(tenant))


def notifications_mark_read(ids: Sequence[str] | None) -> Plan[int]:
    if isinstance(ids, str):
        raise InvalidOption("ids: give a list of the ids of notifications, or nothing for all of them.")
    return (yield call_of(notifications.mark_read, body={"all": True} if ids is None else {"ids": [*ids]})).read


def agents_pairing(name: str | None, labels: Sequence[str], expires: float | timedelta) -> Plan[RemoteNewToken]:
    fields: dict[str, Any] = {"labels": [*agent_labels(labels)], "expires": seconds("expires", expires)}
    while True:
        made: PairingShown = yield call_of(agents.allow, body=fields if name is None else fields | {"name": name})
        if made.token is not None:
            return RemoteNewToken(made.value(), made.token)
        yield call_of(tokens.revoke, made.id)  # its text was lost, as that of a token may be


def agents_label(name: str, labels: Sequence[str]) -> Plan[Agent]:
    return ask(agents.change, {"name": name, "labels": [*agent_labels(labels)]})


def agents_enable(name: str) -> Plan[Agent]:
    return ask(agents.change, {"name": name, "enabled": True})


def agents_disable(name: str) -> Plan[Agent]:
    return ask(agents.change, {"name": name, "enabled": False})
