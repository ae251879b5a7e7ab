"""Stored files, which jobs see as `ctx.storage`. What is sent goes to the disk as it comes, and back as it is read.

A file is handed out as an attachment of no particular type: a browser must not take it for a page of this service.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, BinaryIO, cast
from urllib.parse import quote

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from workbell.errors import StoredFileNotFound
from workbell.handlers.files import CHUNK, NAME_LIMIT, Storage, StoredFile
from workbell.http.answers import JsonResponse, nothing
from workbell.http.bounded_pages import WITH_TEXT, PageSource, by_id, read_page
from workbell.http.call import ApiCall, call_of
from workbell.http.routing import Routes
from workbell.http.schemas.base import Limit, ListPage
from workbell.http.schemas.files import FileShown
from workbell.model.access import Scope

routes = Routes("files")

BYTES = "application/octet-stream"
CONTENT: dict[int | str, dict[str, Any]] = {
    200: {"description": "The bytes.", "content": {BYTES: {"schema": {"type": "string", "format": "binary"}}}}
}


def _storage(call: ApiCall) -> Storage:
    return Storage(call.client.registry.resources.storage, tenant=call.tenant, clock=call.client.store.clock)


@routes.add(
    "POST",
    "/files",
    needs=Scope.OPERATE,
    answers=FileShown,
    status=201,
    creates=True,
    body={BYTES: {"type": "string", "format": "binary"}},
)
async def put(
    request: Request,
    filename: Annotated[str, Query(min_length=1, max_length=NAME_LIMIT, description="Kept, and never used as a path.")],
) -> Response:
    """Store a file: the body is its content, and `Content-Type` what it is."""
    call = call_of(request)
    with SpooledTemporaryFile(CHUNK) as part:
        waiting = bytearray()
        async for chunk in request.stream():
            waiting += chunk
            if len(waiting) >= CHUNK:
                await call.client.runtime.hop(part.write, bytes(waiting))
                waiting.clear()
        part.write(waiting)
        part.seek(0)
        made = await call.client.runtime.hop(_put, call, cast(BinaryIO, part), filename)
    call.subject = made.id
    return JsonResponse(made, 201)


def _put(call: ApiCall, content: BinaryIO, filename: str) -> StoredFile:
    return _storage(call).put(content, filename=filename, content_type=call.request.headers.get("content-type"))


@routes.add("GET", "/files", needs=Scope.READ, answers=ListPage[FileShown])
async def list(  # noqa: A001
    request: Request,
    after: Annotated[str, Query(description="The cursor: `next` of the page before.", max_length=100)] = "",
    limit: Limit = 100,
) -> Response:
    """List stored files, oldest first."""
    call = call_of(request)
    storage = _storage(call)
    source = PageSource(lambda cursor, number: storage.list(after=cursor or "", limit=number), by_id, largest=WITH_TEXT)
    page = await call.client.runtime.hop(read_page, source, after, limit)
    return JsonResponse(page.answer(by_id))


@routes.add("GET", "/files/{file_id}", needs=Scope.READ, answers=FileShown)
async def get(request: Request, file_id: str) -> Response:
    """Show a file's name, type, size and creation time."""
    return JsonResponse(await _find(call_of(request), file_id))


@routes.add("GET", "/files/{file_id}/content", needs=Scope.READ, more=CONTENT)
async def content(request: Request, file_id: str) -> Response:
    """Get a file's content, as an attachment."""
    call = call_of(request)
    file = await _find(call, file_id)
    opened = await call.client.runtime.hop(_storage(call).open, file_id)
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


@routes.add("DELETE", "/files/{file_id}", needs=Scope.OPERATE, status=204)
async def delete(request: Request, file_id: str) -> Response:
    """Remove a file."""
    call = call_of(request)
    if not await call.client.runtime.hop(_storage(call).delete, file_id):
        raise _unknown(file_id)
    return nothing()


async def _find(call: ApiCall, file_id: str) -> StoredFile:
    found = await call.client.runtime.hop(_storage(call).get, file_id)
    if found is None:
        raise _unknown(file_id)
    return found


def _unknown(file_id: str) -> StoredFileNotFound:
    return StoredFileNotFound(f"There is no stored file {file_id[:40]!r}; it may have been deleted.")
