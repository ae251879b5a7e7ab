"""File storage for jobs, `ctx.storage`: a folder with the content and a JSON description of each file.

The description is written last and removed first, and both appear by being renamed when they are complete and on the
disk. So a file is there as a whole or not at all, also after a crash.
"""

from __future__ import annotations

import contextlib
import mimetypes
import os
import stat
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from workbell.errors import InvalidOption, StoredFileNotFound
from workbell.model.clock import Clock, SystemClock
from workbell.model.ids import is_id, new_id
from workbell.model.job import TENANT
from workbell.model.stored_file import NAME_LIMIT, StoredFile

CHUNK = 1024 * 1024


class _Described(StoredFile, frozen=True, kw_only=True):
    """Description on the disk, with the tenant."""

    tenant: str


class Storage:
    """File storage of one tenant. Its folder is made for the first file."""

    def __init__(self, folder: str | Path, *, tenant: str = TENANT, clock: Clock | None = None) -> None:
        self._folder = Path(folder)
        self._tenant = tenant
        self._clock = clock or SystemClock()

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
        name = check_name(filename, data)
        kind = check_type(content_type, name)
        file_id = new_id()
        with reading(data) as source:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._writing(self._content(file_id)) as target:
                size = sum(map(target.write, chunks(source)))
        try:
            file = StoredFile(id=file_id, filename=name, content_type=kind, size=size, created_at=self._clock.now())
            text = msgspec.json.encode(_Described(**msgspec.structs.asdict(file), tenant=self._tenant))
            with self._writing(self._description(file_id)) as target:
                target.write(text)
        except BaseException:
            self._content(file_id).unlink(missing_ok=True)
            raise
        return file

    def get(self, file_id: str) -> StoredFile | None:
        """Description of a file; None if there is none."""
        return self._read(file_id) if is_id(file_id) else None

    def open(self, file_id: str) -> BinaryIO:
        """Open a file's content for reading; the caller closes it."""
        if self.get(file_id) is not None:
            with contextlib.suppress(FileNotFoundError):
                return self._content(file_id).open("rb")
        raise StoredFileNotFound(f"There is no stored file {str(file_id)[:40]!r}; it may have been deleted.")

    def delete(self, file_id: str) -> bool:
        """Delete a file; return whether it was there."""
        if self.get(file_id) is None:
            return False
        try:
            self._description(file_id).unlink()
        except FileNotFoundError:
            return False  # deleted by another process
        self._content(file_id).unlink(missing_ok=True)
        _sync_folder(self._folder)
        return True

    def list(self, *, after: str = "", limit: int | None = None) -> list[StoredFile]:
        """List files, oldest first; the next page begins `after` the last id of the page before."""
        ids = sorted(path.stem for path in self._folder.glob("*.json") if is_id(path.stem) and path.stem > after)
        return list(islice((file for file in map(self._read, ids) if file is not None), limit))

    def _read(self, file_id: str) -> StoredFile | None:
        try:
            found = msgspec.json.decode(self._description(file_id).read_bytes(), type=_Described)
        except (FileNotFoundError, NotADirectoryError, msgspec.MsgspecError):
            return None
        if found.tenant != self._tenant or found.id != file_id:
            return None
        return StoredFile(**{name: getattr(found, name) for name in StoredFile.__struct_fields__})

    def _content(self, file_id: str) -> Path:
        return self._folder / f"{file_id}.data"

    def _description(self, file_id: str) -> Path:
        return self._folder / f"{file_id}.json"

    def _create(self, path: Path) -> None:
        """Create with mode 0600; 0660 in a folder that its group may write to."""
        path.touch(0o600, exist_ok=False)
        if self._folder.stat().st_mode & stat.S_IWGRP:
            path.chmod(0o660)

    @contextlib.contextmanager
    def _writing(self, path: Path) -> Iterator[BinaryIO]:
        """A file that appears under its name when it is complete and on the disk, or never."""
        part = path.with_name(f".{path.name}.part")
        try:
            self._create(part)
            with part.open("r+b") as target:
                yield target
                target.flush()
                os.fsync(target.fileno())
            part.rename(path)
            _sync_folder(self._folder)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _sync_folder(folder: Path) -> None:
    """Sync a folder: a new name is on the disk only then."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def reading(data: Any) -> Iterator[BinaryIO]:
    """Bytes, a path or a file object as a file object; a file that is opened here is closed again."""
    if isinstance(data, bytes | bytearray | memoryview):
        yield BytesIO(data)
    elif isinstance(data, str | os.PathLike):
        try:
            source = Path(data).open("rb")  # noqa: SIM115  closed below
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InvalidOption(f"storage: {os.fspath(data)[:200]!r} cannot be read: {reason}.") from error
        with source:
            yield source
    elif callable(getattr(data, "read", None)):
        yield data
    else:
        raise InvalidOption(f"storage: expected bytes, a path or an open file, got {type(data).__name__}.")


def chunks(source: Any) -> Iterator[bytes]:
    """The rest of a file object; raises InvalidOption if it was opened as text."""
    while chunk := source.read(CHUNK):
        if isinstance(chunk, str):
            raise InvalidOption(
                "storage: the file was opened as text; open it in binary mode, such as open(path, 'rb')."
            )
        yield chunk


def check_name(filename: str | None, data: object) -> str:
    """Name of a file that is to be stored; otherwise that of its path."""
    name = Path(data).name if filename is None and isinstance(data, str | os.PathLike) else filename
    if not isinstance(name, str) or not name:
        raise InvalidOption("storage: the file needs a name; give filename=.")
    if len(name) > NAME_LIMIT or not name.isprintable() or "/" in name or "\\" in name or name in (".", ".."):
        raise InvalidOption(
            f"storage: filename {name[:40]!r} cannot be used: up to {NAME_LIMIT} printable characters, and no folder."
        )
    return name


def check_type(content_type: str | None, name: str) -> str:
    """Content type of a file that is to be stored; otherwise by the ending of its name."""
    kind = content_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
    if not isinstance(kind, str) or len(kind) > NAME_LIMIT or not kind.isascii() or not kind.isprintable():
        raise InvalidOption(f"storage: content_type {kind!r} cannot be used; write one such as 'text/csv'.")
    return kind
