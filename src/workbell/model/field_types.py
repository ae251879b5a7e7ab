"""Field types with their limits, for structs that decode what a client sends."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
User = Number | Name
"""A user's id: a number or a text."""
When = Annotated[datetime, Meta(tz=True)]
"""A request's time, with its zone."""
