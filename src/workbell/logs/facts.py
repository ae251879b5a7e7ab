"""Facts of a log line: fields with the same names in every line, in one order."""

from __future__ import annotations

import logging
from typing import Any

from workbell.logs.secrets import without_secrets
from workbell.model.error_text import class_path
from workbell.model.json_text import clean_text
from workbell.model.run import Run

RUN = ("run_id", "job", "queue", "attempt", "tenant", "worker_id")
TRACE = ("trace_id", "span_id")
ERROR = ("error.type", "error.message", "error.stack")
ORDER = (*RUN, *TRACE, "duration_s", "result", "reason", *ERROR)  # others follow by name

EVENT = "workbell_event"  # the message without what the facts say; a formatter that shows no facts needs it all
MESSAGE_LIMIT = 8_000
STACK_LIMIT = 16_000

# Everything that a record has of its own; what else is found in one was given as `extra`.
_OWN = {*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName", EVENT}
_formatter = logging.Formatter()


def run_facts(run: Run) -> dict[str, Any]:
    """The facts that every line about a run carries, as `extra`."""
    lane = run.lane
    return {
        "run_id": run.id,
        "job": lane.job,
        "queue": lane.queue,
        "attempt": run.attempt,
        "tenant": lane.tenant,
        "worker_id": run.worker,
    }


def facts_of(record: logging.LogRecord, constant: dict[str, Any]) -> dict[str, Any]:
    """What a record was given as `extra`, in a stable order; `constant` is what this process adds to every line."""
    carried = record.__dict__
    given = constant | {name: carried[name] for name in carried.keys() - _OWN if carried[name] is not None}
    if record.exc_info and EVENT not in carried:
        given |= _error_facts(record.exc_info[1])
    facts = {name: given[name] for name in ORDER if name in given}
    if len(facts) < len(given):
        facts |= {name: given[name] for name in sorted(given.keys() - facts.keys(), key=str)}
    return facts


def message_of(record: logging.LogRecord) -> str:
    """The message, cut and without secrets. One whose arguments do not fit is shown as it was given."""
    event = record.__dict__.get(EVENT)
    if event is not None:
        return str(event)
    try:
        text = record.getMessage()
    except Exception:  # noqa: BLE001  a line that was worth logging is worth showing
        text = f"{_text_of(record.msg)} {_text_of(record.args)}"
    return shown(text, MESSAGE_LIMIT)


def shown(text: str, limit: int) -> str:
    """A text that may be logged."""
    plain = len(text) <= limit and text.isascii() and text.isprintable()
    if plain and "://" not in text and "assword" not in text and "ASSWORD" not in text:
        return text  # almost always
    return clean_text(without_secrets(text), limit)


def stack_of(record: logging.LogRecord) -> str | None:
    """The traceback of a record's error, or the stack that it was asked to carry; of a run, the facts have it."""
    parts = []
    if record.exc_info and record.exc_info[0] is not None and EVENT not in record.__dict__:
        try:
            parts.append(_formatter.formatException(record.exc_info))
        except Exception:  # noqa: BLE001  errors of the application's own can fail in any way
            parts.append("(its traceback cannot be shown)")
    if record.stack_info:
        parts.append(record.stack_info)
    return shown("\n".join(parts), STACK_LIMIT) if parts else None


def _error_facts(error: BaseException | None) -> dict[str, str]:
    if error is None:
        return {}
    message = _text_of(error)
    return {"error.type": class_path(type(error)), **({"error.message": message} if message else {})}


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001  whatever it is, it is not ours to trust
        return f"({type(value).__name__} that cannot be shown)"
