"""Blocking sessions of PostgreSQL: which session blocks which on our tables, and which left a transaction open."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import NamedTuple

from workbell.stores.database import Database, Row, read_rows

WAITED = 0.3  # seconds: shorter waits are normal; a key is waited for by half a second at a time
IDLE = 3.0  # seconds that a transaction may be idle
PREPARED = 0  # stands for a transaction that was prepared for a two-phase commit, which has no session
SHOWN = 100  # characters of a statement


class SessionAbout(NamedTuple):
    """A session as pg_stat_activity has it; without a state where this user may not see it."""

    pid: int
    name: str
    host: str
    state: str | None
    seconds: float  # in this state
    statement: str

    def __str__(self) -> str:
        return f"{self.pid} ({self.name or 'no application_name'}, {self.host})"


class WaitingSession(NamedTuple):
    """A session that waits for a lock, and since when."""

    session: SessionAbout
    seconds: float


class Blocker(NamedTuple):
    """A session that blocks others; None for a prepared transaction."""

    session: SessionAbout | None
    waiting: list[WaitingSession]


def blockers(database: Database) -> list[Blocker]:
    """Sessions that others wait for, but wait for nobody themselves."""
    waits: dict[int, float] = {}
    blocked_by: defaultdict[int, set[int]] = defaultdict(set)
    for pid, seconds, blocker in read_rows(database, "blocked_sessions"):
        if seconds >= WAITED:
            waits[pid] = seconds
            blocked_by[blocker].add(pid)
    first = [pid for pid in blocked_by if pid not in waits] or list(blocked_by)
    known = _sessions(database, {*blocked_by, *waits})
    found = []
    for pid in sorted(first):
        behind = _behind(pid, blocked_by)
        waiting = [WaitingSession(known[other], waits[other]) for other in behind if other in known]
        if waiting and (pid == PREPARED or pid in known):  # else they have ended meanwhile
            found.append(Blocker(known.get(pid), sorted(waiting, key=lambda one: one.seconds, reverse=True)))
    return found


def idle_transactions(database: Database) -> list[SessionAbout]:
    """Idle sessions that have our tables locked."""
    pids = {row[0] for row in read_rows(database, "idle_transactions", seconds=IDLE)}
    return sorted(_sessions(database, pids).values())


def _behind(pid: int, blocked_by: dict[int, set[int]]) -> set[int]:
    """All sessions that wait for this one, directly or through others."""
    found: set[int] = set()
    ahead = [pid]
    while ahead:
        new = blocked_by.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return found - {pid}


def _sessions(database: Database, pids: set[int]) -> dict[int, SessionAbout]:
    rows: list[Row] = read_rows(database, "sessions", pids=sorted(pids)) if pids else []
    return {row[0]: SessionAbout(row[0], row[1], row[2], row[3], row[4] or 0.0, shown(row[5] or "")) for row in rows}


def shown(statement: str) -> str:
    """The beginning of a statement, without values: up to its first quote, and without numbers."""
    text = " ".join(statement.split())
    plain = re.split(r"'|\$[a-zA-Z_]?\w*\$", text, maxsplit=1)[0]
    cut = len(plain) > SHOWN or plain != text
    plain = re.sub(r"(?<![\w$])\d[\d.]*", "?", plain)
    return plain[:SHOWN].rstrip() + (" …" if cut else "")
