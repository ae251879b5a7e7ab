"""Stored files, which jobs see as `ctx.storage`. What is sent goes to the disk as it comes, and back as it is read.

A file is handed out as an attachment of no particular type: a browser must not take it for a page of this service.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from workbell.handlers.files import CHUNK
from workbell.http.framework.bounded_pages import WITH_TEXT, PageSource, by_id, read_page
from workbell.http.framework.call import ApiCall
from workbell.http.framework.operations import Served
from workbell.model.stored_file import StoredFile
from workbell.wire import files
from workbell.wire.files import BYTES, FileQuery, FilesQuery
from workbell.wire.operation import ListPage

served = Served()


@served(files.put)
async def put(call: ApiCall, query: FileQuery) -> StoredFile:
    request = call.request
    with SpooledTemporaryFile(CHUNK) as part:
        waiting = bytearray()
        async for chunk in call.chunks():
            waiting += chunk
            if len(waiting) >= CHUNK:
                await call.client.runtime.hop(part.write, bytes(waiting))
                waiting.clear()
        part.write(waiting)
        part.seek(0)
        kind = request.headers.get("content-type")
        made = await call.client.files.aput(cast(BinaryIO, part), filename=query.filename, content_type=kind)
    call.subject = made.id
    return made


@served(files.list_)
async def list_(call: ApiCall, query: FilesQuery) -> ListPage[StoredFile]:
    stored = call.client.files
    source = PageSource(lambda cursor, number: stored.list(after=cursor or "", limit=number), by_id, largest=WITH_TEXT)
    page = await call.client.runtime.hop(read_page, source, query.after, query.limit)
    return page.answer(by_id)


@served(files.get)
async def get(call: ApiCall, file_id: str) -> StoredFile:
    return await call.client.files.aget(file_id)


@served(files.content)
async def content(call: ApiCall, file_id: str) -> Response:
    file = await call.client.files.aget(file_id)
    opened = await call.client.files.aopen(file_id)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.filename, safe='')}",
        "Content-Length": str(file.size),
        "Content-Security-Policy": "sandbox",
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingResponse(_chunks(call, opened), media_type=BYTES, headers=headers)


async def _chunks(call: ApiCall, opened: BinaryIO) -> AsyncIterator[bytes]:
    reader, runtime = ChunkReader(opened), call.client.runtime
    try:
        while chunk := await runtime.hop(reader.read):
            yield chunk
    finally:
        if not runtime.in_background(reader.close):
            reader.close()


class ChunkReader:
    """Reads a file on threads. When the client leaves, a read may be under way: `close` comes after it, and a read that
    comes after `close` finds the end of the file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._turn = threading.Lock()
        self._closed = False

    def read(self) -> bytes:
        with self._turn:
            return b"" if self._closed else self._file.read(CHUNK)

    def close(self) -> None:
        with self._turn:
            self._closed = True
            self._file.close()


@served(files.delete)
async def delete(call: ApiCall, file_id: str) -> None:
    await call.client.files.adelete(file_id)
