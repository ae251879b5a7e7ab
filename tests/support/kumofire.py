"""A database of Kumofire Jobs, made by hand: its schema by versions, and rows of every kind.

python -m tests.support.kumofire FILE [VERSION]
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

# The tables of its three migrations, in our own words.
MIGRATIONS = (
    """
CREATE TABLE kumofire_schema_version (version INTEGER PRIMARY KEY, updated_at TEXT NOT NULL);
CREATE TABLE kumofire_job_definitions (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, handler TEXT NOT NULL,
    payload_template TEXT, default_options TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE TABLE kumofire_job_runs (id TEXT PRIMARY KEY, job_id TEXT NOT NULL REFERENCES kumofire_job_definitions (id),
    job_name TEXT NOT NULL, status TEXT NOT NULL, dedupe_key TEXT, payload TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL, next_run_at TEXT,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, started_at TEXT, finished_at TEXT, last_error TEXT);
CREATE INDEX kumofire_runs_due ON kumofire_job_runs (status, next_run_at);
CREATE UNIQUE INDEX kumofire_runs_key ON kumofire_job_runs (dedupe_key) WHERE dedupe_key IS NOT NULL;
CREATE TABLE kumofire_job_locks (job_run_id TEXT PRIMARY KEY, lease_until TEXT NOT NULL, updated_at TEXT NOT NULL)
""",
    """
CREATE TABLE kumofire_job_schedules (id TEXT PRIMARY KEY, job_id TEXT NOT NULL, job_name TEXT NOT NULL,
    schedule_type TEXT NOT NULL, schedule_expr TEXT NOT NULL, timezone TEXT, next_run_at TEXT, last_scheduled_at TEXT,
    enabled INTEGER NOT NULL DEFAULT 1, payload TEXT NOT NULL, max_attempts INTEGER NOT NULL, created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL);
ALTER TABLE kumofire_job_runs ADD COLUMN job_schedule_id TEXT REFERENCES kumofire_job_schedules (id);
CREATE INDEX kumofire_schedules_due ON kumofire_job_schedules (enabled, next_run_at);
CREATE INDEX kumofire_runs_schedule ON kumofire_job_runs (job_schedule_id)
""",
    """
ALTER TABLE kumofire_job_schedules ADD COLUMN schedule_key TEXT;
CREATE UNIQUE INDEX kumofire_schedules_key ON kumofire_job_schedules (schedule_key) WHERE schedule_key IS NOT NULL
""",
)
CREATED = datetime(2026, 3, 25, tzinfo=UTC)
MAIL, REPORT = str(UUID(int=0xA1)), str(UUID(int=0xA2))
JOB_IDS = {"mail": MAIL, "report": REPORT}
EVERY, DAILY, OFF = str(UUID(int=0xB1)), str(UUID(int=0xB2)), str(UUID(int=0xB3))


def run_id(number: int) -> str:
    """Of version 4, as its D1 adapter draws them."""
    return str(UUID(int=(number << 120) | (4 << 76) | (0x8 << 60) | number))


def text_of(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def insert(table: str, **values: Any) -> tuple[str, list[Any]]:
    columns = ", ".join(values)
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(values))})", list(values.values())


def run(number: int, status: str, **more: Any) -> tuple[str, list[Any]]:
    job = more.pop("job_name", "mail")
    values = {
        "id": run_id(number),
        "job_id": JOB_IDS.get(job, MAIL),
        "job_name": job,
        "status": status,
        "payload": json.dumps({"to": f"n{number}"}),
        "attempt": 0,
        "max_attempts": 3,
        "next_run_at": text_of(CREATED),
        "created_at": text_of(CREATED),
        "updated_at": text_of(CREATED),
    }
    return insert("kumofire_job_runs", **(values | more))


def lock(number: int, until: datetime) -> tuple[str, list[Any]]:
    lease, updated = text_of(until), text_of(until - timedelta(seconds=30))
    return insert("kumofire_job_locks", job_run_id=run_id(number), lease_until=lease, updated_at=updated)


def schedule(schedule_id: str, job: str, kind: str, expression: str, **more: Any) -> tuple[str, list[Any]]:
    values = {
        "id": schedule_id,
        "job_id": JOB_IDS[job],
        "job_name": job,
        "schedule_type": kind,
        "schedule_expr": expression,
        "timezone": "UTC",
        "enabled": 1,
        "payload": json.dumps({"to": kind}),
        "max_attempts": 3,
        "created_at": text_of(CREATED),
        "updated_at": text_of(CREATED),
    }
    return insert("kumofire_job_schedules", **(values | more))


def definition(name: str, **more: Any) -> tuple[str, list[Any]]:
    values = {"handler": name, "created_at": text_of(CREATED), "updated_at": text_of(CREATED)}
    return insert("kumofire_job_definitions", id=JOB_IDS[name], name=name, **(values | more))


def schema(version: int = 3) -> list[tuple[str, list[Any]]]:
    statements: list[tuple[str, list[Any]]] = []
    for number, migration in enumerate(MIGRATIONS[:version], 1):
        statements += [(text, []) for text in migration.split(";")]
        statements.append(insert("kumofire_schema_version", version=number, updated_at="1970-01-01T00:00:00.000Z"))
    return statements


def content(now: datetime, version: int = 3) -> list[tuple[str, list[Any]]]:
    """Something of every kind: runs 1 to 9, three schedules, two definitions."""
    later, before = text_of(now + timedelta(hours=2)), text_of(now - timedelta(minutes=10))
    ended = {"started_at": text_of(CREATED), "finished_at": text_of(CREATED + timedelta(seconds=4))}
    rows = [
        definition("mail", default_options=json.dumps({"maxAttempts": 5}), payload_template=json.dumps({"copies": 2})),
        definition("report", handler="make-report"),
        run(1, "scheduled", next_run_at=later),
        run(2, "scheduled", next_run_at=before, attempt=1, max_attempts=4, last_error="smtp: timeout"),
        run(3, "queued", dedupe_key="welcome-3"),
        run(4, "running", started_at=before, attempt=1, last_error="first"),
        lock(4, now - timedelta(minutes=9)),
        run(5, "succeeded", **ended, dedupe_key="welcome-5"),
        run(6, "failed", **ended, attempt=3, last_error="no such address"),
        run(7, "canceled", finished_at=ended["finished_at"]),
        run(8, "queued", job_name="report", payload="[1, 2]"),
        run(9, "running", job_name="report", payload="null", started_at=before),
    ]
    if version >= 2:
        keys: list[dict[str, str]] = [{}] * 3
        if version >= 3:
            keys = [{"schedule_key": "every-minute"}, {}, {"schedule_key": "off"}]
        rows += [
            schedule(EVERY, "mail", "cron", "* * * * *", **keys[0], next_run_at=_minute(now), last_scheduled_at=before),
            schedule(DAILY, "report", "cron", "0 5 * * *", timezone="Asia/Tokyo", next_run_at=_five_in_tokyo(now)),
            schedule(OFF, "mail", "cron", "*/5 * * * *", **keys[2], enabled=0),
        ]
        run_of_schedule = "UPDATE kumofire_job_runs SET job_schedule_id = ? WHERE id = ?"
        rows.append((run_of_schedule, [EVERY, run_id(5)]))
    return rows


def _minute(now: datetime) -> str:
    """The tick that is due already."""
    return text_of(now.replace(second=0, microsecond=0))


def _five_in_tokyo(now: datetime) -> str:
    today = now.replace(hour=20, minute=0, second=0, microsecond=0)
    return text_of(today if today > now else today + timedelta(days=1))


def write(path: Path, statements: Iterable[tuple[str, list[Any]]]) -> Path:
    connection = sqlite3.connect(path)
    with connection:
        for text, values in statements:
            connection.execute(text, values)
    connection.close()
    return path


def export(path: Path, to: Path) -> Path:
    """The SQL text of a database, as `wrangler d1 export` writes it."""
    connection = sqlite3.connect(path)
    lines = [line for line in connection.iterdump() if line not in ("BEGIN TRANSACTION;", "COMMIT;")]
    connection.close()
    to.write_text("\n".join(["PRAGMA defer_foreign_keys=TRUE;", *lines]), "utf-8")
    return to


if __name__ == "__main__":
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    write(Path(sys.argv[1]), [*schema(number), *content(datetime.now(UTC), number)])
