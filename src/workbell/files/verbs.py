"""The verbs about stored files: put, list, get, open, delete. Sync, and async with an `a`.

They are the files that jobs see as `ctx.storage`, in the folder that the setting `storage` names.
"""

from __future__ import annotations

import os
from typing import BinaryIO

from workbell.errors import InvalidOption, StoredFileNotFound
from workbell.handlers.files import Storage
from workbell.model.stored_file import StoredFile
from workbell.runs.runtime import Runtime, in_thread

PAGE = 1000


class Files:
    """The stored files of a tenant: `bell.files`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def _storage(self) -> Storage:
        runtime = self._runtime
        return Storage(runtime.registry.resources.storage, tenant=runtime.tenant, clock=runtime.store.clock)

    def put(
        self,
        data: bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO,
        *,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> StoredFile:
        """Store bytes, the file at a path, or the rest of a file object; synced to the disk when it returns.

        The name is stored, and never used as a path. The default is the name of the path.
        """
        return self._storage.put(data, filename=filename, content_type=content_type)

    aput = in_thread(put)

    def get(self, file_id: str) -> StoredFile:
        """A file's name, type, size and creation time."""
        found = self._storage.get(file_id)
        if found is None:
            raise _unknown(file_id)
        return found

    aget = in_thread(get)

    def open(self, file_id: str) -> BinaryIO:
        """Open a file's content for reading; the caller closes it."""
        return self._storage.open(file_id)

    aopen = in_thread(open)  # noqa: A003

    def delete(self, file_id: str) -> None:
        """Remove a file."""
        if not self._storage.delete(file_id):
            raise _unknown(file_id)

    adelete = in_thread(delete)

    def list(self, *, after: str = "", limit: int = 100) -> list[StoredFile]:
        """Files, oldest first; `after` is the id of the last one of the page before."""
        if not 1 <= limit <= PAGE:
            raise InvalidOption(f"limit: {limit} is not from 1 to {PAGE}.")
        return self._storage.list(after=after, limit=limit)

    alist = in_thread(list)  # noqa: A003


def _unknown(file_id: str) -> StoredFileNotFound:
    return StoredFileNotFound(f"There is no stored file {str(file_id)[:40]!r}; it may have been deleted.")
