"""An outcome on an agent is the same outcome at the server: as JSON in between, in one shape."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.makers import run_in
from workbell.agent_program.report import MOST_KINDS, result_of
from workbell.agents.reports import outcome_of
from workbell.model.agent import Ending
from workbell.model.outcome import HANDED_BACK, Died, EndedOutcome, Failed, Later, Outcome, Raised, Returned, failed_of
from workbell.model.run import Status
from workbell.wire.agents import ResultBody

WORDS = st.text("abc äß🔔", min_size=1, max_size=20)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
TEXTS = st.none() | JSON.map(lambda value: msgspec.json.encode(value).decode())
WAITS = st.integers(0, 10**6).map(float)
OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Returned, TEXTS),
    st.builds(Failed, WORDS, WORDS, st.lists(WORDS, max_size=5).map(tuple), st.booleans(), WAITS, TEXTS),
    st.builds(EndedOutcome, WORDS),
    st.builds(Later, WAITS.map(lambda wait: timedelta(seconds=wait)), st.none() | WORDS),
    st.just(HANDED_BACK),
)


def sent(outcome: Outcome) -> ResultBody:
    """The result as the server reads it."""
    text = msgspec.json.encode(msgspec.to_builtins(result_of(outcome, 3, "s")))
    return msgspec.json.decode(text, type=ResultBody)


@given(OUTCOMES)
def test_an_outcome_arrives_as_it_was(outcome: Outcome) -> None:
    body = sent(outcome)
    assert (body.token, body.session) == (3, "s")
    assert outcome_of(body, run_in(Status.RUNNING)) == outcome


def test_an_exception_arrives_as_its_text() -> None:
    raised = Raised(ValueError("no"), "error", final=True)
    assert outcome_of(sent(raised), run_in(Status.RUNNING)) == failed_of(raised)


def test_a_dead_process_is_a_failure() -> None:
    body = sent(Died("was killed by signal 9"))
    assert (body.status, body.reason) == (Ending.FAILED, "crashed")
    assert body.error == "The process of this run was killed by signal 9."


@pytest.mark.parametrize("number", [MOST_KINDS, 1000])
def test_the_classes_of_an_error_are_not_too_many(number: int) -> None:
    assert len(sent(Failed("x", kinds=tuple(map(str, range(number))))).kinds) == MOST_KINDS
