"""Queue message outside the store, as JSON: `{"version": 1, "run": "0198…"}`. Without a version it is 1."""

from __future__ import annotations

import msgspec

from workbell.errors import WorkbellError

VERSION = 1


class Message(msgspec.Struct, frozen=True):
    run: str
    version: int = VERSION


def encode(run: str) -> str:
    return msgspec.json.encode({"version": VERSION, "run": run}).decode()


def decode(text: str | bytes) -> str:
    """The id of the run that a message announces."""
    try:
        message = msgspec.json.decode(text, type=Message)
    except msgspec.DecodeError as error:
        raise WorkbellError(
            f"A message of the queue cannot be read: {error}; remove what others have sent there, and give Workbell a "
            "queue of its own."
        ) from error
    if message.version != VERSION:
        raise WorkbellError(
            f"A message of the queue has version {message.version}, and this Workbell reads {VERSION}; update Workbell "
            "on this machine."
        )
    return message.run
