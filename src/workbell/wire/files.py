"""Stored files, which jobs see as `ctx.storage`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbell.model.access import Scope
from workbell.model.stored_file import NAME_LIMIT, StoredFile
from workbell.wire.fields import Cursor, Limit
from workbell.wire.operation import Content, ListPage, Operations, Query

BYTES = "application/octet-stream"
BINARY = {"type": "string", "format": "binary"}


class FileQuery(Query, frozen=True, kw_only=True):
    """Name of a new file."""

    filename: Annotated[str, Meta(min_length=1, max_length=NAME_LIMIT, description="Kept, and never used as a path.")]


class FilesQuery(Query, frozen=True, kw_only=True):
    """Page of files."""

    after: Cursor = ""
    limit: Limit = 100


operations = Operations("files")

put = operations.add(
    "put",
    "POST",
    "/files",
    Scope.OPERATE,
    StoredFile,
    "Store a file: the body is its content, and `Content-Type` what it is.",
    status=201,
    creates=True,
    query=FileQuery,
    content=Content(BYTES, BINARY),
)
list_ = operations.add(
    "list",
    "GET",
    "/files",
    Scope.READ,
    ListPage[StoredFile],
    "List stored files, oldest first.",
    query=FilesQuery,
)
get = operations.add(
    "get",
    "GET",
    "/files/{file_id}",
    Scope.READ,
    StoredFile,
    "Show a file's name, type, size and creation time.",
)
content = operations.add(
    "content",
    "GET",
    "/files/{file_id}/content",
    Scope.READ,
    bytes,
    "Get a file's content, as an attachment.",
    answers_with=Content(BYTES, BINARY, "The bytes."),
)
delete = operations.add(
    "delete",
    "DELETE",
    "/files/{file_id}",
    Scope.OPERATE,
    type(None),
    "Remove a file.",
    status=204,
)
