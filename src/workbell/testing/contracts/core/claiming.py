"""Contract: dispatch, survey and claim, from due to leased."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from workbell.model import state
from workbell.model.ids import MOST_TOKEN
from workbell.model.run import Lane, Status
from workbell.stores.port import CoreStore, Head, Held, LeaseTerms, Pick, Renewed
from workbell.testing.contracts.making import (
    KEEP,
    add,
    after,
    claim,
    claim_picks,
    claimed,
    find,
    held,
    ids,
    request,
    take,
)


def aimed(store: CoreStore, *targets: str, tenant: str = "default", limit: int = 100) -> list[tuple[str, int]]:
    """The targets and ranks at which something waits."""
    return [(str(head.lane.target), head.rank) for head in store.runs.survey_tenant(tenant, limit, targets)]


class ClaimingContract:
    def test_dispatch_queues_what_is_due(self, store: CoreStore) -> None:
        """D5."""
        soon, now, later = add(store, request(delay=10), request(delay=20), request(delay=30))
        assert store.runs.next_due() == after(10)
        assert [store.runs.next_due(after(second)) for second in (9, 10, 30)] == [after(10), after(20), None]
        assert store.runs.dispatch(after(9), 100) == []
        assert len(store.runs.dispatch(after(20), 100)) == 2
        assert [find(store, run).status for run in (soon, now, later)] == ["queued", "queued", "scheduled"]
        assert find(store, soon).updated_at == after(20)
        assert store.runs.next_due() == after(30)
        assert store.runs.dispatch(after(20), 100) == []

    def test_dispatch_takes_the_earliest_up_to_its_limit(self, store: CoreStore) -> None:
        late, early = add(store, request(delay=20), request(delay=10))
        assert len(store.runs.dispatch(after(60), 1)) == 1
        assert (find(store, early).status, find(store, late).status) == (Status.QUEUED, Status.SCHEDULED)

    def test_nothing_is_due_in_an_empty_store(self, store: CoreStore) -> None:
        add(store, request())
        assert store.runs.next_due() is None

    def test_a_survey_names_lanes_and_ranks_with_queued_runs(self, store: CoreStore) -> None:
        add(store, request(delay=60, queue="waiting"))
        claimed(store, queue="running")
        add(store, request(), request(), request(priority=5), request(tenant="b", target="machine"))
        plain, aimed = Lane("default", "default", "work"), Lane("b", "default", "work", "machine")
        expected = sorted([Head(plain.id, -5, plain), Head(plain.id, 0, plain), Head(aimed.id, 0, aimed)])
        assert store.runs.survey(-1, 100) == expected

    def test_a_survey_goes_on_where_the_last_one_ended(self, store: CoreStore) -> None:
        add(store, *[request(queue=f"q{n}") for n in range(10)])
        every = store.runs.survey(-1, 100)
        assert [head.lane_id for head in every] == sorted(head.lane_id for head in every)
        assert len(every) == 10
        assert store.runs.survey(-1, 4) == every[:4]
        assert store.runs.survey(every[3].lane_id, 4) == every[4:8]
        assert store.runs.survey(every[7].lane_id, 4) == every[8:]
        assert store.runs.survey(every[9].lane_id, 4) == []

    def test_a_claim_takes_a_lease_under_a_new_token(self, store: CoreStore) -> None:
        """D6, B3."""
        (made,) = add(store, request(input_text='{"a":1}'))
        (run,) = claim(store, at=5, worker="w1", lease=30)
        assert (run.id, run.status, run.input_text) == (made.id, Status.RUNNING, '{"a":1}')
        assert (run.attempt, run.worker) == (1, "w1")
        assert 1 <= run.token <= MOST_TOKEN
        assert (run.lease_until, run.started_at, run.updated_at) == (after(35), after(5), after(5))
        assert find(store, run) == run
        assert claim(store, at=5) == []

    def test_every_claim_of_a_run_has_another_token(self, store: CoreStore) -> None:
        """P4: also one that was handed back before it began, and so was never tried."""
        run = claimed(store)
        tokens = {run.token}
        for number in (2, 3, 4):
            assert store.runs.apply([state.release(run, after(number))])
            (run,) = claim(store, at=number)
            tokens.add(run.token)
            assert run.attempt == 1
        assert len(tokens) == 4

    @pytest.mark.parametrize("token", [1, 2**31, MOST_TOKEN])
    def test_the_token_is_that_of_the_terms_to_the_last_digit(self, store: CoreStore, token: int) -> None:
        """P4: in every write about the run, and in the row of its attempt."""
        add(store, request())
        (head,) = store.runs.survey(-1, 10)
        picks = [Pick(head.lane_id, head.rank, 1)]
        (run,) = store.runs.claim(picks, 1, LeaseTerms("worker", after(0), after(30), token))
        assert (run.token, find(store, run).token) == (token, token)
        near = Held(run.id, token - 1)
        assert store.runs.renew([near], now=after(1), lease_until=after(40)) == []
        assert store.runs.renew([held(run)], now=after(1), lease_until=after(40)) == [Renewed(run.id, token)]
        assert (store.runs.mark_alone(near), store.runs.mark_alone(held(run))) == (False, True)
        assert (store.runs.set_progress(near, "{}"), store.runs.set_progress(held(run), "{}")) == (False, True)
        other = msgspec.structs.replace(run, token=token - 1)
        assert not store.runs.apply([state.retry(other, after(2), error="E", reason="error", wait=timedelta(0))])
        assert store.runs.apply([state.retry(run, after(2), error="E", reason="error", wait=timedelta(0))])
        store.runs.dispatch(after(2), 10)
        (run,) = store.runs.take([run.id], LeaseTerms("worker", after(3), after(33), token))
        assert [attempt.token for attempt in store.runs.attempts(run.id)] == [token]
        (lease,) = [one for one in store.runs.leases(after(99), after(999)) if one.run_id == run.id]
        assert lease.token == token
        assert store.runs.take_over([lease._replace(token=token - 1)], 10) == []
        assert [one.token for one in store.runs.take_over([lease], 10)] == [token]
        other = msgspec.structs.replace(run, token=token - 1)
        assert not store.runs.apply([state.succeed(other, after(4), result=None, keep=KEEP.succeeded)])
        assert store.runs.apply([state.succeed(run, after(4), result=None, keep=KEEP.succeeded)])
        assert find(store, run).token == token

    def test_the_order_is_due_time_then_id(self, store: CoreStore) -> None:
        third, first, second = request(at=5), request(at=1), request(at=1)
        add(store, third, second, first)
        assert ids(claim(store, at=9)) == [first.run.id, second.run.id, third.run.id]

    def test_a_short_claim_takes_the_head_of_the_lane(self, store: CoreStore) -> None:
        third, first, second = request(at=5), request(at=1), request(at=1)
        add(store, third, second, first)
        assert [ids(claim(store, 1, at=9)) for _ in range(3)] == [[first.run.id], [second.run.id], [third.run.id]]

    def test_a_full_claim_is_in_the_order_of_priority(self, store: CoreStore) -> None:
        runs = add(store, *[request(priority=priority, queue=q) for priority in (0, 9, -9) for q in ("a", "b")])
        expected = sorted(runs, key=lambda run: (run.rank, run.scheduled_for, run.id))
        assert ids(claim(store)) == ids(expected)

    def test_only_chosen_lanes_and_ranks_are_taken(self, store: CoreStore) -> None:
        wanted, *others = add(
            store,
            request(queue="mail", priority=3),
            request(queue="mail"),
            request(priority=3),
            request(queue="mail", priority=3, tenant="b"),
            request("send", queue="mail", priority=3),
        )
        got = claim_picks(store, [Pick(wanted.lane.id, -3, 100)], 100)
        assert ids(got) == [wanted.id]
        assert [find(store, run).status for run in others] == [Status.QUEUED] * 4

    def test_quotas_and_the_limit(self, store: CoreStore) -> None:
        a = ids(add(store, *[request(queue="a", at=n) for n in range(5)]))
        b = ids(add(store, *[request(queue="b", at=n) for n in range(5)]))
        lanes = {name: Lane("default", name, "work").id for name in "ab"}
        picks = [Pick(lanes["a"], 0, 2), Pick(lanes["b"], 0, 2)]
        assert sorted(ids(claim_picks(store, picks, 3, at=9))) == sorted([*a[:2], b[0]])
        assert sorted(ids(claim_picks(store, picks, 100, at=9))) == sorted([*a[2:4], *b[1:3]])
        assert claim_picks(store, picks, 0, at=9) == []
        assert claim_picks(store, [], 100, at=9) == []

    def test_expired_runs_are_not_claimed(self, store: CoreStore) -> None:
        """Not started by `expires_at`: not started at all."""
        gone, good = add(store, request(expires_at=after(10)), request(expires_at=after(11)))
        assert ids(claim(store, at=10)) == [good.id]
        assert find(store, gone).status is Status.QUEUED

    def test_a_run_that_was_started_in_time_does_not_expire(self, store: CoreStore) -> None:
        """Its retries may come later; one that was handed back before it began has not been started."""
        add(store, request("tried", expires_at=after(10)), request("returned", expires_at=after(10)))
        returned, tried = sorted(claim(store, at=5), key=lambda run: run.job)
        store.runs.apply([state.lose(tried, after(6), keep=KEEP.other), state.release(returned, after(6))])
        assert ids(store.runs.expired(after(11), 10)) == [returned.id]
        assert ids(claim(store, at=11)) == [tried.id]

    def test_scheduled_and_running_runs_are_not_claimed(self, store: CoreStore) -> None:
        claimed(store)
        (waiting,) = add(store, request(delay=60))
        assert claim_picks(store, [Pick(waiting.lane.id, 0, 100)], 100, at=90) == []

    def test_what_waits_for_a_target_is_found(self, store: CoreStore) -> None:
        """By rank, of one tenant; with what it takes to claim it."""
        wanted = [request(target="press"), request(target="press", priority=3), request(target="label:gpu")]
        others = [request(), request(target="other"), request(target="press", delay=60)]
        add(store, *wanted, request(target="press"), *others, request(target="press", tenant="acme"))
        assert aimed(store, "press", "label:gpu")[0] == ("press", -3)
        assert sorted(aimed(store, "press", "label:gpu")) == [("label:gpu", 0), ("press", -3), ("press", 0)]
        assert aimed(store, "press", tenant="acme") == [("press", 0)]
        assert aimed(store, "press", limit=1) == [("press", -3)]
        assert aimed(store) == []
        heads = store.runs.survey_tenant("default", 9, ["press"])
        picks = [Pick(head.lane_id, head.rank, 1) for head in heads]
        assert ids(claim_picks(store, picks, 9)) == [wanted[1].run.id, wanted[0].run.id]
        assert [head.lane for head in heads] == [wanted[0].run.lane] * 2

    def test_some_lanes_of_a_tenant(self, store: CoreStore) -> None:
        """Each once, with its best rank; nothing of other tenants, and nothing that waits."""
        first = add(store, request(), request(priority=3), request("cut", queue="x"))[0].lane
        add(store, request(tenant="acme"), request("late", delay=60))
        heads = store.runs.survey_tenant("default", 9)
        assert sorted((head.lane.job, head.rank) for head in heads) == sorted([(first.job, -3), ("cut", 0)])
        assert {head.lane_id for head in heads} == {head.lane.id for head in heads}
        assert len(store.runs.survey_tenant("default", 1)) == 1
        assert store.runs.survey_tenant("nobody", 9) == []

    def test_chosen_runs_are_taken_and_no_others(self, store: CoreStore) -> None:
        """D6: of a queue that says which run to do."""
        first, second, third, urgent = add(
            store, request(at=1), request(at=2), request(at=3), request(at=4, priority=5)
        )
        got = take(store, [third.id, urgent.id, second.id, third.id], at=5)
        assert ids(got) == [urgent.id, second.id, third.id]
        assert {(run.status, run.attempt, run.worker) for run in got} == {(Status.RUNNING, 1, "worker")}
        assert {(run.started_at, run.lease_until) for run in got} == {(after(5), after(35))}
        assert store.runs.find(ids(got)) == {run.id: run for run in got}
        assert find(store, first).status is Status.QUEUED
        assert take(store, ids(got), at=6) == []

    def test_what_cannot_start_is_not_taken(self, store: CoreStore) -> None:
        """Scheduled, running, expired, finished, unknown."""
        running = claimed(store)
        done = claimed(store)
        store.runs.apply([state.succeed(done, after(1), result=None, keep=KEEP.succeeded)])
        waiting, expired, good = add(store, request(delay=60), request(expires_at=after(10)), request())
        wanted = [running.id, done.id, waiting.id, expired.id, request().run.id, good.id]
        assert ids(take(store, wanted, at=10)) == [good.id]
        assert take(store, [], at=10) == []

    def test_chosen_runs_of_chosen_lanes(self, store: CoreStore) -> None:
        """Where a worker knows which lanes it serves, and that these have no limits."""
        expired, mine, other, left = add(store, request(expires_at=after(5)), request(), request("other"), request())
        wanted = [expired.id, mine.id, other.id]
        assert take(store, wanted, at=5, lanes=[]) == []
        (got,) = take(store, wanted, at=5, lanes=[mine.lane.id, 1])
        assert got.id == mine.id
        assert (got.status, got.attempt, got.worker) == (Status.RUNNING, 1, "worker")
        assert (got.started_at, got.lease_until) == (after(5), after(35))
        assert take(store, wanted, at=6, lanes=[mine.lane.id]) == []
        assert ids(take(store, [other.id, left.id], at=6, lanes=[mine.lane.id, other.lane.id])) == [other.id, left.id]

    def test_a_run_that_was_handed_back_is_taken_under_a_new_token(self, store: CoreStore) -> None:
        run = claimed(store)
        assert store.runs.apply([state.lose(run, after(1), keep=KEEP.other)])
        (again,) = take(store, [run.id], at=60)
        assert again.attempt == 2
        assert again.token != run.token
        assert not store.runs.apply([state.succeed(run, after(61), result=None, keep=KEEP.succeeded)])
