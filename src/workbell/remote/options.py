"""Encodes options as JSON: times with their zone, spans in seconds; invalid ones are refused here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, NoReturn

import msgspec

from workbell.errors import InvalidInput, InvalidOption
from workbell.model.clock import aware, seconds
from workbell.model.ids import new_id
from workbell.model.job import name
from workbell.model.json_text import check_finite, encode
from workbell.model.request import EnqueueOptions, check_names
from workbell.model.retry import read_retry

SPANS = frozenset("delay expires key_for timeout auto_reschedule remove_delay every jitter".split())
JOBS = frozenset({"job", "handler"})  # by name, or as the declared function
PAGE_RUNS, PAGE_BYTES = 1000, 4 * 1024 * 1024  # of one request: the service takes so many runs, and 8 MiB
KEYED_RUNS, KEYED_BYTES = 100, 100 * 1024  # where there are keys, the service remembers its answer: up to 1 MiB


class RemoteRequest(NamedTuple):
    """A run that is asked for, ready to be sent by `enqueue_many`. Only the service can check all of it."""

    body: msgspec.Raw
    tenant: str | None = None
    keyed: bool = False


def request(job: object, input: dict[str, Any] | None, options: EnqueueOptions) -> RemoteRequest:
    """A request for a run, checked as far as that is possible from here."""
    check_names(options)
    if options.get("connection") is not None:
        no_connection()
    job_name = name_of_job(job)
    if input is not None and not isinstance(input, dict):
        raise InvalidInput(f"job {job_name}: the input must be a dict of arguments, got {type(input).__name__}.")
    fields: dict[str, Any] = {"job": job_name}
    if input:
        fields["input"] = msgspec.Raw(encode(f"job {job_name}: the input", input).encode())
    for word, value in options.items():
        if word not in ("tenant", "connection"):
            fields[word] = as_json(word, value)
    tenant = options.get("tenant")
    return RemoteRequest(
        msgspec.Raw(_encoded(f"job {job_name}: an option", fields)),
        None if tenant is None else name("tenant", tenant, InvalidOption),
        options.get("key") is not None,
    )


def with_id(body: msgspec.Raw) -> msgspec.Raw:
    """The body of a request for a run, with a new id for that run."""
    return msgspec.Raw(b'{"id":"%s",%s' % (new_id().encode(), bytes(body)[1:]))


def name_of_job(job: object) -> str:
    """The name of a job, given as text or as the declared function."""
    return name("job", job if isinstance(job, str) else getattr(job, "name", job))


def as_json(word: str, value: Any) -> Any:
    """One option as JSON."""
    if isinstance(value, datetime):
        return aware(word, value)
    if isinstance(value, timedelta) or (word in SPANS and value is not None):
        return seconds(word, value)
    if word == "retry" and value is not None:
        return msgspec.structs.asdict(read_retry(value))
    if word in JOBS and value is not None:
        return name_of_job(value)
    return value


def body(what: str, given: Mapping[str, Any]) -> msgspec.Raw:
    """Options as a JSON body."""
    return msgspec.Raw(_encoded(what, {word: as_json(word, value) for word, value in given.items()}))


def pages(requests: Sequence[RemoteRequest]) -> Iterator[Sequence[RemoteRequest]]:
    """Requests in pages that the service takes: of one tenant each, not too many, not too large."""
    keyed = any(one.keyed for one in requests)
    most, largest = (KEYED_RUNS, KEYED_BYTES) if keyed else (PAGE_RUNS, PAGE_BYTES)
    start = size = 0
    for index, one in enumerate(requests):
        length = len(bytes(one.body)) + 1
        full = index - start >= most or size + length > largest
        if index > start and (full or one.tenant != requests[start].tenant):
            yield requests[start:index]
            start, size = index, 0
        size += length
    if start < len(requests):
        yield requests[start:]


def no_connection() -> NoReturn:
    raise InvalidOption(
        "connection: over HTTP the service writes, in a transaction of its own, and cannot share yours; use "
        "Workbell(url) where the database can be reached, or a key= that makes it safe to ask again."
    )


def _encoded(what: str, value: Any) -> bytes:
    try:
        found = msgspec.json.encode(value)
        if b"null" in found:
            check_finite(what, value)
        return found
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise InvalidOption(f"{what} cannot be written as JSON: {error}.") from None
