"""Field types that many structs of the wire use, with their limits."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from workbell.model import field_types
from workbell.model.schema_examples import AT, RUN_ID
from workbell.model.unreadable import failure_of

Name = field_types.Name
Id = Annotated[str, Meta(examples=[RUN_ID])]
Time = Annotated[datetime, Meta(tz=True, examples=[AT])]
"""An answer's time: RFC 3339 in UTC."""
When = field_types.When
Seconds = Annotated[float, Meta(ge=0, le=10_000_000_000)]
Number = field_types.Number
User = field_types.User
Limit = Annotated[int, Meta(ge=1, le=1000)]
Priority = Annotated[int, Meta(ge=-100, le=100)]
_CURSOR = "The cursor: `next` of the page before."
Cursor = Annotated[str, Meta(max_length=100, description=_CURSOR)]
NameCursor = Annotated[str, Meta(max_length=200, description=_CURSOR)]

ChosenId = Annotated[
    str, Meta(pattern="^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$", examples=[RUN_ID])
]
"""An id that the client makes: a UUID of version 7."""

JsonObject = Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]
"""An object, as the text in which it is stored: neither side decodes it to pass it on."""
JsonObjectOrNull = Annotated[msgspec.Raw, Meta(extra_json_schema={"anyOf": [{"type": "object"}, {"type": "null"}]})]
"""The same, where there may be none: a union of raw text and null would refuse every object."""
JsonValue = msgspec.Raw
"""Any value, as the text in which it is stored."""
NULL = msgspec.Raw(b"null")


def raw(text: str | None) -> msgspec.Raw:
    """Stored JSON as it is sent."""
    return NULL if text is None else msgspec.Raw(text.encode())


def raw_object(text: str | None) -> msgspec.Raw:
    """A stored JSON object as it is sent; none is the empty one."""
    return msgspec.Raw(b"{}") if text is None else msgspec.Raw(text.encode())


def readable(text: str | None) -> str | None:
    """Stored JSON, or none where it cannot be read: one text that is no JSON would spoil the whole answer."""
    return None if failure_of(text) else text


def text_of(value: msgspec.Raw) -> str | None:
    """Received JSON as it is stored."""
    decoded = bytes(value).decode()
    return None if decoded == "null" else decoded


def given(body: msgspec.Struct) -> dict[str, Any]:
    """The fields of a body that the request names. Those that may be left out have the default UNSET."""
    return {name: value for name in body.__struct_fields__ if (value := getattr(body, name)) is not msgspec.UNSET}
