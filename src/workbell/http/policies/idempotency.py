"""Idempotency keys: the first request with a key is executed; a repeat gets the same answer for a day.

The key is taken before the work, and the answer is stored after it. If the server dies between the two, nobody knows
whether the work was done: the key then refuses for `UNSURE` and is free again. Runs and events do not come this way:
there the key is written with what it makes, in one transaction (`routes/runs.py`, `routes/events.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from workbell.errors import InvalidOption, KeyReused, StoreUnavailable
from workbell.http.framework.answers import JsonResponse
from workbell.http.framework.call import ApiCall, header_of
from workbell.model.idempotency import Remembered
from workbell.model.users import UserId

ANSWER_TTL = timedelta(hours=24)
UNSURE = timedelta(seconds=60)
LONGEST = 180
MOST_STORED = 1024 * 1024  # of an answer: a run with the largest input and result fits
REPLAYED = "Idempotent-Replayed"
NO_STORE = {"Cache-Control": "no-store"}


class MadeOnce(NamedTuple):
    """A created resource without its secrets, as the answer is stored; and the fields that are shown this once."""

    shown: msgspec.Struct
    secret: Mapping[str, str]

    @property
    def whole(self) -> msgspec.Struct:
        return msgspec.structs.replace(self.shown, **self.secret)


def idempotency_key(request: Request) -> str | None:
    """The key that a request names, if it names one."""
    key = header_of(request.scope, b"idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= LONGEST or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidOption(f"Idempotency-Key: use 1 to {LONGEST} visible ASCII characters.")
    return key


def key_at(key: str, index: int) -> str:
    """The key of one of many that are made by a request."""
    found = f"{key}:{index}"
    return found if len(found) <= LONGEST else f"{hashlib.sha256(key.encode()).hexdigest()}:{index}"


def fingerprint_of(body: bytes, user: UserId | None) -> str:
    """The fingerprint of a JSON body: the same for the same value of the same person, in whatever order its fields were
    written."""
    with suppress(msgspec.DecodeError, TypeError, ValueError):  # what this parser does not take is compared as it is
        body = msgspec.json.encode(msgspec.json.decode(body), order="sorted")
    person = b"" if user is None else msgspec.json.encode(user)
    return hashlib.sha256(body + person).hexdigest()[:32]


async def answer_once(
    call: ApiCall, handle: Callable[[Request], Awaitable[Response]], key: str | None = None
) -> Response:
    """Execute a request whose key is new; else repeat the stored answer. The key is that of its header, or given."""
    request, store = call.request, call.client.store
    key = key or idempotency_key(request)
    assert key is not None
    now = store.clock.now()
    asked = Remembered(
        tenant=call.tenant,
        key=key,
        fingerprint=await _fingerprint(call),
        created_at=now,
        until=now + UNSURE,
    )
    known = await call.client.runtime.hop(store.answers.take, asked)
    if known is not None:
        return _again(known, asked)
    try:
        response = await handle(request)
    except StoreUnavailable:  # nor is it known whether that was written; and of who is cancelled, it may yet be
        raise
    except Exception:
        await call.client.runtime.hop(store.answers.remove, call.tenant, key, asked.fingerprint)
        raise
    if response.status_code >= 400 or len(response.body) > MOST_STORED:
        await call.client.runtime.hop(store.answers.remove, call.tenant, key, asked.fingerprint)
    else:
        body = bytes(response.body).decode()
        answered = msgspec.structs.replace(asked, until=now + ANSWER_TTL, status=response.status_code, body=body)
        await call.client.runtime.hop(store.answers.put, answered)
    return response


async def answer_secret(call: ApiCall, make: Callable[[], Awaitable[MadeOnce]], status: int = 201) -> Response:
    """Answer with a secret, this once: the answer that is stored for repeats does not have it."""
    if idempotency_key(call.request) is None:
        return JsonResponse((await make()).whole, status, NO_STORE)
    made: list[MadeOnce] = []

    async def without(_request: Request) -> Response:
        made.append(await make())
        return JsonResponse(made[0].shown, status, NO_STORE)

    repeated = await answer_once(call, without)
    return JsonResponse(made[0].whole, status, NO_STORE) if made else repeated


def _again(known: Remembered, asked: Remembered) -> Response:
    if known.fingerprint != asked.fingerprint:
        raise KeyReused(f"Idempotency-Key {asked.key!r} was used for another request; choose a new one.")
    if known.status is None:
        raise KeyReused(
            f"Idempotency-Key {asked.key!r}: the first request with it is being worked on, or its server died at it; "
            f"ask again in {UNSURE.total_seconds():g} s."
        )
    headers = {REPLAYED: "true"}
    if not known.body:
        return Response(status_code=known.status, headers=headers)
    return Response(known.body.encode(), known.status, headers, media_type="application/json")


async def _fingerprint(call: ApiCall) -> str:
    """The fingerprint of a request, in whatever order its parameters and fields were written."""
    request = call.request
    query: bytes = request.scope["query_string"]
    parts = [
        request.method.encode(),
        request.url.path.encode(),
        b"&".join(sorted(query.split(b"&"))),
        call.access.actor.encode(),
        fingerprint_of(await call.content(), call.access.user_id).encode(),
    ]
    return hashlib.sha256(b"\x00".join(parts)).hexdigest()
