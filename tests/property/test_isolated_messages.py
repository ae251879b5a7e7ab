"""What is sent between a worker and a process for handlers arrives as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from workbell.engine.handler_processes.messages import BEGUN, READY, Execute, decode, decode_execute, encode
from workbell.model.outcome import HANDED_BACK, EndedOutcome, Failed, Later, Returned
from workbell.model.run import Lane, Run, Status
from workbell.notices.push_message import Broadcast, SendToUser

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
maybe = st.none() | texts
times = st.integers(10**15, 5 * 10**15).map(
    lambda count: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=count)
)
spans = st.integers(0, 3_153_600_000_000_000).map(lambda count: timedelta(microseconds=count))
counts = st.integers(0, 2**62)

runs = st.builds(
    Run,
    id=texts,
    lane=st.builds(Lane, texts, texts, texts, maybe, maybe),
    status=st.sampled_from(Status),
    rank=st.integers(-100, 100),
    scheduled_for=times,
    created_at=times,
    updated_at=times,
    attempt=counts,
    token=counts,
    alone=st.booleans(),
    lease_until=st.none() | times,
    started_at=st.none() | times,
    expires_at=st.none() | times,
    input_text=maybe,
    options_text=maybe,
    progress_text=maybe,
    error=maybe,
)
answers = st.one_of(
    st.builds(Returned, maybe),
    st.builds(EndedOutcome, texts),
    st.builds(Later, spans, maybe),
    st.builds(Failed, texts, texts, st.lists(texts, max_size=3).map(tuple), st.booleans()),
    st.sampled_from([HANDED_BACK, READY, BEGUN]),
    st.builds(SendToUser, texts, counts, texts, texts, st.none() | times),
    st.builds(Broadcast, texts, texts, texts, st.none() | times),
)


@given(runs, texts)
def test_what_to_execute(run: Run, handler: str) -> None:
    assert decode_execute(encode(Execute(run, handler))) == Execute(run, handler)


@given(answers)
def test_answers(answer: msgspec.Struct) -> None:
    assert decode.decode(encode(answer)) == answer
