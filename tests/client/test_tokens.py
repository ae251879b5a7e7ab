"""`bell.tokens`: made, shown once, listed, revoked, checked and redeemed (E6)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.features import Audit, Tenants, Tokens, hash_of, is_token, new_text
from tests.support.inside.stores import Store
from tests.support.inside.values import Settings, Token, TokenKind
from tests.support.inside.wire import TokenShown
from tests.support.waiting import until
from workbell import InvalidOption, Scope, TokenNotFound, Workbell
from workbell.testing import ManualClock


@pytest.fixture
def bell(clock: ManualClock) -> Iterator[Workbell]:
    made = Workbell(store=fresh_store(clock), settings=Settings())
    yield made
    made.runtime.close()


def test_a_token_and_its_text(bell: Workbell, clock: ManualClock) -> None:
    token, text = bell.tokens.create("grafana", scopes=["enqueue", "read", "read"], expires=60, created_by="ada")
    assert is_token(text)
    assert token == Token(
        id=token.id,
        hash=hash_of(text),
        created_at=clock.now(),
        name="grafana",
        scopes=(Scope.READ, Scope.ENQUEUE),
        created_by="ada",
        expires_at=clock.now() + timedelta(seconds=60),
    )
    assert bell.tokens.list() == [token] == [bell.tokens.get(token.id)] == [bell.tokens.check(text)]
    told = msgspec.to_builtins(TokenShown.of(token, clock.now()))
    assert told["valid"]
    assert text not in str(told)
    assert token.hash not in str(told)


def test_one_is_found_without_a_look_at_the_others(bell: Workbell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant may have thousands: of tickets alone."""
    token = bell.tokens.create("x").token
    theirs = bell.tokens.create("y", tenant="acme").token
    monkeypatch.setattr(bell.store.tokens, "list", None)
    assert bell.tokens.get(token.id) == token
    with pytest.raises(TokenNotFound):
        bell.tokens.get(theirs.id)


def test_until_its_end(bell: Workbell, clock: ManualClock) -> None:
    _, text = bell.tokens.create("x", expires=timedelta(seconds=10))
    later = bell.tokens.create("y", expires=clock.now() + timedelta(days=1)).text
    clock.advance(9.9)
    assert bell.tokens.check(text)
    assert bell.tokens.check(text, clock.now() + timedelta(seconds=1)) is None
    clock.advance(0.1)
    assert bell.tokens.check(text) is None
    assert bell.tokens.check(later)


def test_revoked(bell: Workbell, clock: ManualClock) -> None:
    token, text = bell.tokens.create("x")
    revoked = bell.tokens.revoke(token.id)
    assert revoked.revoked_at == clock.now()
    assert bell.tokens.check(text) is None
    clock.advance(5)
    assert bell.tokens.revoke(token.id) == revoked  # the first time counts
    assert bell.tokens.list() == [revoked]


def test_of_another_tenant(bell: Workbell) -> None:
    """A tenant knows its own tokens; those for every tenant are asked for by name."""
    theirs = bell.for_tenant("acme").tokens.create("x").token
    named = bell.tokens.create("y", tenant="acme").token
    every, text = bell.tokens.create("z", tenant="*", scopes=["admin"])
    assert bell.tokens.list() == []
    assert bell.for_tenant("acme").tokens.list() == [theirs, named] == bell.tokens.list(tenant="acme")
    assert bell.tokens.list(tenant="*") == [every]
    for unknown in (theirs.id, every.id, "x", text):
        for verb in (bell.tokens.get, bell.tokens.revoke):
            with pytest.raises(TokenNotFound, match="workbell tokens list") as error:
                verb(unknown)
            assert text not in str(error.value)
    assert bell.tokens.check(text) == every
    assert bell.tokens.revoke(every.id, tenant="*").revoked_at


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"scopes": []}, "user_id"),
        ({"scopes": ["agent", "read"]}, "agent"),
        ({"scopes": ["root"]}, "admin"),
        ({"scopes": "read"}, r'\["read"\]'),
        ({"user_id": -1}, "user_id"),
        ({"user_id": True}, "user_id"),
        ({"user_id": 2**63}, "user_id"),
        ({"expires": 0}, "future"),
        ({"expires": -5}, "expires"),
        ({"expires": float("nan")}, "expires"),
        ({"expires": datetime(2031, 1, 1)}, "time zone"),  # noqa: DTZ001
        ({"expires": ManualClock().now()}, "future"),
        ({"tenant": ""}, "tenant"),
        ({"tenant": " acme"}, "tenant"),
        ({"name": "x" * 300}, "name"),
        ({"name": "a\nb"}, "name"),
    ],
)
def test_what_cannot_be_made(asked: dict[str, Any], words: str, bell: Workbell) -> None:
    with pytest.raises(InvalidOption, match=words):
        bell.tokens.create(**asked)
    assert bell.tokens.list() == []


def test_for_one_person_s_notifications_alone(bell: Workbell) -> None:
    token = bell.tokens.create(scopes=[], user_id=7).token
    assert token.scopes == ()
    assert token.user_id == 7
    assert bell.tokens.create(scopes=["agent"]).token.scopes == (Scope.AGENT,)


def test_a_text_by_mistake_is_not_stored(bell: Workbell) -> None:
    """A token given as the name of another, or of who made it."""
    text = new_text()
    token = bell.tokens.create(f"like {text}", created_by=text).token
    assert text not in repr(token)


def test_redeemed_once(bell: Workbell, clock: ManualClock) -> None:
    token, text = bell.tokens.create(kind=TokenKind.TICKET, scopes=["read"], user_id=3, expires=30)
    assert bell.tokens.list() == []  # too many, and gone in a moment
    assert bell.tokens.redeem(text, TokenKind.LOGIN) is None  # a mix-up does not use it up
    assert bell.tokens.redeem(new_text(), TokenKind.TICKET) is None
    found = bell.tokens.redeem(text, TokenKind.TICKET)
    assert found is not None
    assert (found.id, found.user_id) == (token.id, 3)
    assert bell.tokens.redeem(text, TokenKind.TICKET) is None
    _, late = bell.tokens.create(kind=TokenKind.LOGIN, scopes=[], expires=30)
    clock.advance(30)
    assert bell.tokens.redeem(late, TokenKind.LOGIN) is None
    _, plain = bell.tokens.create("x")
    with pytest.raises(InvalidOption, match="not redeemed"):
        bell.tokens.redeem(plain, TokenKind.API)
    assert bell.tokens.check(plain)


def test_on_each_store(store: Store) -> None:
    bell = Workbell(store=store, settings=Settings())
    token, text = bell.tokens.create("x", scopes=["operate"], user_id=2**62, expires=3600, tenant="*", created_by="é")
    assert bell.tokens.check(text) == token == bell.tokens.get(token.id, tenant="*")
    assert bell.verified.check(text)
    until(lambda: bell.tokens.get(token.id, tenant="*").last_used_at is not None, "the use to be noted")
    bell.tokens.revoke(token.id, tenant="*")
    assert bell.verified.check(text) is None
    tenant = bell.tenants.put("acme", weight=3, rate="100/m")
    assert bell.tenants.list() == [tenant]
    entry = bell.audit.add("a.b", "c", actor="ada", detail={"n": [1, None]})
    assert bell.audit.list() == [entry]
    bell.runtime.close()


@pytest.mark.anyio
async def test_of_many_who_redeem_one_gets_it(sqlite_url: str) -> None:
    with Workbell(sqlite_url) as bell:
        _, text = await bell.tokens.acreate(kind=TokenKind.PAIRING, scopes=[], expires=60)
        found = await asyncio.gather(*(bell.tokens.aredeem(text, TokenKind.PAIRING) for _ in range(8)))
    assert len([token for token in found if token is not None]) == 1


def test_a_dump_has_no_usable_token(sqlite_url: str, tmp_path: Path) -> None:
    """Whoever gets hold of the whole database can act as nobody (S4)."""
    with Workbell(sqlite_url) as bell:
        made = [bell.tokens.create(f"token {number}", scopes=["admin"], tenant="*") for number in range(3)]
        made.append(bell.tokens.create(kind=TokenKind.LOGIN, scopes=["admin"], expires=60))
        bell.tokens.revoke(made[0].token.id, tenant="*")
        for new in made:
            bell.verified.check(new.text)
            bell.audit.add("tokens.create", new.text, actor=new.text, detail={"text": new.text, new.text: [new.text]})
    files = [file for file in tmp_path.iterdir() if file.name.startswith("workbell.db")]
    dump = b"".join(file.read_bytes() for file in files)
    assert made[1].token.hash.encode() in dump  # it is the right file
    for new in made:
        body = new.text[3:46]
        assert not any(body[place : place + 12].encode() in dump for place in range(32))
    with Workbell(sqlite_url) as bell:
        assert bell.tokens.check(made[1].text)
        assert bell.tokens.check(made[1].token.hash) is None


@pytest.mark.anyio
async def test_each_verb_has_its_twin(bell: Workbell) -> None:
    for kind in (Tokens, Tenants, Audit):
        plain = {name for name, value in vars(kind).items() if inspect.isfunction(value) and name[0] != "_"}
        verbs = {name for name in plain if not inspect.iscoroutinefunction(vars(kind)[name])}
        assert plain == verbs | {f"a{name}" for name in verbs}
        for name in verbs:
            assert inspect.signature(vars(kind)[name]) == inspect.signature(vars(kind)[f"a{name}"])
    token, text = await bell.tokens.acreate("x", scopes=["admin"], user_id=1, expires=60, created_by="ada")
    assert (token.scopes, token.user_id, token.created_by) == ((Scope.ADMIN,), 1, "ada")
    assert token.expires_at is not None
    assert [token] == await bell.tokens.alist() == [await bell.tokens.aget(token.id)]
    assert await bell.tokens.acheck(text) == token
    assert (await bell.tokens.arevoke(token.id)).revoked_at
    assert await bell.tokens.acheck(text) is None
