"""How a server checks tokens: few looks into the store, and none that is too late."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import pytest

from tests.support.waiting import until
from workbell import Workbell
from workbell.access import verified
from workbell.access.secret_text import new_text
from workbell.errors import StoreUnavailable
from workbell.model.access import Token, TokenKind
from workbell.model.clock import ManualClock
from workbell.stores.sqlite.store import SqliteStore


class Counted:
    """How often the store was asked for a token."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._find = store.tokens.find
        monkeypatch.setattr(store.tokens, "find", self.find)

    def find(self, token_hash: str) -> Token | None:
        self.count += 1
        return self._find(token_hash)


@pytest.fixture
def looks(shared_store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(shared_store, monkeypatch)


def test_an_answer_is_good_for_a_second(bell: Workbell, clock: ManualClock, looks: Counted) -> None:
    token, text = bell.tokens.create("x")
    for _ in range(50):
        found = bell.verified.check(text)
        assert found is not None
        assert found.id == token.id
    assert looks.count == 1
    clock.advance(0.999)
    bell.verified.check(text)
    assert looks.count == 1
    clock.advance(0.001)
    bell.verified.check(text)
    assert looks.count == 2


def test_a_guess_costs_one_look(bell: Workbell, clock: ManualClock, looks: Counted) -> None:
    guess = new_text()
    for _ in range(50):
        assert bell.verified.check(guess) is None
    assert looks.count == 1
    for wrong in ("", "wb_", "x" * 52, guess[:-1] + ("a" if guess[-1] != "a" else "b")):
        assert bell.verified.check(wrong) is None
    assert looks.count == 1  # what has not even the form costs none


def test_guesses_are_not_kept_without_end(bell: Workbell, looks: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """And they push out no valid one."""
    monkeypatch.setattr(verified, "MOST", 5)
    _, text = bell.tokens.create("x")
    assert bell.verified.check(text)
    guesses = [new_text() for _ in range(20)]
    for guess in guesses:
        assert bell.verified.check(guess) is None
    assert len(bell.verified._invalid) == 5
    asked = looks.count
    assert bell.verified.check(text)
    assert bell.verified.check(guesses[-1]) is None
    assert looks.count == asked
    for _ in range(20):
        assert bell.verified.check(bell.tokens.create("x").text)
    assert len(bell.verified._valid) == 5
    assert len(bell.verified._noted) == 5


def test_revoked_here_at_once_elsewhere_within_a_second(
    bell: Workbell, elsewhere: Workbell, clock: ManualClock
) -> None:
    token, text = bell.tokens.create("x")
    assert bell.verified.check(text)
    assert elsewhere.verified.check(text)
    bell.tokens.revoke(token.id)
    assert bell.verified.check(text) is None
    assert elsewhere.verified.check(text)  # it cannot know yet
    clock.advance(1)
    assert elsewhere.verified.check(text) is None


def test_revoked_with_the_verbs_of_another_client(bell: Workbell) -> None:
    """All clients of a process have the same memory."""
    other = bell.for_tenant("acme")
    token, text = other.tokens.create("x")
    assert bell.verified.check(text)
    other.tokens.revoke(token.id)
    assert bell.verified.check(text) is None


def test_what_was_read_before_it_was_revoked_is_not_kept(
    bell: Workbell, shared_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer of the store was on its way when the token was revoked, and arrives afterwards."""
    token, text = bell.tokens.create("x")
    find = shared_store.tokens.find

    def slow(token_hash: str) -> Token | None:
        found = find(token_hash)
        monkeypatch.setattr(shared_store.tokens, "find", find)
        bell.tokens.revoke(token.id)
        return found

    monkeypatch.setattr(shared_store.tokens, "find", slow)
    bell.verified.check(text)
    assert bell.verified.check(text) is None


def test_nothing_is_remembered_beyond_its_end(bell: Workbell, clock: ManualClock, looks: Counted) -> None:
    _, text = bell.tokens.create("x", expires=0.5)
    assert bell.verified.check(text)
    clock.advance(0.5)
    assert bell.verified.check(text) is None
    assert looks.count == 1


@pytest.mark.parametrize("kind", [TokenKind.LOGIN, TokenKind.TICKET, TokenKind.PAIRING])
def test_what_is_to_be_redeemed_lets_nobody_in(kind: TokenKind, bell: Workbell) -> None:
    _, text = bell.tokens.create(kind=kind, scopes=["admin"], expires=60)
    assert bell.verified.check(text) is None
    assert bell.tokens.check(text) is None
    assert bell.tokens.redeem(text, kind)  # and was not used up by that


@pytest.mark.anyio
async def test_async_code_asks_the_store_on_a_thread(
    bell: Workbell, shared_store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, text = bell.tokens.create("x")
    threads: list[threading.Thread] = []
    find = shared_store.tokens.find

    def on_which_thread(token_hash: str) -> Token | None:
        threads.append(threading.current_thread())
        return find(token_hash)

    monkeypatch.setattr(shared_store.tokens, "find", on_which_thread)
    for _ in range(3):
        found = await bell.verified.acheck(text)
        assert found is not None
        assert found.id == token.id
    assert await bell.verified.acheck("x") is None
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


# The last use


class Seen:
    """What was noted of tokens."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[list[str]] = []
        self.may_go = threading.Event()
        self.may_go.set()
        self.writing = threading.Event()
        self.fails = False
        self._see = store.tokens.see
        monkeypatch.setattr(store.tokens, "see", self.see)

    def see(self, ids: list[str], now: datetime) -> None:
        self.writing.set()
        assert self.may_go.wait(30)
        self.batches.append(ids)
        if self.fails:
            raise StoreUnavailable("away")
        self._see(ids, now)


@pytest.fixture
def seen(shared_store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(shared_store, monkeypatch)


def is_quiet(bell: Workbell) -> bool:
    return not bell.verified._noting


def test_the_last_use_is_noted_once_a_minute(bell: Workbell, clock: ManualClock, seen: Seen) -> None:
    token, text = bell.tokens.create("x")
    for _ in range(3):
        bell.verified.check(text)
        until(lambda: is_quiet(bell))
    for _ in range(59):
        bell.verified.check(text)
        clock.advance(1)
    until(lambda: is_quiet(bell))
    assert seen.batches == [[token.id]]
    clock.advance(1)
    bell.verified.check(text)
    until(lambda: is_quiet(bell))
    assert seen.batches == [[token.id]] * 2
    assert bell.tokens.get(token.id).last_used_at == clock.now()


def test_what_another_process_noted_is_not_noted_again(
    bell: Workbell, elsewhere: Workbell, clock: ManualClock, seen: Seen
) -> None:
    _, text = bell.tokens.create("x")
    bell.verified.check(text)
    until(lambda: is_quiet(bell))
    clock.advance(2)
    elsewhere.verified.check(text)
    assert is_quiet(elsewhere)
    assert len(seen.batches) == 1


def test_uses_while_one_is_written_are_one_batch(bell: Workbell, seen: Seen) -> None:
    """And nobody waits for it."""
    made = [bell.tokens.create(str(number)) for number in range(6)]
    seen.may_go.clear()
    bell.verified.check(made[0].text)
    assert seen.writing.wait(30)
    for new in made[1:]:
        assert bell.verified.check(new.text)
    seen.may_go.set()
    until(lambda: is_quiet(bell))
    assert seen.batches == [[made[0].token.id], sorted(new.token.id for new in made[1:])]


def test_a_use_that_cannot_be_noted_hinders_nothing(bell: Workbell, clock: ManualClock, seen: Seen) -> None:
    token, text = bell.tokens.create("x")
    seen.fails = True
    assert bell.verified.check(text)
    until(lambda: is_quiet(bell))
    seen.fails = False
    clock.advance(minutes=1)
    assert bell.verified.check(text)
    until(lambda: is_quiet(bell))
    assert bell.tokens.get(token.id).last_used_at == clock.now()


def test_a_closed_one_still_answers(shared_store: SqliteStore) -> None:
    from workbell.settings import Settings

    bell = Workbell(store=shared_store, settings=Settings())
    _, text = bell.tokens.create("x")
    bell.runtime.close()
    assert bell.verified.check(text)
    assert is_quiet(bell)


def test_many_threads(bell: Workbell, clock: ManualClock) -> None:
    """Whatever they do at once, a revoked token is not let in afterwards."""
    made = [bell.tokens.create(str(number), expires=timedelta(hours=1)) for number in range(4)]
    wrong: list[str] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            for new in made:
                bell.verified.check(new.text)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for new in made:
        bell.tokens.revoke(new.token.id)
        wrong += [new.token.id for _ in range(200) if bell.verified.check(new.text) is not None]
    ended.set()
    for thread in threads:
        thread.join()
    assert wrong == []
