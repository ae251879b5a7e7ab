"""The message of a queue: a run's id and a version, and nothing else."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbell import UnknownMessage
from workbell.queues.message import decode, encode

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(IDS)
def test_what_is_sent_is_read(run: str) -> None:
    assert decode(encode(run)) == decode(encode(run).encode()) == run
    assert json.loads(encode(run)) == {"version": 1, "run": run}


@given(IDS, st.sampled_from(["run", "kumofireJobRunId"]), st.booleans())
def test_without_a_version_it_is_the_first(run: str, name: str, versioned: bool) -> None:
    """D7: also the message of Kumofire Jobs, as text or as the fields that a host has read already."""
    fields = {name: run} | ({"version": 1} if versioned else {})
    assert decode(json.dumps(fields)) == decode(fields) == run


@given(st.integers().filter(lambda number: number != 1))
def test_another_version_is_refused(version: int) -> None:
    with pytest.raises(UnknownMessage, match=r"this Workbell reads 1; update Workbell|cannot be read"):
        decode(json.dumps({"version": version, "run": "x"}))


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_whatever_comes_nothing_else_is_raised(content: bytes) -> None:
    with suppress(UnknownMessage):
        assert isinstance(decode(content), str)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", "null", '"0198"', '{"run": 5}', '{"run": null}', '{"run": ""}', b"\xff\xfe", '{"run": "x"'),
        *('{"version": "1", "run": "x"}', '{"version": true, "run": "x"}', '{"version": 1.5, "run": "x"}'),
    ],
)
def test_what_is_no_message(text: str | bytes) -> None:
    with pytest.raises(UnknownMessage, match="cannot be read"):
        decode(text)
    with suppress(ValueError):
        fields = json.loads(text)
        with pytest.raises(UnknownMessage, match="cannot be read"):
            decode(fields)
