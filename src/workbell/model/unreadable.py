"""Unreadable: columns of a stored row of which no value can be made. Lists show such a thing with a sentence about it.

Nothing of ours writes such rows: they come from other programs that write into the store, or from a damaged file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from workbell.errors import UnreadableRow, WorkbellError

FAILURES = (msgspec.DecodeError, WorkbellError, ValueError, RecursionError)  # of reading a column
UNREADABLE = "What the store holds of this cannot be read: which column, why, and what to do. Null: it can."
ERROR_LIMIT = 200  # characters of an error in a sentence

decode_json = msgspec.json.Decoder(Any).decode
_object = msgspec.json.Decoder(dict[str, Any])


class UnreadableColumns(msgspec.Struct, frozen=True):
    """The columns of a thing that cannot be read, as they are stored: a change of the thing writes them back.

    Where only an API has told of them, there is the sentence alone.
    """

    sentence: str
    stored: Mapping[str, Any] = {}

    def left(self, given: Iterable[str]) -> UnreadableColumns | None:
        """What stays unreadable where these columns are given anew."""
        stored = {name: text for name, text in self.stored.items() if name not in given}
        return UnreadableColumns(self.sentence, stored) if stored else None

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        """Without what is stored: there may be a secret in it."""
        return f"UnreadableColumns({self.sentence!r})"


def about(failed: Mapping[str, str], remedy: str) -> str:
    """The sentence about columns that cannot be read: which ones, why, and what to do."""
    names = " and ".join(f"`{name}`" for name in failed)
    why = "; ".join(reason[:ERROR_LIMIT].rstrip(".") for reason in failed.values())
    return f"its stored {names} cannot be read ({why}); {remedy}"


def sentence_of(thing: Any) -> str | None:
    """What the API says of a thing whose columns were looked at when it was read."""
    found: UnreadableColumns | None = thing.unreadable
    return None if found is None else found.sentence


def told(sentence: str | None) -> UnreadableColumns | None:
    """The same as a client of the API has it."""
    return None if sentence is None else UnreadableColumns(sentence)


def check_readable(what: str, unreadable: UnreadableColumns | str | None) -> None:
    """Raise UnreadableRow, if something of it cannot be read."""
    if unreadable is not None:
        raise UnreadableRow(f"{what}: {unreadable}")


def failure_of(text: str | None, *, is_object: bool = False) -> str | None:
    """Why a text is not the JSON that it should be; none: it is, or there is none."""
    if text is not None:
        try:
            _object.decode(text) if is_object else decode_json(text)
        except FAILURES as error:
            return str(error)
    return None


def value_in_row(what: str, text: str | None) -> Any:
    """A stored text as plain values; raises UnreadableRow."""
    try:
        return None if text is None else decode_json(text)
    except FAILURES as error:
        raise UnreadableRow(f"{what} cannot be read as it is stored: {error}.") from error
