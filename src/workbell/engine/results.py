"""Results of handlers: a value over the limits fails the run, and its JSON is kept as a file, as the work was done and
may have been paid for."""

from __future__ import annotations

import socket
from pathlib import Path

from workbell.engine.work import Work
from workbell.errors import InvalidInput
from workbell.handlers.files import Storage
from workbell.model.outcome import Raised
from workbell.process.verb_threads import on_own_thread


def keep_result(work: Work, failure: Raised) -> Raised:
    """The failure of a return value; if it was too large, with the file that it was kept in."""
    return failure if failure.unstored is None else _kept(work, failure)


async def akeep_result(work: Work, failure: Raised) -> Raised:
    """The same on an event loop: a file is written in a thread."""
    return failure if failure.unstored is None else await on_own_thread("result", _kept, work, failure)


def _kept(work: Work, refused: Raised) -> Raised:
    """The failure, with the id of the file. It is in the storage of this machine, which may be an agent's."""
    run, folder = work.run, work.job.services.resources.storage
    assert refused.unstored is not None
    try:
        file = Storage(folder, tenant=run.tenant).put(refused.unstored, filename=f"result-{run.id}.json")
    except Exception as error:  # noqa: BLE001  whatever the disk says, the run must be booked
        words = f"{refused.error} It could not be kept as a file in {folder}: {error}."
        return Raised(InvalidInput(words), refused.reason, final=True)
    where = f"{Path(folder).absolute()} on {socket.gethostname()}"
    kept = f'Until you delete it, it is kept as file {file.id} in {where}: bell.files.open("{file.id}").'
    return Raised(InvalidInput(f"{refused.error} {kept}"), f"{refused.reason}; kept as file {file.id}", final=True)
