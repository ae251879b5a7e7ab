"""Storage against a dict: whatever is put can be got, until it is deleted; and nothing else can."""

from __future__ import annotations

import tempfile

from hypothesis import given
from hypothesis import strategies as st

from workbell.errors import InvalidOption
from workbell.handlers.files import Storage

STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "delete"]), st.binary(max_size=64), st.integers(0, 9)), max_size=12
)


@given(steps=STEPS)
def test_like_a_dict(steps: list[tuple[str, bytes, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        storage, known, ids = Storage(folder), {}, []
        for step, data, number in steps:
            if step == "put":
                file = storage.put(data, filename="x")
                known[file.id] = data
                ids.append(file.id)
            elif ids:
                file_id = ids[number % len(ids)]
                assert storage.delete(file_id) is (known.pop(file_id, None) is not None)
        for file_id in ids:
            found = storage.get(file_id)
            assert (found is not None) is (file_id in known)
            if found is not None:
                with storage.open(file_id) as content:
                    assert content.read() == known[file_id]
        assert [file.id for file in storage.list()] == sorted(known)


@given(file_id=st.text(max_size=50))
def test_no_text_leads_out_of_the_folder(file_id: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert Storage(folder).get(file_id) is None
        assert Storage(folder).delete(file_id) is False


@given(name=st.text(max_size=300))
def test_names_are_kept_as_they_are_or_refused(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        storage = Storage(folder)
        try:
            file = storage.put(b"x", filename=name)
        except InvalidOption:
            assert storage.list() == []
        else:
            assert storage.list() == [file]
            assert file.filename == name
