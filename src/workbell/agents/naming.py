"""Rules for names of agents, labels and sessions, and the worker name of an agent's leases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbell.errors import InvalidOption
from workbell.model.agent import HOLDER, LABEL, MOST_LABELS, SESSION_LIMIT
from workbell.model.ids import is_id
from workbell.model.job import name as check_name

RESERVED = frozenset({"pair", "pairings", "self"})  # paths of the API beside those of agents
_SESSION = re.compile(r"[A-Za-z0-9._:-]+\Z")


def agent_name(value: object) -> str:
    """A usable name: it stands in URLs, and a target must not be mistaken for a label or an id."""
    found = check_name("agent", value, InvalidOption)
    if found in RESERVED or "/" in found or found.startswith(LABEL) or is_id(found):
        raise InvalidOption(
            f"agent {found[:40]!r}: this name cannot be used; choose one without a slash, that does not begin with "
            f"{LABEL!r} and is none of {', '.join(sorted(RESERVED))}."
        )
    return found


def agent_labels(values: object) -> tuple[str, ...]:
    """Usable labels, each once and sorted."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidOption(f'labels: expected a list of words such as ["gpu"], got {type(values).__name__}.')
    found = tuple(sorted({check_name("label", value, InvalidOption) for value in values}))
    if len(found) > MOST_LABELS:
        raise InvalidOption(f"labels: {len(found)} are too many; an agent has {MOST_LABELS} at the most.")
    return found


def worker_name(agent_id: str, session: str | None) -> str:
    """Worker name of an agent's process. Two processes with one token have different sessions."""
    if session is None:
        return f"{prefix_of(agent_id)}-"
    if not isinstance(session, str) or len(session) > SESSION_LIMIT or not _SESSION.match(session):
        raise InvalidOption(
            f"session: use 1 to {SESSION_LIMIT} letters, digits, dots, colons and dashes, drawn anew at each start."
        )
    return f"{prefix_of(agent_id)}{session}"


def prefix_of(agent_id: str) -> str:
    return f"{HOLDER}{agent_id}/"
