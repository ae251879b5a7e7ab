"""Rows to tokens, tenants, audit entries, notifications, agents, answers and tallies, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

import msgspec

from workbell.model.access import Scope, Token, TokenKind
from workbell.model.agent import Agent
from workbell.model.audit import AuditEntry
from workbell.model.notification import Notification
from workbell.model.remembered import Remembered
from workbell.model.tally import Tally
from workbell.model.tenant import Tenant
from workbell.model.users import user_number, user_text

TOKEN = (
    "id hash tenant kind name scopes user_id agent created_by created_at expires_at revoked_at last_used_at user_text"
).split()
TENANT = "name description weight concurrency rate created_at updated_at".split()
AUDIT = "id tenant at actor action subject detail address".split()
NOTIFICATION = "id tenant user_id data created_at user_text".split()
READ = "tenant user_id notification at".split()
AGENT = "id tenant name labels jobs version host metrics enabled created_at seen_at".split()
ANSWER = "tenant key fingerprint created_at until status body".split()
TALLY = "minute tenant queue job status count seconds wait buckets".split()

COLUMNS = {
    "token": TOKEN,
    "tenant": TENANT,
    "audit": AUDIT,
    "notification": NOTIFICATION,
    "read": READ,
    "agent": AGENT,
    "answer": ANSWER,
    "tally": TALLY,
}
SERVICE_TIMES = {
    name
    for columns in COLUMNS.values()
    for name in (*columns, "read_at")
    if name.endswith("_at") or name in ("at", "until", "minute")
}
# What the columns of a query's answer are, where some of them are times.
ANSWERS: dict[str, Sequence[str]] = {
    **dict.fromkeys(("find_token", "tokens", "list_tokens", "redeem_token", "export_tokens"), TOKEN),
    "tenants": TENANT,
    **dict.fromkeys(("all_audit", "list_audit", "export_audit"), AUDIT),
    **dict.fromkeys(("list_notifications", "list_unread", "new_notifications"), (*NOTIFICATION, "read_at")),
    "export_reads": READ,
    **dict.fromkeys(("find_agent", "agents", "list_agents"), AGENT),
    "delete_agent": ("created_at",),
    "find_answer": ANSWER,
    **dict.fromkeys(("lock_tallies", "tallies", "list_tallies", "totals", "export_tallies"), TALLY),
    "add_tallies": ("minute", "tenant", "queue", "job", "status"),
}

_names = msgspec.json.Decoder(tuple[str, ...])
_scopes = msgspec.json.Decoder(tuple[Scope, ...])
_buckets = msgspec.json.Decoder(tuple[int, ...])


def place_service_columns(query: str) -> str:
    """Fill the column lists into a query."""
    for word, columns in COLUMNS.items():
        query = query.replace(f"{{{word}_columns}}", ", ".join(columns))
        query = query.replace(f"{{{word}_values}}", ", ".join(f":{name}" for name in columns))
    return query


def service_times() -> dict[str, tuple[int, ...]]:
    """Which columns of a query's answer are times."""
    return {
        query: tuple(place for place, name in enumerate(columns) if name in SERVICE_TIMES)
        for query, columns in ANSWERS.items()
    }


def in_order(columns: Sequence[str], values: Mapping[str, Any]) -> list[Any]:
    """For a statement that writes many rows."""
    return [values[name] for name in columns]


def _read(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    values = dict(zip(columns, row, strict=True))
    times = {name: value.astimezone(UTC) for name, value in values.items() if name in SERVICE_TIMES and value}
    return values | times


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def names_text(names: Sequence[str]) -> str:
    return _text(list(names))


def token_values(token: Token) -> dict[str, Any]:
    user = token.user_id
    return msgspec.structs.asdict(token) | {
        "kind": token.kind.value,
        "scopes": _text(token.scopes),
        "user_id": None if user is None else user_number(user),
        "user_text": user_text(user),
    }


def token_from(row: Sequence[Any]) -> Token:
    values = _read(TOKEN, row)
    text = values.pop("user_text")
    values["user_id"] = values["user_id"] if text is None else text
    return Token(**(values | {"kind": TokenKind(values["kind"]), "scopes": _scopes.decode(values["scopes"])}))


def tenant_values(tenant: Tenant) -> dict[str, Any]:
    return msgspec.structs.asdict(tenant)


def tenant_from(row: Sequence[Any]) -> Tenant:
    return Tenant(**_read(TENANT, row))


def audit_values(entry: AuditEntry) -> dict[str, Any]:
    values = msgspec.structs.asdict(entry)
    return values | {"detail": values.pop("detail_text")}


def audit_from(row: Sequence[Any]) -> AuditEntry:
    values = _read(AUDIT, row)
    detail = values.pop("detail")
    return AuditEntry(**values, detail_text=detail)


def notification_row(new: Notification) -> list[Any]:
    number = None if new.user_id is None else user_number(new.user_id)
    return [new.id, new.tenant, number, new.text, new.created_at, user_text(new.user_id)]


def notification_from(row: Sequence[Any]) -> Notification:
    """From the columns of a notification, with the time of its reading behind them."""
    created_at, text, read_at = row[4].astimezone(UTC), row[5], row[6]
    user = row[2] if text is None else text
    return Notification(row[0], row[1], user, row[3], created_at, read_at and read_at.astimezone(UTC))


def agent_values(agent: Agent) -> dict[str, Any]:
    values = msgspec.structs.asdict(agent)
    values["metrics"] = values.pop("metrics_text")
    values["jobs"] = None if agent.jobs is None else _text(agent.jobs)
    return values | {"labels": _text(agent.labels)}


def agent_from(row: Sequence[Any]) -> Agent:
    values = _read(AGENT, row)
    values["metrics_text"] = values.pop("metrics")
    values["jobs"] = None if values["jobs"] is None else _names.decode(values["jobs"])
    values["enabled"] = bool(values["enabled"])
    return Agent(**(values | {"labels": _names.decode(values["labels"])}))


def answer_values(answer: Remembered) -> dict[str, Any]:
    return msgspec.structs.asdict(answer)


def answer_from(row: Sequence[Any]) -> Remembered:
    return Remembered(**_read(ANSWER, row))


def tally_row(tally: Tally) -> list[Any]:
    return in_order(TALLY, msgspec.structs.asdict(tally) | {"buckets": _text(tally.buckets)})


def tally_from(row: Sequence[Any]) -> Tally:
    values = _read(TALLY, row)
    return Tally(**(values | {"buckets": _buckets.decode(values["buckets"])}))
