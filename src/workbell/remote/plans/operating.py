"""Plans of verbs that operate: schedules, pauses, rounds of work, stored files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from io import BytesIO
from typing import Any, BinaryIO

from workbell.errors import InvalidOption
from workbell.handlers.files import check_name, check_type, chunks, reading
from workbell.model.clock import aware
from workbell.model.job import name
from workbell.model.one_shot import CONSUMED_RUNS, Consumed, Dispatched
from workbell.model.pause import Pause
from workbell.model.stored_file import StoredFile
from workbell.queues.message import VERSION, decode
from workbell.remote.asking import call_of
from workbell.remote.call import BinaryContent, Plan, RemoteCall
from workbell.wire import files, jobs, queues, rounds, schedules
from workbell.wire.operation import Operation

DISPATCH_WAIT = 60.0  # seconds beyond the usual: a round looks twice for workers that are gone
END_WAIT = 15.0  # seconds beyond those of the work: to hand back and to book


def pauses_pause(queue: str | None, job: str | None) -> Plan[Pause]:
    return (yield _of(queues.pause, jobs.pause, queue, job))


def pauses_resume(queue: str | None, job: str | None) -> Plan[int]:
    return (yield _of(queues.resume, jobs.resume, queue, job)).ended


def _of(of_queue: Operation[Any], of_job: Operation[Any], queue: str | None, job: str | None) -> RemoteCall[Any]:
    """The call for what is meant: a job, a queue, or a job in one queue."""
    for kind, value in (("queue", queue), ("job", job)):
        if value is not None:
            name(kind, value, InvalidOption)
    if queue is not None:
        return call_of(of_queue, queue, body={} if job is None else {"job": job})
    if job is not None:
        return call_of(of_job, job)
    verb = of_queue.name.rpartition(".")[2]
    raise InvalidOption(f"{verb}: of what? Give queue=, job=, or both for a job in one queue.")


def dispatch(limit: int | None) -> Plan[Dispatched]:
    return (yield call_of(rounds.dispatch, body={} if limit is None else {"limit": limit}, patience=DISPATCH_WAIT))


def consume(
    message: str | bytes | Mapping[str, Any] | None, runs: Sequence[str] | None, limit: int, seconds: float
) -> Plan[Consumed]:
    body: dict[str, Any] = {"seconds": seconds}
    if message is not None:
        body |= {"version": VERSION, "run": decode(message)}
    if runs is not None:
        body |= {"version": VERSION, "runs": [*runs]}
    if (message is None and runs is None) or limit != CONSUMED_RUNS:  # the service refuses one beside `runs`
        body["limit"] = limit
    return (yield call_of(rounds.consume, body=body, patience=seconds + END_WAIT))


def schedules_preview(name: str, n: int, after: datetime | None) -> Plan[Sequence[datetime]]:
    given = {"n": n, "after": None if after is None else aware("after", after)}
    return (yield call_of(schedules.preview, name, query=given)).items


def files_put(
    data: bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO,
    filename: str | None,
    content_type: str | None,
) -> Plan[StoredFile]:
    """Store a file. All of it is in memory while it is sent, and once more where an answer was lost."""
    chosen = check_name(filename, data)
    kind = check_type(content_type, chosen)
    with reading(data) as source:
        content = BinaryContent(b"".join(chunks(source)), kind)
    return (yield call_of(files.put, query={"filename": chosen}, body=content))


def files_open(file_id: str) -> Plan[BinaryIO]:
    return BytesIO((yield call_of(files.content, file_id)))
