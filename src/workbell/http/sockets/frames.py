"""Messages of `/ws`: JSON, one object a frame."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from workbell.errors import InvalidOption
from workbell.model.run_filter import RunWords

FRAME_LIMIT = 64 * 1024  # bytes of what a client may send at once
CHUNK = 256 * 1024  # characters, above which changes are split into several frames

SubscriptionId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Topic(StrEnum):
    RUNS = "runs"
    RUN = "run"
    JOBS = "jobs"
    SCHEDULES = "schedules"
    EVENTS = "events"  # the newest 100; `pattern` chooses among them
    RELOADS = "reloads"  # reloads of job files: rows of GET /reloads, by their numbers
    NOTIFICATIONS = "notifications"


class Subscribe(RunWords, frozen=True, tag_field="type", tag="subscribe", forbid_unknown_fields=True, kw_only=True):
    """Subscribe to a topic, under an id that the client chooses. The other fields are the filter, as in GET /runs.

    The verb reads the statuses and the times, so that a refusal names the subscription.
    """

    id: SubscriptionId
    topic: Topic
    run: str | None = None  # for the topic `run`: which
    status: str | list[str] | None = None  # type: ignore[assignment]
    since: datetime | None = None
    until: datetime | None = None
    pattern: Annotated[str, msgspec.Meta(min_length=1, max_length=256)] | None = None  # for the topic `events`
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class Unsubscribe(msgspec.Struct, frozen=True, tag_field="type", tag="unsubscribe", forbid_unknown_fields=True):
    id: SubscriptionId


class Read(msgspec.Struct, frozen=True, tag_field="type", tag="read", forbid_unknown_fields=True):
    """Mark these notifications as read; without `ids`, all of them."""

    ids: Annotated[list[str], msgspec.Meta(max_length=1000)] | None = None


class Ping(msgspec.Struct, frozen=True, tag_field="type", tag="ping"):
    """Are you there?"""


ClientMessage = Subscribe | Unsubscribe | Read | Ping

_decoder = msgspec.json.Decoder(ClientMessage)
_encoder = msgspec.json.Encoder()


def decode(text: str | bytes) -> ClientMessage:
    """Decode a message of a client."""
    try:
        message: ClientMessage = _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InvalidOption(f"this is not a message of the protocol: {error}.") from None
    return message


def encode(value: Any) -> str:
    return _encoder.encode(value).decode()


CONNECTED = encode({"type": "connected"})
PONG = encode({"type": "pong"})


def subscribed(name: str) -> str:
    return encode({"type": "subscribed", "id": name})


def unsubscribed(name: str) -> str:
    return encode({"type": "unsubscribed", "id": name})


def was_read(count: int) -> str:
    return encode({"type": "read", "count": count})


def refused(code: str, message: str, name: str | None = None) -> str:
    about = {} if name is None else {"id": name}
    return encode({"type": "error", **about, "code": code, "message": message})


def beginning(name: str) -> str:
    """Start of every `changes` frame of a subscription; the rest is shared by all that get the same changes."""
    return f'{{"type":"changes","id":{encode(name)},'


SAME = "same"  # of a cursor that did not change


def body(
    items: list[str], removed: list[str] | None = None, logs: list[str] | None = None, following: str | None = SAME
) -> str:
    """Rest of a `changes` frame, from encoded items: built once for all subscriptions that get it."""
    more = f',"logs":[{",".join(logs)}]' if logs else ""
    more += f',"next":{encode(following)}' if following != SAME else ""
    return f'"items":[{",".join(items)}],"removed":{encode(removed or [])}{more}}}'
