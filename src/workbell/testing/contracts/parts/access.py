"""Contract of tokens, tenants, the audit log and idempotency keys."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from workbell.model.access import EVERY_TENANT, Scope, Token, TokenKind
from workbell.model.audit import AuditEntry
from workbell.model.idempotency import Remembered
from workbell.model.ids import new_id
from workbell.model.tenant import Tenant
from workbell.stores.port import Store
from workbell.testing.contracts.core.sharing import THREADS, at_once
from workbell.testing.contracts.core.texts import NASTY
from workbell.testing.contracts.making import KEEP, START, add, after, request

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
ODD = "".join(text for name, text in NASTY.items() if name != "long")
AUDIT_OVER = START + KEEP.audit


def token(*, at: float = 0, **fields: Any) -> Token:
    token_id = new_id()
    given: dict[str, Any] = {"id": token_id, "hash": f"hash of {token_id}", "created_at": after(at)}
    return Token(**(given | fields))


def full_token() -> Token:
    return token(
        tenant="acme",
        kind=TokenKind.AGENT,
        name="the shop's",
        scopes=(Scope.READ, Scope.AGENT),
        user_id="0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
        agent=new_id(),
        created_by="ada",
        expires_at=after(60),
        revoked_at=after(1.5),
        last_used_at=after(1),
    )


def added(store: Store, *tokens: Token) -> list[Token]:
    for one in tokens:
        store.tokens.add(one)
    return list(tokens)


def tenant(name: str = "acme", **fields: Any) -> Tenant:
    given: dict[str, Any] = {"name": name, "created_at": START, "updated_at": START}
    return Tenant(**(given | fields))


def entry(*, at: float = 0, **fields: Any) -> AuditEntry:
    given: dict[str, Any] = {
        "id": new_id(),
        "tenant": "default",
        "at": after(at),
        "actor": "ada",
        "action": "runs.cancel",
    }
    return AuditEntry(**(given | fields))


def full_entry() -> AuditEntry:
    return entry(tenant="acme", subject=new_id(), detail_text='{"reason":"it\'s late"}', address="::1")


def logged(store: Store, wanted: str | None = "default", before: str | None = None, limit: int = 100) -> list[str]:
    return [one.id for one in store.audit.list(wanted, before=before, limit=limit)]


def remembered(key: str = "k", *, at: float = 0, fingerprint: str = "f", **fields: Any) -> Remembered:
    given: dict[str, Any] = {"tenant": "default", "key": key, "fingerprint": fingerprint, "created_at": after(at)}
    return Remembered(**(given | {"until": after(at + 60)} | fields))


class AccessContract:
    # Tokens

    def test_a_token_is_found_by_its_hash(self, store: Store) -> None:
        """Also one that has been revoked, by nobody else's hash, and with all that was said of it."""
        plain, full = added(store, token(name=ODD), full_token())
        assert store.tokens.find(plain.hash) == plain
        assert store.tokens.find(full.hash) == full
        assert store.tokens.find(plain.id) is None

    def test_tokens_are_found_by_their_ids(self, store: Store) -> None:
        """Those of any tenant, also revoked ones, and none besides."""
        plain, full, _other = added(store, token(name=ODD), full_token(), token())
        assert store.tokens.with_ids([full.id, plain.id, new_id(), plain.id]) == {plain.id: plain, full.id: full}
        assert store.tokens.with_ids([new_id()]) == {}
        assert store.tokens.with_ids([]) == {}

    def test_tokens_of_a_tenant_are_listed_in_pages(self, store: Store) -> None:
        """By id, which begins with the time."""
        made = added(store, *[token() for _ in range(5)], token(tenant="acme"))
        *ours, other = sorted(made[:5], key=lambda one: one.id) + made[5:]
        assert store.tokens.list("default") == ours
        assert store.tokens.list("default", limit=2) == ours[:2]
        assert store.tokens.list("default", after=ours[1].id, limit=2) == ours[2:4]
        assert store.tokens.list("default", after=ours[4].id) == []
        assert store.tokens.list("acme") == [other]
        assert [*store.tokens.every("default", after=ours[0].id)] == ours[1:]

    def test_the_valid_tokens_of_an_agent(self, store: Store) -> None:
        agent = new_id()
        one, other, *_ = added(store, token(agent=agent), token(agent=agent), token(agent=agent, revoked_at=START))
        added(store, token(agent=new_id()), token())
        assert {*store.tokens.valid_of_agent(agent)} == {one.id, other.id}
        assert len(store.tokens.valid_of_agent(agent, limit=1)) == 1
        store.tokens.revoke([one.id, other.id], after(1))
        assert store.tokens.valid_of_agent(agent) == []

    def test_a_token_is_redeemed_once(self, store: Store) -> None:
        """For the one who redeems it, it is still valid."""
        (ticket,) = added(store, token(kind=TokenKind.TICKET, expires_at=after(60)))
        assert store.tokens.redeem(ticket.hash, after(5)) == replace(ticket, last_used_at=after(5))
        assert store.tokens.redeem(ticket.hash, after(6)) is None
        assert store.tokens.find(ticket.hash) == replace(ticket, last_used_at=after(5), revoked_at=after(5))

    def test_only_a_valid_token_is_redeemed(self, store: Store) -> None:
        expired, revoked, lasting = added(
            store, token(expires_at=after(5)), token(revoked_at=after(1)), token(kind=TokenKind.PAIRING)
        )
        assert store.tokens.redeem(expired.hash, after(5)) is None
        assert store.tokens.redeem(revoked.hash, after(5)) is None
        assert store.tokens.redeem("unknown", after(5)) is None
        assert store.tokens.list("default") == sorted([expired, revoked, lasting], key=lambda one: one.id)
        assert store.tokens.redeem(lasting.hash, after(9999)) is not None

    def test_of_many_who_redeem_at_once_one_does(self, store: Store) -> None:
        tickets = added(store, *[token(kind=TokenKind.TICKET, expires_at=after(60)) for _ in range(5)])
        found = at_once(lambda number: [store.tokens.redeem(ticket.hash, after(number)) for ticket in tickets])
        for index, ticket in enumerate(tickets):
            winners = [number for number in range(THREADS) if found[number][index] is not None]
            assert len(winners) == 1
            stored = store.tokens.find(ticket.hash)
            assert stored is not None
            assert stored.revoked_at == after(winners[0])

    def test_tokens_are_revoked_once(self, store: Store) -> None:
        one, other, valid = added(store, token(), token(), token())
        assert store.tokens.revoke([one.id], after(1)) == {one.id}
        assert store.tokens.revoke([one.id, other.id, new_id()], after(2)) == {other.id}
        assert store.tokens.revoke([], after(3)) == set()
        revoked = {found.id: found.revoked_at for found in store.tokens.list("default")}
        assert revoked == {one.id: after(1), other.id: after(2), valid.id: None}

    def test_the_last_use_of_a_token_never_goes_back(self, store: Store) -> None:
        used, unused = added(store, token(), token())
        store.tokens.see([used.id], after(5))
        store.tokens.see([used.id], after(3))
        store.tokens.see([], after(9))
        assert store.tokens.find(used.hash) == replace(used, last_used_at=after(5))
        assert store.tokens.find(unused.hash) == unused

    def test_tokens_go_some_time_after_their_end(self, store: Store) -> None:
        """Those that people made are shown for a month; of tickets there are too many to keep them for a day."""
        ended: dict[str, Any] = {"expires_at": START, "revoked_at": None}
        revoked: dict[str, Any] = {"expires_at": START + 99 * DAY, "revoked_at": START}
        brief = [token(kind=kind, **end) for kind in set(TokenKind) for end in (ended, revoked)]
        lasting = [one for one in brief if one.kind in (TokenKind.API, TokenKind.AGENT)]
        (valid,) = added(store, token(kind=TokenKind.SESSION, expires_at=START + 99 * DAY), *brief)[:1]
        assert store.prune(START + 59 * SECOND, 100) == 0
        assert store.prune(START + 60 * SECOND, 100) == 2
        assert TokenKind.TICKET not in {one.kind for one in store.tokens.list("default")}
        assert store.prune(START + DAY - SECOND, 100) == 0
        assert store.prune(START + DAY, 2) == 4
        assert store.prune(START + DAY, 2) == 2
        assert {one.id for one in store.tokens.list("default")} == {valid.id, *(one.id for one in lasting)}
        assert store.prune(START + 30 * DAY - SECOND, 100) == 0
        assert store.prune(START + 30 * DAY, 100) == 4
        assert store.tokens.list("default") == [valid]

    # Tenants

    def test_what_is_set_for_a_tenant(self, store: Store) -> None:
        """Its beginning stays."""
        store.tenants.put(tenant("b"))
        store.tenants.put(tenant("a", description=ODD, weight=7, concurrency=3, rate="10/s"))
        changed = tenant("b", created_at=after(9), updated_at=after(9), weight=2, rate="1/m")
        store.tenants.put(changed)
        full = tenant("a", description=ODD, weight=7, concurrency=3, rate="10/s")
        assert store.tenants.list() == [full, replace(changed, created_at=START)]
        assert store.tenants.delete("b")
        assert not store.tenants.delete("b")
        assert store.tenants.list() == [full]

    def test_every_tenant_that_there_is_a_trace_of_is_known(self, store: Store) -> None:
        """`*` is none."""
        assert store.tenants.known() == []
        add(store, request(tenant="runs"), request(tenant="runs", queue="x"), request(tenant="a", lane_key="7"))
        added(store, token(tenant="tokens"), token(tenant=EVERY_TENANT), token(tenant="b", revoked_at=START))
        store.tenants.put(tenant("set"))
        store.tenants.put(tenant("runs"))
        assert store.tenants.known() == ["a", "b", "runs", "set", "tokens"]
        assert [name for name in ("a", "b", "runs", "set", "tokens", "c") if store.tenants.is_known(name)] == [
            *store.tenants.known()
        ]

    def test_known_tenants_come_in_pages(self, store: Store) -> None:
        add(store, *[request(tenant=name, queue=queue) for name in "bdf" for queue in "xyz"])
        added(store, token(tenant="a"), token(tenant="d"), token(tenant="e"), token(tenant=EVERY_TENANT))
        store.tenants.put(tenant("c"))
        assert [store.tenants.known(limit=count) for count in (1, 2, 5)] == [["a"], ["a", "b"], [*"abcde"]]
        assert store.tenants.known(after="b", limit=3) == [*"cde"]
        assert store.tenants.known(after="bb", limit=9) == [*"cdef"]
        assert store.tenants.known(after="f") == []

    def test_settings_of_some_tenants(self, store: Store) -> None:
        one, other = tenant("a", weight=2), tenant("b")
        store.tenants.put(one)
        store.tenants.put(other)
        assert store.tenants.find(["a", "c"]) == {"a": one}
        assert store.tenants.find([]) == {}

    # The audit log

    def test_the_audit_log_is_read_backwards(self, store: Store) -> None:
        first, second, third, other = entries = [entry(), entry(actor=ODD), entry(), full_entry()]
        store.audit.add(entries[:3])
        store.audit.add([])
        store.audit.add([other])
        assert store.audit.list("default", before=None, limit=9) == [third, second, first]
        assert store.audit.list("acme", before=None, limit=9) == [other]
        assert logged(store, None) == [other.id, third.id, second.id, first.id]
        assert logged(store, "default", limit=2) == [third.id, second.id]
        assert logged(store, "default", before=second.id) == [first.id]
        assert logged(store, None, before=third.id, limit=1) == [second.id]

    def test_audit_entries_go_when_their_time_is_over(self, store: Store) -> None:
        late, early, middle = entries = [entry(at=2), entry(at=0), entry(at=1)]
        store.audit.add(entries)
        assert store.prune(AUDIT_OVER - SECOND, 9) == 0
        assert store.prune(AUDIT_OVER, 9) == 1
        assert early.id not in logged(store)
        assert store.prune(AUDIT_OVER + 9 * SECOND, 1) == 1
        assert logged(store) == [late.id]
        assert middle.id not in logged(store)

    # Idempotency keys

    def test_a_key_is_taken_once(self, store: Store) -> None:
        """Then every caller gets the stored entry, also for another fingerprint."""
        mine = remembered()
        assert store.answers.take(mine) is None
        assert store.answers.take(remembered(at=1)) == mine
        assert store.answers.take(remembered(at=1, fingerprint="other")) == mine
        assert store.answers.take(remembered(at=1, tenant="acme")) is None
        answered = replace(mine, status=201, body=ODD, until=after(900))
        store.answers.put(answered)
        assert store.answers.take(remembered(at=60)) == answered

    def test_an_answer_is_given_once_and_by_who_took_the_key(self, store: Store) -> None:
        mine = remembered()
        store.answers.put(replace(mine, status=200))
        assert store.answers.take(mine) is None
        store.answers.put(replace(mine, fingerprint="other", status=200))
        assert store.answers.take(mine) == mine
        store.answers.put(replace(mine, status=201, body="1"))
        store.answers.put(replace(mine, status=500, body="2"))
        assert store.answers.take(mine) == replace(mine, status=201, body="1")

    def test_a_key_without_an_answer_can_be_let_go(self, store: Store) -> None:
        mine, done = remembered(), remembered("done")
        store.answers.take(mine)
        store.answers.take(done)
        store.answers.put(replace(done, status=201))
        for fingerprint in ("other", "f"):
            assert store.answers.take(remembered(at=1)) == mine
            store.answers.remove("default", "k", fingerprint)
        store.answers.remove("default", "done", "f")
        store.answers.remove("acme", "k", "f")
        assert store.answers.take(remembered(at=2)) is None
        assert store.answers.take(done) == replace(done, status=201)

    def test_a_key_is_free_again_when_its_time_is_over(self, store: Store) -> None:
        """Whatever became of the first request: its answer, if it comes at last, is nobody's."""
        first = remembered()
        store.answers.take(first)
        store.answers.put(replace(first, status=201))
        second = remembered(at=60, fingerprint="other")
        assert store.answers.take(remembered(at=59.999999)) is not None
        assert store.answers.take(second) is None
        store.answers.put(replace(first, status=201))
        assert store.answers.take(second) == second

    def test_of_many_who_take_a_key_at_once_one_gets_it(self, store: Store) -> None:
        """One that is new, and one whose time is over."""
        store.answers.take(remembered("old", at=-60, fingerprint="before"))
        for key in ("new", "old"):
            requests = [remembered(key, fingerprint=str(number)) for number in range(THREADS)]
            found = at_once(lambda number, requests=requests: store.answers.take(requests[number]))  # type: ignore[misc]
            (winner,) = (number for number in range(THREADS) if found[number] is None)
            assert {repr(answer) for answer in found} == {"None", repr(requests[winner])}

    def test_answers_go_when_their_time_is_over(self, store: Store) -> None:
        for number in range(3):
            store.answers.take(remembered(f"k{number}", at=number))
        assert store.prune(after(59), 9) == 0
        assert store.prune(after(61), 1) == 1
        assert store.prune(after(61), 9) == 1
        assert store.answers.take(remembered("k2", at=9)) == remembered("k2", at=2)
