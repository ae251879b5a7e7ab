"""Queue message outside the store, as JSON: `{"version": 1, "run": "0198…"}`. Without a version it is 1.

The message of Kumofire Jobs, `{"version": 1, "kumofireJobRunId": "01J…"}`, is read as well: what is in its queue when
its jobs move to Workbell is still executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from workbell.errors import UnknownMessage
from workbell.model.one_shot import VERSION as VERSION


class Message(msgspec.Struct, frozen=True):
    """A message as it was delivered. Fields that are not known are ignored."""

    run: str | None = None
    kumofire_run: str | None = msgspec.field(default=None, name="kumofireJobRunId")
    version: int = VERSION


def encode(run: str) -> str:
    return msgspec.json.encode({"version": VERSION, "run": run}).decode()


def decode(delivered: str | bytes | Mapping[str, Any]) -> str:
    """The id of the run that a message announces: a message as JSON, or as its fields."""
    try:
        if isinstance(delivered, Mapping):
            message = msgspec.convert(dict(delivered), Message)
        else:
            message = msgspec.json.decode(delivered, type=Message)
    except (msgspec.MsgspecError, UnicodeError, TypeError) as error:
        raise _unreadable(str(error)) from error
    check_version(message.version)
    run = message.run or message.kumofire_run
    if run is None:
        raise _unreadable("it names no `run`")
    return run


def check_version(version: int) -> None:
    """Refuse a message of a version that is not known here."""
    if version != VERSION:
        raise UnknownMessage(
            f"A message of the queue has version {version}, and this Workbell reads {VERSION}; update Workbell "
            "on this machine."
        )


def _unreadable(why: str) -> UnknownMessage:
    return UnknownMessage(
        f"A message of the queue cannot be read: {why}; remove what others have sent there, and give Workbell a "
        "queue of its own."
    )
