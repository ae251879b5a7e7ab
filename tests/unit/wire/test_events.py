"""Events on the wire: the value that a client reads is the one that the server sent."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.makers import ID, NOW
from workbell.model.event import Event
from workbell.wire.events import EventShown

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES, st.none() | st.text(), st.booleans())
def test_an_event_there_and_back(data: Any, subject: str | None, system: bool) -> None:
    text = msgspec.json.encode(data).decode()
    event = Event(ID, "a", "posts.created", "/blog", NOW, NOW, subject, text, "k", system, 2, ID, NOW)
    sent = msgspec.json.encode(EventShown.of(event))
    assert msgspec.json.decode(sent) == msgspec.json.decode(msgspec.json.encode(event.as_dict()))
    received = msgspec.json.decode(sent, type=EventShown).value()
    assert received.data == data
    assert msgspec.structs.replace(received, data_text=text) == event


def test_an_event_without_data() -> None:
    sent = msgspec.json.encode(EventShown.of(Event(ID, "a", "a.b", "/blog", NOW, NOW)))
    assert msgspec.json.decode(sent)["data"] is None
