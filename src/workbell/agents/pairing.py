"""Pairing: a single-use token, valid for minutes, is exchanged for an agent and its own token.

The agent cannot choose its labels, nor the name where the pairing fixes it. A fresh pairing for a name that exists
moves the agent to another machine: whatever the old one has is valid no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from workbell.access.secret_text import NewToken, hash_of, is_token, new_text
from workbell.access.verified import Verified
from workbell.agents.naming import agent_labels, agent_name
from workbell.errors import AgentExists, InvalidOption, Unauthorized
from workbell.model.access import Scope, Token, TokenKind
from workbell.model.agent import Agent
from workbell.model.clock import span
from workbell.model.ids import new_id
from workbell.model.json_text import clean_text
from workbell.model.pairing import PairingTerms, terms_of
from workbell.runs.runtime import Runtime
from workbell.stores.port import Store

EXPIRES = 900.0
SHORTEST, LONGEST = timedelta(seconds=60), timedelta(days=7)
USED = "The pairing token is not valid: it was used, has expired, or was never made; make a new one."


class Paired(NamedTuple):
    """An agent, and the text of its token: this once, and never again."""

    agent: Agent
    text: str

    def __repr__(self) -> str:
        return f"Paired({self.agent!r}, text=…)"


def new_pairing(
    runtime: Runtime,
    name: str | None,
    labels: Sequence[str],
    expires: float | timedelta,
    created_by: str,
) -> NewToken:
    """A token that pairs one agent of this tenant."""
    wait = span("expires", expires)
    if not SHORTEST <= wait <= LONGEST:
        raise InvalidOption(f"expires: a pairing token is good for 1 minute to 7 days, not for {wait}.")
    terms = PairingTerms(None if name is None else agent_name(name), agent_labels(labels) or None)
    now, text = runtime.store.clock.now(), new_text()
    token = Token(
        id=new_id(),
        hash=hash_of(text),
        created_at=now,
        tenant=runtime.tenant,
        kind=TokenKind.PAIRING,
        name=msgspec.json.encode(terms).decode(),
        created_by=clean_text(created_by, 200),
        expires_at=now + wait,
    )
    runtime.store.tokens.add(token)
    return NewToken(token, text)


def pair(
    store: Store,
    verified: Verified,
    text: str,
    name: str | None,
    labels: Sequence[str] | None,
    host: str,
    version: str,
) -> Paired:
    """Use up a pairing token. The request is checked first, so that a mistake does not cost the token."""
    now = store.clock.now()
    known = store.tokens.find(hash_of(text)) if is_token(text) else None
    if known is None or known.kind is not TokenKind.PAIRING or not known.is_valid(now):
        raise Unauthorized(USED)
    terms = terms_of(known)
    wanted = _wanted_name(terms, name)
    old = named(store, known.tenant, wanted)
    if old is not None and terms.agent is None:
        raise AgentExists(
            f"There is an agent {wanted!r} already; choose another name, or have a pairing token made for this name, "
            "which takes it over."
        )
    given = _given_labels(terms, old, labels)
    if store.tokens.redeem(known.hash, now) is None:
        raise Unauthorized(USED)
    agent = Agent(
        id=new_id() if old is None else old.id,
        name=wanted,
        created_at=now if old is None else old.created_at,
        tenant=known.tenant,
        labels=given,
        version=clean_text(version, 100),
        host=clean_text(host, 200),
        seen_at=now,
    )
    if not store.agents.put(agent):
        raise AgentExists(f"Another agent has just taken the name {wanted!r}; make a new pairing token for it.")
    if old is not None:
        end_tokens(store, verified, old, now)
    return Paired(agent, _own_token(store, agent, now))


def _own_token(store: Store, agent: Agent, now: datetime) -> str:
    text = new_text()
    store.tokens.add(
        Token(
            id=new_id(),
            hash=hash_of(text),
            created_at=now,
            tenant=agent.tenant,
            kind=TokenKind.AGENT,
            name=f"agent {agent.name}",
            scopes=(Scope.AGENT,),
            agent=agent.id,
        )
    )
    return text


def end_tokens(store: Store, verified: Verified, agent: Agent, now: datetime) -> None:
    """Let all tokens of an agent be valid no more."""
    while held := store.tokens.valid_of_agent(agent.id):
        store.tokens.revoke(held, now)
        for token_id in held:
            verified.forget(token_id)  # after the write: else a stale one could be read and cached again


def named(store: Store, tenant: str, name: str) -> Agent | None:
    """An agent by its name."""
    return next((agent for agent in store.agents.list(tenant) if agent.name == name), None)


def _wanted_name(terms: PairingTerms, requested: str | None) -> str:
    if terms.agent is None:
        if requested is None:
            raise InvalidOption("name: the pairing leaves the name open; say what the agent is called.")
        return agent_name(requested)
    if requested is not None and requested != terms.agent:
        raise InvalidOption(f"name: this pairing is for the agent {terms.agent!r}; leave the name out.")
    return terms.agent


def _given_labels(terms: PairingTerms, old: Agent | None, requested: Sequence[str] | None) -> tuple[str, ...]:
    """Labels of the pairing; without them those that the agent had, else none: they decide which runs it gets."""
    given = terms.labels or (() if old is None else old.labels)
    asked = () if requested is None else agent_labels(requested)
    if asked and asked != given:
        fixed = f"is for {', '.join(given)}" if given else "gives no labels"
        raise InvalidOption(f"labels: this pairing {fixed}; leave them out, or have a pairing made with those labels.")
    return given
