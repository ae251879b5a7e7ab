"""Detail of an audit log entry: without secrets, and cut to a limit, so that an entry can always be written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from workbell.access.secret_text import without_tokens
from workbell.errors import InvalidInput
from workbell.logs.secrets import without_secrets
from workbell.model.json_text import clean_text, encode_result

LIMIT = 4096  # bytes of JSON
LONGEST = 500  # characters of one text
DEEPEST = 8
HIDDEN = "…"
NOBODY: Mapping[str, Any] = MappingProxyType({})

# Rather too many than too few: `public_key` is left out as well.
_SECRET = re.compile(r"token|secret|passw|key|authori[sz]ation|credential|cookie", re.IGNORECASE)


def shown_text(text: object) -> str:
    """Cut only after secrets were left out: else the half of one could stay."""
    return clean_text(without_tokens(without_secrets(str(text))), LONGEST)


def detail_text(detail: Any, by: Mapping[str, Any] = NOBODY) -> str | None:
    """As JSON of at most 4 KiB; and in `by` the ids of the actor, which no detail replaces."""
    found = None if detail is None else _kept(detail)
    if by:
        found = {**(found if isinstance(found, dict) else {} if found is None else {"detail": found}), "by": dict(by)}
    return None if found is None else encode_result("detail", found)


def _kept(detail: Any) -> Any:
    found = _without_secrets(detail)
    try:
        encode_result("detail", found, LIMIT)
    except InvalidInput:
        names = sorted(shown_text(name)[:50] for name in detail)[:20] if isinstance(detail, dict) else []
        return {"left_out": "it is too long for the audit log", "names": names}
    return found


def _without_secrets(value: Any, depth: int = 0) -> Any:
    if isinstance(value, bool | float) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else "a number of more than 64 bits"
    if depth > DEEPEST:
        return HIDDEN
    if isinstance(value, dict):
        return {
            shown_text(name): HIDDEN if _SECRET.search(str(name)) else _without_secrets(part, depth + 1)
            for name, part in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_without_secrets(part, depth + 1) for part in value]
    return shown_text(value)
