"""Agents: pairing, what an agent gets, keeps and tells, and what is refused of it (E7)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.fresh_store import fresh_store
from tests.support.inside.features import Agents, Dispatch, Materialise, Paired, Recover, Working, definitions
from tests.support.inside.features import agent_claiming as lanes
from tests.support.inside.stores import Held
from tests.support.inside.values import Agent, AttemptStatus, Ending, Settings, TokenKind
from tests.support.inside.wire import AgentLogLine, AttemptReport
from tests.support.statements import watch_statements
from workbell import (
    AgentExists,
    AgentNotFound,
    InvalidOption,
    LeaseLost,
    Retry,
    Run,
    RunNotFound,
    Scope,
    Status,
    Unauthorized,
    UnknownJob,
    Workbell,
)

DONE = AttemptReport(status=Ending.SUCCEEDED, result={"ok": True})


@pytest.fixture
def bell() -> Iterator[Workbell]:
    made = Workbell(store=fresh_store(), settings=Settings())
    yield made
    made.runtime.close()


@pytest.fixture
def agent(bell: Workbell) -> Agent:
    return paired(bell, "web-1", ["gpu"]).agent


@pytest.fixture
def working(bell: Workbell) -> Working:
    return bell.agents.working


def paired(bell: Workbell, name: str = "web-1", labels: list[str] | None = None) -> Paired:
    return bell.agents.pair(bell.agents.pairing(name, labels=labels or []).text, host="box", version="1")


def lapse(bell: Workbell) -> None:
    """All leases are over, and a worker somewhere notices."""
    Recover(bell.store, bell.runtime.booking, lambda _: None, 5).step(bell.store.clock.now() + timedelta(hours=2))


def become_due(bell: Workbell) -> None:
    Dispatch(bell.store, lambda _: None, 1).step(bell.store.clock.now() + timedelta(hours=2))


def take_one(working: Working, agent: Agent, session: str | None = "s1") -> Run:
    (handed,) = working.poll(agent, session)
    return handed.run


# Pairing


def test_a_machine_pairs_once(bell: Workbell) -> None:
    token, text = bell.agents.pairing("web-1", labels=["gpu", "eu", "gpu"])
    assert token.kind is TokenKind.PAIRING
    agent, own = bell.agents.pair(text, host="box\x00", version="2")
    assert (agent.name, agent.labels, agent.host) == ("web-1", ("eu", "gpu"), "box\N{REPLACEMENT CHARACTER}")
    found = bell.tokens.check(own)
    assert found is not None
    assert (found.kind, found.scopes, found.agent) == (TokenKind.AGENT, (Scope.AGENT,), agent.id)
    with pytest.raises(Unauthorized, match="make a new one"):
        bell.agents.pair(text)
    assert bell.tokens.check(text) is None, "a pairing token opens nothing by itself"
    assert own not in repr(Paired(agent, own))


def test_what_a_pairing_fixes_cannot_be_chosen_and_a_mistake_costs_nothing(bell: Workbell) -> None:
    text = bell.agents.pairing("web-1", labels=["gpu"]).text
    with pytest.raises(InvalidOption, match="for the agent 'web-1'"):
        bell.agents.pair(text, name="db-1")
    with pytest.raises(InvalidOption, match="for gpu"):
        bell.agents.pair(text, labels=["root"])
    assert bell.agents.pair(text, name="web-1", labels=["gpu"]).agent.labels == ("gpu",)


def test_a_pairing_that_leaves_the_name_open(bell: Workbell) -> None:
    text = bell.agents.pairing().text
    with pytest.raises(InvalidOption, match="leaves the name open"):
        bell.agents.pair(text)
    assert bell.agents.pair(text, name="db-1").agent.name == "db-1"
    with pytest.raises(AgentExists, match="takes it over"):
        bell.agents.pair(bell.agents.pairing().text, name="db-1")


def test_a_pairing_without_labels_gives_none(bell: Workbell) -> None:
    """Labels say which runs an agent gets: whoever makes the pairing gives them."""
    text = bell.agents.pairing().text
    with pytest.raises(InvalidOption, match=r"labels: this pairing gives no labels; leave them out, or have"):
        bell.agents.pair(text, name="db-1", labels=["gpu"])
    assert bell.agents.pair(text, name="db-1", labels=[]).agent.labels == ()
    paired(bell, "web-1", ["gpu"])
    moved = bell.agents.pairing("web-1").text
    with pytest.raises(InvalidOption, match="labels: this pairing is for gpu"):
        bell.agents.pair(moved, labels=["gpu", "root"])
    assert bell.agents.pair(moved, labels=["gpu"]).agent.labels == ("gpu",)


@pytest.mark.parametrize("name", ["self", "a/b", "label:gpu", "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f", "", "x" * 201])
def test_names_that_cannot_be_used(bell: Workbell, name: str) -> None:
    with pytest.raises(InvalidOption, match="agent"):
        bell.agents.pairing(name)


def test_a_pairing_for_a_name_that_exists_moves_the_agent(bell: Workbell) -> None:
    old, old_text = paired(bell, "web-1", ["gpu"])
    new, new_text = paired(bell, "web-1")
    assert (new.id, new.labels) == (old.id, ("gpu",))
    assert bell.tokens.check(old_text) is None
    assert bell.tokens.check(new_text) is not None
    assert [one.name for one in bell.agents.list()] == ["web-1"]


def test_pairing_tokens_expire(bell: Workbell) -> None:
    with pytest.raises(InvalidOption, match="1 minute to 7 days"):
        bell.agents.pairing(expires=1)
    assert bell.agents.pairing(expires=60).token.expires_at is not None


# The verbs about agents


def test_agents_are_found_changed_and_forgotten(bell: Workbell, agent: Agent) -> None:
    assert bell.agents.get("web-1").id == bell.agents.get(agent.id).id == agent.id
    assert bell.agents.label("web-1", ["cpu"]).labels == ("cpu",)
    assert not bell.agents.disable("web-1").enabled
    assert bell.agents.enable("web-1").enabled
    _, text = paired(bell, "web-1")
    bell.agents.delete("web-1")
    assert bell.tokens.check(text) is None
    for ask in (bell.agents.get, bell.agents.delete, bell.agents.disable):
        with pytest.raises(AgentNotFound):
            ask("web-1")
    with pytest.raises(AgentNotFound, match="pair it again"):
        bell.agents.working.agent(agent.id)


def test_another_tenants_agent_is_unknown(bell: Workbell, agent: Agent) -> None:
    other = Agents(bell.runtime.for_tenant("other"), bell.verified)
    assert other.list() == []
    for ask in (lambda: other.get("web-1"), lambda: other.get(agent.id), lambda: other.working.agent(agent.id)):
        with pytest.raises(AgentNotFound):
            ask()


@pytest.mark.anyio
async def test_the_async_twins(bell: Workbell) -> None:
    token, text = await bell.agents.apairing("web-1")
    assert token.tenant == "default"
    assert (await bell.agents.apair(text)).agent.name == "web-1"
    assert (await bell.agents.aget("web-1")).enabled
    assert not (await bell.agents.adisable("web-1")).enabled
    assert (await bell.agents.aenable("web-1")).enabled
    assert (await bell.agents.alabel("web-1", ["a"])).labels == ("a",)
    assert len(await bell.agents.alist()) == 1
    await bell.agents.adelete("web-1")
    assert await bell.agents.alist() == []


# What an agent gets


def test_an_agent_gets_runs_for_its_name_and_labels_by_priority(bell: Workbell, agent: Agent, working: Working) -> None:
    runs = [bell.enqueue("a", {"n": n}, target=target, priority=n) for n, target in enumerate(["web-1", "label:gpu"])]
    bell.enqueue("a", {}, target="web-2")
    bell.enqueue("a", {}, target="label:cpu")
    handed = working.poll(agent, "s1", capacity=10)
    assert [one.run.id for one in handed] == [runs[1].id, runs[0].id]
    assert {one.run.worker for one in handed} == {f"agent/{agent.id}/s1"}
    assert working.poll(agent, "s2", capacity=10) == []


def test_an_agent_gets_what_it_can_run_and_no_more_than_it_can_take(
    bell: Workbell, agent: Agent, working: Working
) -> None:
    for job in "ab" * 3:
        bell.enqueue(job, {}, target="web-1")
    assert [one.run.job for one in working.poll(agent, "s1", jobs=["b"], capacity=2)] == ["b", "b"]
    assert working.poll(agent, "s2", jobs=[]) == []
    assert bell.agents.get("web-1").jobs == ()
    assert sorted(one.run.job for one in working.poll(agent, "s3", capacity=100)) == ["a", "a", "a", "b"]


def test_what_an_agent_can_run_is_found_behind_any_number_of_other_jobs(
    bell: Workbell, agent: Agent, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each job is a lane, and so is each value of a limit's key: there may be thousands before the one that counts."""
    monkeypatch.setattr(lanes, "HEADS", 2)
    monkeypatch.setattr(lanes, "WIDER", 2)
    jobs = [f"job-{number}" for number in range(9)]
    for job in jobs:
        bell.enqueue(job, {}, target="web-1")
    assert [working.poll(agent, jobs=[job])[0].run.job for job in jobs] == jobs


def test_an_agent_of_another_tenant_gets_nothing(bell: Workbell, working: Working) -> None:
    other = bell.for_tenant("other")
    bell.enqueue("a", {}, target="web-1")
    theirs = Agents(other.runtime, other.verified)
    stranger = theirs.pair(theirs.pairing("web-1").text).agent
    assert stranger.tenant == "other"
    assert theirs.working.poll(stranger, "s1", capacity=10) == []


def test_a_disabled_agent_gets_nothing_and_may_end_what_it_has(bell: Workbell, agent: Agent, working: Working) -> None:
    bell.enqueue("a", {}, target="web-1")
    bell.enqueue("a", {}, target="web-1")
    run = take_one(working, agent)
    disabled = bell.agents.disable("web-1")
    assert working.poll(disabled, "s1", capacity=10) == []
    assert working.result(disabled, run.id, run.token, DONE, "s1")


def test_pauses_and_limits_hold_for_agents_too(bell: Workbell, agent: Agent, working: Working) -> None:
    @bell.job(concurrency=2)
    def a() -> None: ...

    bell.store.jobs.put(bell.registry.declared_jobs(bell.store.clock, "default"))
    for _ in range(4):
        bell.enqueue("a", {}, target="web-1")
    bell.pause(job="a")
    assert working.poll(agent, "s1", capacity=10) == []
    bell.resume(job="a")
    handed = working.poll(agent, "s1", capacity=10)
    assert len(handed) == 2
    assert working.poll(agent, "s2", capacity=10) == []
    working.result(agent, handed[0].run.id, handed[0].run.token, DONE, "s1")
    assert len(working.poll(agent, "s2", capacity=10)) == 1


def test_the_limits_of_a_tenant_hold_for_agents_too(bell: Workbell, agent: Agent, working: Working) -> None:
    bell.tenants.put("default", concurrency=1)
    for job in "ab":
        bell.enqueue(job, {}, target="web-1")
    assert len(working.poll(agent, "s1", capacity=10)) == 1
    assert working.poll(agent, "s2", capacity=10) == []


def test_a_run_whose_answer_was_lost_is_handed_out_again(bell: Workbell, agent: Agent, working: Working) -> None:
    first, second = (bell.enqueue("a", {}, target="web-1") for _ in range(2))
    run = take_one(working, agent)
    again = take_one(working, agent)
    assert (again.id, again.token, again.attempt) == (run.id, run.token, run.attempt) == (first.id, run.token, 1)
    (other,) = working.poll(agent, "s1", holding=[Held(run.id, run.token)])
    assert other.run.id == second.id
    assert working.poll(agent, "s2") == [], "another session is not handed what this one has"
    assert working.poll(agent, None) == []
    bell.cancel(run.id, "enough")
    assert [one.cancel for one in working.poll(agent, "s1", capacity=5)] == ["enough", None]


def test_without_a_session_nothing_is_handed_out_twice(bell: Workbell, agent: Agent, working: Working) -> None:
    bell.enqueue("a", {}, target="web-1")
    run = take_one(working, agent, None)
    assert working.poll(agent, None) == []
    assert working.result(agent, run.id, run.token, DONE)


# Keep, tell and end


def test_heartbeats_keep_leases_and_tell_of_the_lost_and_the_unwanted(
    bell: Workbell, agent: Agent, working: Working
) -> None:
    run = bell.enqueue("a", {}, target="web-1")
    held = [Held(run.id, take_one(working, agent).token)]
    bell.cancel(run.id, "enough")
    (kept,) = working.heartbeat(agent, "s1", holding=held, lease=60, metrics={"load": 0.5})
    assert kept.cancel == "enough"
    assert kept.lease_until is not None
    assert kept.lease_until > bell.store.clock.now() + timedelta(seconds=50)
    assert bell.agents.get("web-1").metrics_text == '{"load":0.5}'
    (stranger,) = working.heartbeat(agent, "s2", holding=held)
    assert stranger.lease_until is None
    (wrong,) = working.heartbeat(agent, "s1", holding=[Held(run.id, 2)])
    assert wrong.lease_until is None
    lapse(bell)
    (gone,) = working.heartbeat(agent, "s1", holding=held)
    assert gone.lease_until is None


def test_progress_and_log_lines_are_kept_once(bell: Workbell, agent: Agent, working: Working) -> None:
    bell.enqueue("a", {}, target="web-1")
    run = take_one(working, agent)
    old = datetime(2020, 1, 1, tzinfo=UTC)
    lines = [AgentLogLine(message="one\x00", line=0, at=old), AgentLogLine(message="two", level="warning", line=1)]
    for _ in range(2):
        working.progress(agent, run.id, run.token, "s1", done=1, total=4, message="x", lines=lines)
    working.progress(agent, run.id, run.token, "s1", lines=[AgentLogLine(message="three")])
    found = bell.logs(run.id)
    assert [(line.line, line.level, line.message) for line in found] == [
        (0, "INFO", "one\N{REPLACEMENT CHARACTER}"),
        (1, "WARNING", "two"),
        (2, "INFO", "three"),
    ]
    assert found[0].at == run.started_at, "an agent's clock does not date a line before its attempt"
    assert bell.get(run.id).progress == {"done": 1, "total": 4, "message": "x"}
    with pytest.raises(LeaseLost):
        working.progress(agent, run.id, run.token, "s2", done=2)
    with pytest.raises(InvalidOption, match="done"):
        working.progress(agent, run.id, run.token, "s1", done=float("nan"))
    working.result(agent, run.id, run.token, DONE, "s1")
    assert not working.progress(agent, run.id, run.token, "s1", done=3), "too late, and no error"
    assert bell.get(run.id).progress == {"done": 1, "total": 4, "message": "x"}


def test_a_result_is_taken_once_and_the_same_again_is_no_error(bell: Workbell, agent: Agent, working: Working) -> None:
    bell.enqueue("a", {}, target="web-1")
    run = take_one(working, agent)
    with pytest.raises(LeaseLost):
        working.result(agent, run.id, run.token, DONE, "s2")
    for token in (0, -1, run.token - 1, run.token + 1):
        with pytest.raises(LeaseLost):
            working.result(agent, run.id, token, DONE, "s1")
    assert working.result(agent, run.id, run.token, DONE, "s1")
    assert not working.result(agent, run.id, run.token, DONE, "s1")
    ended = bell.get(run.id)
    assert (ended.status, ended.result) == (Status.SUCCEEDED, {"ok": True})
    with pytest.raises(LeaseLost):
        working.result(agent, run.id, run.token, DONE, "s2")


def test_a_result_after_the_lease_was_lost_is_refused(bell: Workbell, agent: Agent, working: Working) -> None:
    bell.enqueue("a", {}, target="web-1")
    run = take_one(working, agent)
    lapse(bell)
    with pytest.raises(LeaseLost):
        working.result(agent, run.id, run.token, DONE, "s1")
    again = take_one(working, agent, "s2")
    assert again.id == run.id
    assert again.token != run.token
    with pytest.raises(LeaseLost):
        working.result(agent, run.id, run.token, DONE, "s1")
    assert working.result(agent, run.id, again.token, DONE, "s2")
    with pytest.raises(LeaseLost):
        working.result(agent, run.id, run.token, DONE, "s1")
    assert [one.status for one in bell.attempts(run.id)] == [AttemptStatus.LOST, AttemptStatus.SUCCEEDED]


def test_a_result_after_the_lease_was_lost_and_the_run_canceled_is_refused(
    bell: Workbell, agent: Agent, working: Working
) -> None:
    bell.enqueue("a", {}, target="web-1")
    run = take_one(working, agent)
    bell.cancel(run.id)
    lapse(bell)
    assert bell.get(run.id).status is Status.CANCELED
    with pytest.raises(LeaseLost):
        working.result(agent, run.id, run.token, DONE, "s1")


def test_a_failure_is_tried_again_by_the_policy_and_its_duplicate_spends_nothing(
    bell: Workbell, agent: Agent, working: Working
) -> None:
    bell.enqueue("a", {}, target="web-1", retry=Retry(attempts=2, delay=0))
    failed = AttemptReport(status=Ending.FAILED, error="no space\x00", result={"free": 0}, retry_after=1)
    run = take_one(working, agent)
    assert working.result(agent, run.id, run.token, failed, "s1")
    assert not working.result(agent, run.id, run.token, failed, "s1")
    become_due(bell)
    again = take_one(working, agent)
    assert again.token != run.token
    assert not working.result(agent, run.id, run.token, failed, "s1"), "the first attempt's report once more"
    assert bell.get(run.id).failures == 1
    assert working.result(agent, run.id, again.token, failed, "s1")
    ended = bell.get(run.id)
    assert (ended.status, ended.failures, ended.reason) == (Status.FAILED, 2, "error")
    assert [one.result for one in bell.attempts(run.id)] == [{"free": 0}, {"free": 0}]


@pytest.mark.parametrize(
    ("report", "status", "reason"),
    [
        (AttemptReport(status=Ending.FAILED, error="x", final=True), Status.FAILED, "error"),
        (AttemptReport(status=Ending.FAILED, reason="timeout", final=True), Status.FAILED, "timeout"),
        (AttemptReport(status=Ending.CANCELED, reason="not today"), Status.CANCELED, "not today"),
        (AttemptReport(status=Ending.CANCELED), Status.CANCELED, "canceled by its agent"),
        (AttemptReport(status=Ending.SNOOZED, retry_after=30, reason="busy"), Status.SCHEDULED, "busy"),
        (AttemptReport(status=Ending.SNOOZED, retry_after=float("nan")), Status.SCHEDULED, None),
        (AttemptReport(status=Ending.RELEASED), Status.QUEUED, None),
        (AttemptReport(status=Ending.SUCCEEDED, result="x" * 300_000), Status.FAILED, "result"),
        (AttemptReport(status=Ending.SUCCEEDED, result=object()), Status.FAILED, "result"),
    ],
)
def test_how_a_run_can_end(
    bell: Workbell, agent: Agent, working: Working, report: AttemptReport, status: Status, reason: str | None
) -> None:
    bell.enqueue("a", {}, target="web-1")
    run = take_one(working, agent)
    assert working.result(agent, run.id, run.token, report, "s1")
    assert not working.result(agent, run.id, run.token, report, "s1")
    ended = bell.get(run.id)
    assert (ended.status, ended.reason, ended.failures) == (status, reason, 1 if status is Status.FAILED else 0)


def test_only_what_is_aimed_at_an_agent_can_be_told_of(bell: Workbell, agent: Agent, working: Working) -> None:
    @bell.job
    def a() -> None: ...

    plain, theirs = bell.enqueue("a"), bell.enqueue("a", target="web-2")
    for run_id in (plain.id, theirs.id, "nonsense", "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"):
        with pytest.raises(RunNotFound):
            working.result(agent, run_id, 1, DONE, "s1")


def test_its_end_is_told_to_who_subscribes(bell: Workbell, agent: Agent, working: Working) -> None:
    @bell.processor("hear")
    def hear(event: object, execution: object) -> None: ...

    bell.triggers.add("all", pattern="job.*", processor="hear")
    bell.enqueue("a", {}, target="web-1")
    run = take_one(working, agent)
    working.result(agent, run.id, run.token, DONE, "s1")
    assert [event.type for event in bell.events.list()] == ["job.completed", "job.started"]


# Around it


def test_a_job_that_nobody_here_knows_needs_a_target(bell: Workbell) -> None:
    with pytest.raises(UnknownJob):
        bell.enqueue("backup")
    assert bell.enqueue("backup", {"source": "x"}, target="web-1").queue == "default"


def test_a_schedule_aims_its_runs(bell: Workbell, agent: Agent, working: Working) -> None:
    bell.schedules.put("nightly", job="backup", every=60, target="label:gpu", input={"source": "x"})
    due = bell.store.clock.now() + timedelta(seconds=61)
    Materialise(bell.store, bell.registry, lambda _: None, 1).fire_due(due)
    become_due(bell)
    (handed,) = working.poll(agent, "s1")
    assert (handed.run.target, handed.run.job, handed.run.input) == ("label:gpu", "backup", {"source": "x"})


def test_why_a_run_waits_for_its_agent(bell: Workbell) -> None:
    run = bell.enqueue("backup", {}, target="web-1")
    labelled = bell.enqueue("backup", {}, target="label:gpu")
    assert "There is no agent 'web-1'; pair one" in bell.why(run.id)
    assert "There is no agent with the label 'gpu'" in bell.why(labelled.id)
    agent = paired(bell, "web-1", ["gpu"]).agent
    assert "busy, or about to take it" in bell.why(run.id)
    bell.agents.working.poll(agent, "s1", jobs=["other"])
    assert "does not know job 'backup'" in bell.why(labelled.id)
    bell.store.agents.see(agent.id, bell.store.clock.now() - timedelta(minutes=5), jobs=["backup"])
    assert "has polled since" in bell.why(run.id)
    bell.agents.disable("web-1")
    assert "'web-1' is disabled" in bell.why(run.id)


def test_a_definition_goes_to_an_agent_that_has_its_handler(bell: Workbell, working: Working, agent: Agent) -> None:
    """D2: with the definition's timeout and retries; disabled, it waits."""
    bell.jobs.put("backup-eu", handler="backup", input={"region": "eu"}, target="web-1", timeout=7, retry=1)
    run = bell.enqueue("backup-eu", {"disk": "a"})
    assert working.poll(agent, "s", jobs=["other"]) == []
    assert "does not know job 'backup'" in bell.why(run.id)
    bell.jobs.disable("backup-eu")
    assert working.poll(agent, "s", jobs=["backup", "backup-eu"]) == []
    assert working.take(agent, run.id, "s").handed is None
    assert "is disabled" in bell.why(run.id)
    bell.jobs.enable("backup-eu")
    (handed,) = working.poll(agent, "s", jobs=["backup"])
    assert (handed.run.id, handed.run.job, handed.handler, handed.timeout) == (run.id, "backup-eu", "backup", 7)
    assert handed.run.input == {"region": "eu", "disk": "a"}
    (again,) = working.poll(agent, "s", jobs=["backup"])
    assert again.handler == "backup"
    working.result(agent, run.id, handed.run.token, AttemptReport(status=Ending.FAILED, error="no"), "s")
    assert bell.get(run.id).status is Status.FAILED


def test_a_run_of_a_definition_taken_by_its_id_names_the_handler(
    bell: Workbell, working: Working, agent: Agent
) -> None:
    bell.jobs.put("backup-eu", handler="backup", target="web-1", timeout=7)
    run = bell.enqueue("backup-eu")
    for _ in range(2):  # the second time because the answer was lost
        handed = working.take(agent, run.id, "s").handed
        assert handed is not None
        assert (handed.run.id, handed.handler, handed.timeout) == (run.id, "backup", 7)


def test_a_run_that_is_handed_out_again_names_its_handler_also_when_the_definition_is_disabled(
    bell: Workbell, working: Working, agent: Agent
) -> None:
    """What is running ends: the agent must know whose code it is."""
    bell.jobs.put("backup-eu", handler="backup", target="web-1")
    run = bell.enqueue("backup-eu")
    assert working.take(agent, run.id, "s").handed is not None
    bell.jobs.disable("backup-eu")
    (polled,) = working.poll(agent, "s", jobs=["backup"])
    taken = working.take(agent, run.id, "s").handed
    assert taken is not None
    assert (polled.handler, taken.handler) == ("backup", "backup")


def test_a_poll_reads_nothing_of_jobs_that_the_agent_does_not_have(
    bell: Workbell, working: Working, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        bell.enqueue(f"job-{number}", {}, target="web-1")
    monkeypatch.setattr(definitions, "CACHED_FOR", 60)
    bell.runtime.definitions.forget()
    read: list[str] = []
    watch_statements(lambda query, _: read.append(query), monkeypatch.setattr)
    assert working.poll(agent, "s", jobs=["backup"]) == []
    assert read.count("find_job") == 0
    assert read.count("definitions_version") == 1
