"""What a worker and a process that it started for handlers tell each other: frozen, typed, sent as JSON over a pipe."""

from __future__ import annotations

import msgspec

from workbell.model.outcome import EndedOutcome, Failed, HandedBack, Later, Outcome, Raised, Returned, told
from workbell.model.run import Run
from workbell.notices.push_message import Broadcast, SendToUser


class Execute(msgspec.Struct, frozen=True, tag="execute"):
    """To the process: find this handler and call it for this run."""

    run: Run
    handler: str


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """From the process: it can be told what to execute."""


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """From the process: the job's code is loaded, and the handler is called now."""


Answer = Returned | EndedOutcome | Later | HandedBack | Failed
Message = Ready | Begun | Answer | SendToUser | Broadcast

READY = Ready()
BEGUN = Begun()

_encoder = msgspec.json.Encoder()
encode = _encoder.encode
decode_execute = msgspec.json.Decoder(Execute).decode
decode: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def answer_of(outcome: Outcome, *, limited_memory: bool = False) -> Answer:
    """An outcome as it can be sent: of an error its text and the names of its kinds."""
    if isinstance(outcome, Raised):
        if limited_memory and outcome.reason == "error" and isinstance(outcome.error, MemoryError):
            outcome = Raised(outcome.error, "memory", outcome.final)
        return told(outcome)
    assert isinstance(outcome, Answer)
    return outcome
