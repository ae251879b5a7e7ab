"""Messages between a worker and a handler process: frozen, typed, sent as JSON over a pipe."""

from __future__ import annotations

import msgspec

from workbell.model.outcome import EndedOutcome, Failed, HandedBack, Later, Outcome, Raised, Returned, failed_of
from workbell.model.run import Run
from workbell.notices.push_message import Broadcast, SendToUser


class Execute(msgspec.Struct, frozen=True, tag="execute"):
    """To the process: find this handler and call it for this run."""

    run: Run
    handler: str
    job: str | None = None  # whose code it is, if the run's job is a definition
    timeout: float | None = None  # of that definition


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """From the process: it is ready for a run."""


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
    """An outcome as it can be sent: an error becomes its text and the names of its types."""
    if isinstance(outcome, Raised):
        if limited_memory and outcome.reason == "error" and isinstance(outcome.error, MemoryError):
            outcome = Raised(outcome.error, "memory", outcome.final)
        return failed_of(outcome)
    assert isinstance(outcome, Answer)
    return outcome
