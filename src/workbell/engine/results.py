"""Results of handlers: a value over the limits fails the run, and its JSON is kept as a file, as the work was done and
may have been paid for."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from workbell.engine.work import Work
from workbell.errors import InvalidPayload
from workbell.handlers.files import Storage
from workbell.model.outcome import Outcome, Raised, read_return
from workbell.process.verb_threads import on_own_thread


def read_result(work: Work, value: Any) -> Outcome:
    """A handler's return value as an outcome."""
    outcome = read_return(value)
    return outcome if not isinstance(outcome, Raised) or outcome.unstored is None else _kept(work, outcome)


async def aread_result(work: Work, value: Any) -> Outcome:
    """The same on an event loop: a file is written in a thread."""
    outcome = read_return(value)
    if not isinstance(outcome, Raised) or outcome.unstored is None:
        return outcome
    return await on_own_thread("result", _kept, work, outcome)


def _kept(work: Work, refused: Raised) -> Raised:
    """The failure, with the id of the file. It is in the storage of this machine, which may be an agent's."""
    run, folder = work.run, work.job.services.resources.storage
    assert refused.unstored is not None
    try:
        file = Storage(folder, tenant=run.tenant).put(refused.unstored, filename=f"result-{run.id}.json")
    except Exception as error:  # noqa: BLE001  whatever the disk says, the run must be booked
        words = f"{refused.error} It could not be kept as a file in {folder}: {error}."
        return Raised(InvalidPayload(words), refused.reason, final=True)
    where = f"{Path(folder).absolute()} on {socket.gethostname()}"
    kept = f'Until you delete it, it is kept as file {file.id} in {where}: bell.files.open("{file.id}").'
    return Raised(InvalidPayload(f"{refused.error} {kept}"), f"{refused.reason}; kept as file {file.id}", final=True)
