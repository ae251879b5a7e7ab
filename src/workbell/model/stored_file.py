"""Description of a stored file."""

from __future__ import annotations

from typing import Annotated

import msgspec

from workbell.model.clock import Instant
from workbell.model.schema_examples import AT, RUN_ID

NAME_LIMIT = 255  # characters


class StoredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that jobs, a program or an HTTP client have stored."""

    id: Annotated[str, msgspec.Meta(examples=[RUN_ID])]
    filename: Annotated[str, msgspec.Meta(examples=["report.csv"])]
    content_type: Annotated[str, msgspec.Meta(examples=["text/csv"])]
    size: Annotated[int, msgspec.Meta(description="Bytes.")]
    created_at: Annotated[Instant, msgspec.Meta(examples=[AT])]
