"""Contract of keys and tags: one run with a key at a time; new runs may replace waiting ones of their tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from workbell.errors import DuplicateRun, KeyReused
from workbell.model import state
from workbell.model.request import asked_once
from workbell.model.run import PENDING, Added, IdempotencyKey, NewRun, OnDuplicate, Options, Run, Status
from workbell.model.state import Move
from workbell.stores.port import CoreStore, Filter
from workbell.stores.publisher import Pair
from workbell.stores.runs.adding import ROUND, SAME_KEY, SAME_TAG
from workbell.testing.contracts.core.sharing import THREADS, at_once
from workbell.testing.contracts.making import KEEP, add, after, claim, find, ids, request


class RecordingPublisher:
    """A publisher that notes what was written."""

    def __init__(self) -> None:
        self.written_pairs: list[Pair] = []

    def publish(self, pairs: Sequence[Pair]) -> Sequence[Pair]:
        return pairs

    def written(self, pairs: Sequence[Pair]) -> None:
        self.written_pairs += pairs


def _succeed(store: CoreStore, run: Run, at: float) -> None:
    assert store.runs.apply([state.succeed(run, after(at), result=None, keep=KEEP.succeeded)])


def _asked(fingerprint: str, *keys: str, job: str = "work", **fields: Any) -> list[NewRun]:
    """The runs of an HTTP request under an Idempotency-Key."""
    once = IdempotencyKey("k", fingerprint)
    return [asked_once(request(job, key=key, key_for=60, **fields), once) for key in keys]


class DeduplicatingContract:
    def test_a_taken_key_answers_with_its_holder(self, store: CoreStore) -> None:
        """D4, D11: deduplication is of run creation, and a duplicate never raises unless asked to."""
        first, second = request(key="k"), request(key="k", at=1)
        assert store.runs.add([first]) == [Added(first.run.id, True)]
        assert store.runs.add([second]) == [Added(first.run.id, False)]
        assert store.runs.find([second.run.id]) == {}

    def test_one_key_twice_in_a_batch(self, store: CoreStore) -> None:
        first, second, other = request(key="k"), request(key="k"), request()
        assert store.runs.add([first, second, other]) == [
            Added(first.run.id, True),
            Added(first.run.id, False),
            Added(other.run.id, True),
        ]

    def test_keys_of_tenants_are_apart(self, store: CoreStore) -> None:
        made = store.runs.add([request(key="k", tenant="a"), request(key="k", tenant="b")])
        assert [answer.created for answer in made] == [True, True]

    def test_a_key_is_free_when_its_run_has_ended(self, store: CoreStore) -> None:
        add(store, request(key="k"))
        (run,) = claim(store)
        assert [answer.created for answer in store.runs.add([request(key="k")])] == [False]
        _succeed(store, run, 1)
        assert [answer.created for answer in store.runs.add([request(key="k", at=2)])] == [True]

    def test_a_key_stays_taken_while_its_run_waits_for_a_retry(self, store: CoreStore) -> None:
        add(store, request(key="k"))
        (run,) = claim(store)
        assert store.runs.apply([state.retry(run, after(1), error="E", reason="error", wait=KEEP.other)])
        assert store.runs.add([request(key="k", at=2)]) == [Added(run.id, False)]

    def test_a_key_with_a_span_outlives_its_run(self, store: CoreStore) -> None:
        add(store, request(key="k", key_for=60))
        (run,) = claim(store)
        _succeed(store, run, 1)
        assert store.runs.add([request(key="k", at=59)]) == [Added(run.id, False)]
        assert [answer.created for answer in store.runs.add([request(key="k", at=60)])] == [True]

    def test_a_key_with_a_span_is_free_after_it_though_the_run_lives(self, store: CoreStore) -> None:
        old = request(key="k", key_for=60)
        new = request(key="k", at=61)
        assert [answer.created for answer in store.runs.add([old, new])] == [True, True]
        # The old run's end must not free the key that is no longer its own.
        store.runs.apply([state.cancel(old.run, after(62), reason="-", keep=KEEP.other)])
        assert store.runs.add([request(key="k", at=63)]) == [Added(new.run.id, False)]

    def test_keys_whose_span_is_over_are_removed(self, store: CoreStore) -> None:
        add(store, request(key="short", key_for=60), request(key="long", key_for=120), request(key="live"))
        assert store.prune(after(59), 100) == 0
        assert store.prune(after(60), 100) == 1
        assert store.prune(after(120), 100) == 1

    def test_expired_keys_are_removed_in_batches(self, store: CoreStore) -> None:
        """Those that expired first come first. Hundreds of keys a second may have been taken for an hour."""
        add(store, *(request(key=f"k{number}", key_for=60 + number) for number in range(5)))
        assert store.prune(after(99), 2) == 2
        taken = [answer.created for answer in store.runs.add([request(key=f"k{number}", at=59) for number in range(5)])]
        assert taken == [True, True, False, False, False]
        assert [store.prune(after(99), 2) for _ in range(3)] == [2, 1, 0]

    def test_a_run_is_kept_while_its_key_is_held(self, store: CoreStore) -> None:
        """A duplicate is answered with its holder: that must be found, as what it is."""
        held, twin = request(key="k", key_for=600), request(key="k", tenant="other")
        add(store, held, twin, request(), request(key="own", key_for=5))
        for run in claim(store, at=0):
            assert store.runs.apply([state.succeed(run, after(1), result='"done"', keep=timedelta(seconds=9))])
        store.prune(after(10), 100)
        (left,) = store.runs.list(Filter(None))
        assert (left.id, left.status, left.result) == (held.run.id, Status.SUCCEEDED, "done")
        assert left.remove_at == after(600)
        assert store.runs.add([request(key="k", at=599)]) == [Added(held.run.id, False)]
        assert store.prune(after(599), 100) == 0
        assert store.prune(after(600), 100) == 2  # the run, and its key
        assert store.runs.list(Filter(None)) == []

    def test_runs_whose_keys_are_held_are_in_nobodys_way(self, store: CoreStore) -> None:
        keyed = [request(key=f"k{number}", key_for=600) for number in range(5)]
        add(store, *keyed, *(request() for _ in range(5)))
        for run in claim(store, at=0):
            assert store.runs.apply([state.succeed(run, after(1), result=None, keep=timedelta(seconds=9))])
        gone = [store.prune(after(10), 3) for _ in range(4)]
        assert gone == [3, 3, 3, 1]  # those that are put off count as well: pruning goes on while there are many
        assert {run.id for run in store.runs.list(Filter(None))} == {new.run.id for new in keyed}
        assert store.prune(after(599), 100) == 0

    def test_a_run_whose_key_another_has_taken_is_not_kept(self, store: CoreStore) -> None:
        first = request(key="k", key_for=600)
        add(store, first)
        (run,) = claim(store)
        add(store, request(key="k", key_for=600, on_duplicate="replace", delay=60))
        assert store.runs.apply([state.succeed(run, after(1), result=None, keep=timedelta(seconds=9))])
        assert store.prune(after(10), 100) == 1
        assert store.runs.find([run.id]) == {}

    def test_reject_names_the_holder(self, store: CoreStore) -> None:
        (run,) = add(store, request(key="k"))
        with pytest.raises(DuplicateRun, match=run.id) as caught:
            store.runs.add([request(key="k", on_duplicate="reject")])
        assert caught.value.run_id == run.id
        assert ids(store.runs.list(Filter(None))) == [run.id]

    def test_reject_of_a_free_key_makes_the_run(self, store: CoreStore) -> None:
        new = request(key="k", on_duplicate="reject")
        assert store.runs.add([new]) == [Added(new.run.id, True)]

    def test_a_rejected_duplicate_writes_nothing_of_its_batch(self, store: CoreStore) -> None:
        (run, tagged) = add(store, request(key="k"), request(tag="t"))
        with pytest.raises(DuplicateRun):
            store.runs.add(
                [
                    request(),
                    request(key="other"),
                    request(tag="t", replace_tag=True),
                    request(key="k", on_duplicate="reject"),
                    request(),
                ]
            )
        assert ids(store.runs.list(Filter(None))) == [tagged.id, run.id]
        assert find(store, tagged).status is Status.QUEUED
        assert [answer.created for answer in store.runs.add([request(key="other")])] == [True]

    def test_a_request_again_answers_with_its_runs(self, store: CoreStore) -> None:
        first, again = _asked("f1", "k0", "k1"), _asked("f1", "k0", "k1")
        assert [one.created for one in store.runs.add(first)] == [True, True]
        assert store.runs.add(again) == [Added(new.run.id, False) for new in first]
        for run in claim(store):
            _succeed(store, run, at=1)
        assert store.runs.add(again) == [Added(new.run.id, False) for new in first]

    @pytest.mark.parametrize("keys", [("k0", "k1", "k2"), ("k0",), ("k2", "k1"), ("k0", "k1")])
    def test_another_request_under_a_key_writes_nothing(self, store: CoreStore, keys: Sequence[str]) -> None:
        first = _asked("f1", "k0", "k1")
        store.runs.add(first)
        with pytest.raises(KeyReused, match=r"Idempotency-Key 'k' was used for another request \(run [0-9a-f-]{36}\)"):
            store.runs.add([request(), *_asked("f2", *keys)])
        assert sorted(ids(store.runs.list(Filter(None)))) == sorted(new.run.id for new in first)
        assert store.runs.add(_asked("f2", "free"))[0].created

    def test_requests_under_one_key_at_once(self, store: CoreStore) -> None:
        """One of them is written, whole; the others are refused, whole."""
        keys = [f"k{number}" for number in range(THREADS)]

        def ask(number: int) -> str:
            try:
                store.runs.add(_asked(f"f{number}", *keys[: number + 1]))
            except KeyReused:
                return "refused"
            return f"f{number}"

        answers = at_once(ask)
        made = store.runs.list(Filter(None))
        assert sorted(answers).count("refused") == len(answers) - 1
        [(fingerprint, count)] = Counter(run.options.request for run in made).items()
        assert fingerprint in answers
        assert fingerprint == f"f{count - 1}"

    def test_replace_ends_the_waiting_holder(self, store: CoreStore) -> None:
        (old,) = add(store, request(key="k", delay=60))
        new = request(key="k", at=1, on_duplicate="replace")
        assert store.runs.add([new]) == [Added(new.run.id, True)]
        ended = find(store, old)
        assert (ended.status, ended.finished_at) == (Status.CANCELED, after(1))
        assert ended.remove_at == after(1) + KEEP.other
        assert ended.reason is not None
        assert new.run.id in ended.reason
        assert store.runs.add([request(key="k", at=2)]) == [Added(new.run.id, False)]

    def test_replace_leaves_a_running_holder_alone_and_takes_its_key(self, store: CoreStore) -> None:
        add(store, request(key="k"))
        (old,) = claim(store)
        new = request(key="k", at=1, on_duplicate="replace")
        assert store.runs.add([new]) == [Added(new.run.id, True)]
        assert find(store, old) == old
        _succeed(store, old, 2)
        assert store.runs.add([request(key="k", at=3)]) == [Added(new.run.id, False)]

    def test_replace_spares_other_keys_and_tenants(self, store: CoreStore) -> None:
        others = add(store, request(key="l"), request(key="k", tenant="b"), request())
        add(store, request(key="k"))
        store.runs.add([request(key="k", on_duplicate="replace", at=1)])
        assert [find(store, run).status for run in others] == [Status.QUEUED] * 3

    def test_replace_tag_ends_waiting_runs_of_the_tag(self, store: CoreStore) -> None:
        """B10."""
        add(store, request(tag="t"))
        (running,) = claim(store)
        waiting = add(store, request(tag="t"), request(tag="t", delay=60, queue="mail"), request("send", tag="t"))
        spared = add(store, request(tag="u"), request(), request(tag="t", tenant="b"))
        new = request(tag="t", at=1, replace_tag=True)
        assert store.runs.add([new]) == [Added(new.run.id, True)]
        for run in waiting:
            ended = find(store, run)
            assert (ended.status, ended.finished_at) == (Status.CANCELED, after(1))
            assert ended.reason is not None
            assert new.run.id in ended.reason
        assert find(store, running) == running
        assert [find(store, run) for run in spared] == spared
        left = store.runs.list(Filter("default", tag="t", status=tuple(PENDING)))
        assert ids(left) == [new.run.id]

    def test_replace_tag_ends_any_number_of_waiting_runs(self, store: CoreStore) -> None:
        """In rounds, each of them published; a key of one of them is free then."""
        publisher = RecordingPublisher()
        store.publisher = publisher
        olds = [request(tag="t", delay=number % 2) for number in range(2 * ROUND)]
        store.runs.add([*olds, request(tag="t", key="k"), spared := request(tag="t", tenant="b")])
        new = request(tag="t", key="k", replace_tag=True, on_duplicate="reject", at=1)
        assert store.runs.add([new]) == [Added(new.run.id, True)]
        found = store.runs.find([old.run.id for old in olds])
        assert {run.status for run in found.values()} == {Status.CANCELED}
        assert find(store, spared.run).status is Status.QUEUED
        assert ids(store.runs.list(Filter("default", tag="t", status=tuple(PENDING)))) == [new.run.id]
        assert sorted(run.id for run, _ in publisher.written_pairs) >= sorted(found)
        assert len(publisher.written_pairs) == len(olds) + 1

    def test_a_duplicate_that_is_rejected_replaces_none_of_very_many(self, store: CoreStore) -> None:
        olds = [request(tag="t") for _ in range(ROUND + 1)]
        store.runs.add([*olds, request(key="k")])
        with pytest.raises(DuplicateRun):
            store.runs.add([request(tag="t", key="k", replace_tag=True, on_duplicate="reject", at=1)])
        assert {run.status for run in store.runs.find([old.run.id for old in olds]).values()} == {Status.QUEUED}

    @pytest.mark.parametrize("by", ["tag", "key"])
    def test_a_replaced_run_is_ended_by_the_move_of_the_state_machine(self, store: CoreStore, by: str) -> None:
        """Also with its own time to be kept."""
        options = msgspec.json.encode(Options(remove_delay=5.5)).decode()
        olds = add(store, request(tag="t", key="k", options_text=options), request("send", tag="t", delay=60))
        if by == "key":
            new = request(key="k", at=1, on_duplicate="replace")
            store.runs.add([new])
            olds, why = olds[:1], SAME_KEY
        else:
            new, why = request(tag="t", at=1, replace_tag=True), SAME_TAG
            store.runs.add([new])
        for old in olds:
            change = state.replace(old, after(1), by=new.run, why=why, keep=KEEP)
            assert find(store, old) == change.after(old)
        assert find(store, olds[0]).remove_at == after(6.5)

    @pytest.mark.parametrize("by", ["tag", "key", "nothing"])
    def test_what_is_replaced_is_published_with_the_write(self, store: CoreStore, by: str) -> None:
        publisher = RecordingPublisher()
        store.publisher = publisher
        (old,) = add(store, request(tag="t", key="k"))
        new = request(tag="t" if by == "tag" else "u", key="k" if by == "key" else "l", at=1, replace_tag=by == "tag")
        store.runs.add([msgspec.structs.replace(new, on_duplicate=OnDuplicate.REPLACE)])
        if by == "nothing":
            assert publisher.written_pairs == []
            return
        ((run, change),) = publisher.written_pairs
        assert (run.id, run.lane, change.move, change.reason) == (
            old.id,
            old.lane,
            Move.CANCEL,
            find(store, old).reason,
        )

    def test_what_is_replaced_by_a_rejected_duplicate_is_not_published(self, store: CoreStore) -> None:
        publisher = RecordingPublisher()
        store.publisher = publisher
        (old,) = add(store, request(tag="t"))
        add(store, request(key="k"))
        with pytest.raises(DuplicateRun):
            store.runs.add([request(tag="t", key="k", replace_tag=True, on_duplicate="reject", at=1)])
        assert (find(store, old), publisher.written_pairs) == (old, [])

    def test_replace_tag_frees_the_keys_of_what_it_ends(self, store: CoreStore) -> None:
        add(store, request(tag="t", key="k"))
        store.runs.add([request(tag="t", replace_tag=True)])
        assert [answer.created for answer in store.runs.add([request(key="k")])] == [True]

    def test_replace_tag_acts_in_the_order_of_the_batch(self, store: CoreStore) -> None:
        before, replacing, behind = request(tag="t"), request(tag="t", replace_tag=True), request(tag="t")
        store.runs.add([before, replacing, behind])
        found = [find(store, new.run).status for new in (before, replacing, behind)]
        assert found == [Status.CANCELED, Status.QUEUED, Status.QUEUED]

    def test_replace_tag_and_a_taken_key_together(self, store: CoreStore) -> None:
        """The tag is cleared first; the key may be free because of that."""
        (old,) = add(store, request(tag="t", key="k"))
        new = request(tag="t", key="k", replace_tag=True)
        assert store.runs.add([new]) == [Added(new.run.id, True)]
        assert find(store, old).status is Status.CANCELED
