"""Contract of agents: their names, and the runs that wait for them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from workbell.model.agent import Agent
from workbell.model.ids import new_id
from workbell.stores.port import Pick, Store
from workbell.testing.contracts.core.claiming import aimed
from workbell.testing.contracts.core.sharing import at_once
from workbell.testing.contracts.making import START, add, after, claim_picks, request
from workbell.testing.contracts.parts.access import ODD


def agent(name: str = "press", **fields: Any) -> Agent:
    given: dict[str, Any] = {"id": new_id(), "name": name, "created_at": START}
    return Agent(**(given | fields))


def full_agent(name: str = "press") -> Agent:
    return agent(
        name,
        tenant="acme",
        labels=("gpu", ODD),
        jobs=("cut", "print"),
        version="1.2",
        host="shop-7",
        metrics_text='{"load":0.5}',
        seen_at=after(1.5),
        enabled=False,
    )


class AgentsContract:
    def test_an_agent_is_made_known_and_changed(self, store: Store) -> None:
        """Its beginning stays."""
        mine = agent("a")
        assert store.agents.put(mine)
        assert store.agents.find(mine.id) == mine
        changed = replace(full_agent("a"), id=mine.id, tenant="default", created_at=after(9))
        assert store.agents.put(changed)
        assert store.agents.find(mine.id) == replace(changed, created_at=START)
        renamed = replace(changed, name="b", jobs=())
        assert store.agents.put(renamed)
        assert store.agents.list() == [replace(renamed, created_at=START)]
        assert store.agents.find(new_id()) is None

    def test_a_name_is_one_agents(self, store: Store) -> None:
        """In its tenant. A refused agent stays as it was."""
        mine, other = agent("a"), agent("b")
        assert store.agents.put(mine)
        assert store.agents.put(other)
        assert not store.agents.put(agent("a"))
        assert not store.agents.put(replace(other, name="a", host="new"))
        assert store.agents.list() == [mine, other]
        assert store.agents.put(agent("a", tenant="acme"))

    def test_of_many_who_take_a_name_at_once_one_gets_it(self, store: Store) -> None:
        """Some are new, and some had another name."""
        known = [agent(f"a{number}") for number in range(3)]
        for one in known:
            store.agents.put(one)
        wanted = [*(replace(one, name="best") for one in known), *(agent("best") for _ in range(3))]
        answers = at_once(lambda number: store.agents.put(wanted[number]))
        assert sum(answers) == 1
        expected = {one.id: one for one in known} | {wanted[answers.index(True)].id: wanted[answers.index(True)]}
        assert {one.id: one for one in store.agents.list()} == expected

    def test_agents_are_listed_by_name_and_tenant(self, store: Store) -> None:
        later, first, elsewhere = agent("b"), agent("a"), full_agent("a1")
        for one in (later, first, elsewhere):
            store.agents.put(one)
        assert store.agents.list() == [first, elsewhere, later]
        assert store.agents.list("default") == [first, later]
        assert store.agents.list("acme") == [elsewhere]

    def test_an_agent_is_seen_and_removed(self, store: Store) -> None:
        mine, other = agent("a"), agent("b")
        store.agents.put(mine)
        store.agents.put(other)
        store.agents.see(mine.id, after(5))
        store.agents.see(new_id(), after(6))
        assert store.agents.list() == [replace(mine, seen_at=after(5)), other]
        assert store.agents.delete(mine.id)
        assert not store.agents.delete(mine.id)
        assert store.agents.list() == [other]

    def test_what_an_agent_reports_of_itself_changes_nothing_else(self, store: Store) -> None:
        """What it does not report stays, and so does what was changed about it meanwhile."""
        mine = agent("a", labels=("gpu",), enabled=False)
        store.agents.put(mine)
        store.agents.see(mine.id, after(5), jobs=["cut", ODD], metrics_text='{"load":1}')
        reported = replace(mine, seen_at=after(5), jobs=("cut", ODD), metrics_text='{"load":1}')
        assert store.agents.find(mine.id) == reported
        store.agents.see(mine.id, after(6))
        assert store.agents.find(mine.id) == replace(reported, seen_at=after(6))
        store.agents.see(mine.id, after(7), jobs=[])
        assert store.agents.find(mine.id) == replace(reported, seen_at=after(7), jobs=())

    # What waits for them

    def test_targets_that_something_waits_for(self, store: Store) -> None:
        asked = [("default", "press"), ("acme", "label:gpu"), ("acme", "press"), ("default", "late")]
        assert store.reports.waiting_targets(asked) == set()
        add(store, request(target="press"), request(target="press", queue="x"), request(target="late", delay=60))
        add(store, request(target="label:gpu", tenant="acme"), request())
        assert store.reports.waiting_targets(asked) == {("default", "press"), ("acme", "label:gpu")}
        assert store.reports.waiting_targets(asked[1:]) == {("acme", "label:gpu")}, "nobody waits for the other"
        assert store.reports.waiting_targets([]) == set()
        (head,) = store.runs.survey_tenant("acme", 9, ["label:gpu"])
        claim_picks(store, [Pick(head.lane_id, head.rank, 1)], 9)
        assert store.reports.waiting_targets(asked) == {("default", "press")}
        assert aimed(store, "label:gpu", tenant="acme") == []

    def test_what_is_paused_is_not_found(self, store: Store) -> None:
        add(store, request("cut", target="press"), request("print", target="press", queue="x"))
        store.pauses.add("default", None, "cut", after(5))
        assert [head.lane.job for head in store.runs.survey_tenant("default", 9, ["press"])] == ["print"]
        store.pauses.add("default", "x", None, after(5))
        assert aimed(store, "press") == []
        assert store.reports.waiting_targets([("default", "press")]) == set()
