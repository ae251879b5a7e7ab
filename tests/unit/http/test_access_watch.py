"""Decisions about the access of open requests: what ends it, and what does not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from workbell.errors import Forbidden, Unauthorized
from workbell.http.policies.access_watch import LESS_ACCESS, SIGNED_OUT, TOKEN_ENDED, hook_end, says_no, token_end
from workbell.model.access import Access, Scope, access_of
from workbell.testing.contracts.making import START
from workbell.testing.contracts.parts.access import token

ADA = Access(scopes=frozenset({Scope.READ, Scope.ENQUEUE}), actor="ada", user_id=7)


def test_a_token_that_is_gone_revoked_or_over() -> None:
    plain, short = token(), token(expires_at=START + timedelta(seconds=5))
    known = {one.id: one for one in (plain, short)}
    for one in (plain, short):
        assert token_end(access_of(one), known, START) is None
        assert token_end(access_of(one), {}, START) == TOKEN_ENDED
        assert token_end(access_of(one), {one.id: replace(one, revoked_at=START)}, START) == TOKEN_ENDED
    later = START + timedelta(seconds=5)
    assert token_end(access_of(plain), known, later) is None
    assert token_end(access_of(short), known, later) == TOKEN_ENDED


def test_a_hook_that_says_no_or_less() -> None:
    assert hook_end(ADA, ADA) is None
    assert hook_end(ADA, None) == SIGNED_OUT
    for more in ({"scopes": ADA.scopes | {Scope.ADMIN}}, {"tenant": "*"}, {"actor": "Ada"}):
        assert hook_end(ADA, replace(ADA, **more)) is None
    for less in ({"scopes": frozenset({Scope.READ})}, {"tenant": "other"}, {"user_id": 8}):
        assert hook_end(ADA, replace(ADA, **less)) == LESS_ACCESS


@pytest.mark.parametrize(
    ("error", "is_no"),
    [
        (Unauthorized("who?"), True),
        (Forbidden("no"), True),
        (HTTPException(401), True),
        (HTTPException(403), True),
        (HTTPException(503), False),
        (TimeoutError(), False),
        (KeyError("user"), False),
    ],
)
def test_an_error_is_not_a_no(error: Exception, is_no: bool) -> None:
    assert says_no(error) is is_no
