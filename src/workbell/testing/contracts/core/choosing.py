"""Contract of chosen ids: a request that comes again is answered with its run, and no run is made twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from workbell.errors import DuplicateRun, KeyReused
from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.run import Added, IdempotencyKey, NewRun, Options, Run, Status
from workbell.stores.port import CoreStore, Filter
from workbell.stores.runs.adding import ROUND
from workbell.testing.contracts.core.sharing import THREADS, at_once
from workbell.testing.contracts.making import KEEP, add, after, claim, find, ids, request


def chosen(run_id: str, fingerprint: str = "f1", **fields: Any) -> NewRun:
    """The request for a run whose id the client has chosen."""
    options = msgspec.json.encode(Options(request=fingerprint)).decode()
    new = request(id=run_id, options_text=options, **fields)
    once = IdempotencyKey("k", fingerprint) if str(fields.get("key")).startswith("http:") else None
    return msgspec.structs.replace(new, chosen=True, once=once)


def _end(store: CoreStore, *runs: Run) -> None:
    assert store.runs.apply([state.cancel(run, after(1), reason="-", keep=KEEP.other) for run in runs])


class ChoosingContract:
    def test_a_run_has_the_chosen_id(self, store: CoreStore) -> None:
        new = chosen(new_id(), input_text='{"a":1}', tag="t")
        assert store.runs.add([new]) == [Added(new.run.id, True)]
        assert find(store, new.run) == new.run

    def test_a_request_again_while_its_run_lives(self, store: CoreStore) -> None:
        run_id = new_id()
        (made,) = add(store, chosen(run_id))
        assert store.runs.add([chosen(run_id, at=1)]) == [Added(run_id, False)]
        (running,) = claim(store)
        assert store.runs.add([chosen(run_id, at=2)]) == [Added(run_id, False)]
        assert store.runs.list(Filter(None)) == [running]
        assert running.created_at == made.created_at

    def test_a_request_again_replaces_none_of_very_many(self, store: CoreStore) -> None:
        run_id = new_id()
        add(store, chosen(run_id, tag="t", replace_tag=True))
        behind = ids(add(store, *(request(tag="t") for _ in range(ROUND + 1))))
        assert store.runs.add([chosen(run_id, tag="t", replace_tag=True, at=1)]) == [Added(run_id, False)]
        assert {run.status for run in store.runs.find([run_id, *behind]).values()} == {Status.QUEUED}

    def test_a_request_again_after_its_run_has_ended(self, store: CoreStore) -> None:
        run_id = new_id()
        _end(store, *add(store, chosen(run_id)))
        assert store.runs.add([chosen(run_id, at=2)]) == [Added(run_id, False)]
        (left,) = store.runs.list(Filter(None))
        assert (left.id, left.status) == (run_id, Status.CANCELED)
        assert claim(store) == []

    @pytest.mark.parametrize("ended", [False, True])
    @pytest.mark.parametrize("other", [{"tenant": "b"}, {"fingerprint": "f2"}])
    def test_an_id_of_another_request_writes_nothing(self, store: CoreStore, other: Any, ended: bool) -> None:
        """Of another tenant's run nothing is revealed but that the id is taken."""
        run_id = new_id()
        made = add(store, chosen(run_id, tag="secret"))
        if ended:
            _end(store, *made)
        with pytest.raises(KeyReused, match=f"id {run_id}: .*; make a new id for a new run") as caught:
            store.runs.add([request(), chosen(new_id()), chosen(run_id, **other)])
        assert "secret" not in str(caught.value)
        assert ids(store.runs.list(Filter(None))) == [run_id]

    def test_the_id_of_a_run_that_no_request_has_chosen(self, store: CoreStore) -> None:
        (run,) = add(store, request())
        with pytest.raises(KeyReused):
            store.runs.add([chosen(run.id)])
        assert store.runs.list(Filter(None)) == [run]

    def test_known_and_new_ones_together(self, store: CoreStore) -> None:
        live, ended, new = new_id(), new_id(), new_id()
        made = add(store, chosen(live), chosen(ended))
        _end(store, made[1])
        plain, keyed = request(), request(key="k")
        asked = [chosen(new), plain, chosen(ended), keyed, chosen(live)]
        assert store.runs.add(asked) == [
            Added(new, True),
            Added(plain.run.id, True),
            Added(ended, False),
            Added(keyed.run.id, True),
            Added(live, False),
        ]
        assert len(store.runs.list(Filter(None))) == 5

    def test_one_id_twice_in_a_call(self, store: CoreStore) -> None:
        """A request that comes again before it is written may share its transaction with the first."""
        run_id = new_id()
        assert store.runs.add([chosen(run_id), chosen(run_id)]) == [Added(run_id, True), Added(run_id, False)]
        other = new_id()
        for second in (chosen(other, "f2"), chosen(other, tenant="b")):
            with pytest.raises(KeyReused):
                store.runs.add([chosen(other), second])
        assert ids(store.runs.list(Filter(None))) == [run_id]

    @pytest.mark.parametrize("on_duplicate", ["return", "reject", "replace"])
    @pytest.mark.parametrize("ended", [False, True])
    def test_a_request_again_with_a_key_of_its_own(self, store: CoreStore, on_duplicate: str, ended: bool) -> None:
        run_id = new_id()
        made = add(store, chosen(run_id, key="k", on_duplicate=on_duplicate))
        if ended:
            _end(store, *made)
        again = chosen(run_id, at=2, key="k", on_duplicate=on_duplicate)
        assert store.runs.add([again]) == [Added(run_id, False)]
        assert len(store.runs.list(Filter(None))) == 1

    def test_a_request_again_whose_key_has_passed_to_another(self, store: CoreStore) -> None:
        run_id = new_id()
        add(store, chosen(run_id, key="k"))
        (running,) = claim(store)
        (newer,) = add(store, request(key="k", on_duplicate="replace", at=1))
        assert store.runs.add([chosen(run_id, at=2, key="k")]) == [Added(run_id, False)]
        _end(store, running)
        assert store.runs.add([chosen(run_id, at=2, key="k")]) == [Added(run_id, False)]
        assert find(store, newer).status is Status.QUEUED

    def test_a_taken_key_comes_before_a_new_id(self, store: CoreStore) -> None:
        (holder,) = add(store, request(key="k"))
        assert store.runs.add([chosen(new_id(), key="k")]) == [Added(holder.id, False)]
        with pytest.raises(DuplicateRun, match=holder.id):
            store.runs.add([chosen(new_id(), key="k", on_duplicate="reject")])
        assert store.runs.list(Filter(None)) == [holder]

    def test_a_request_under_a_key_and_an_id(self, store: CoreStore) -> None:
        """So are runs that are removed soon: the key keeps them."""
        run_id = new_id()
        made = add(store, chosen(run_id, key="http:k", key_for=60))
        assert store.runs.add([chosen(run_id, at=1, key="http:k", key_for=60)]) == [Added(run_id, False)]
        _end(store, *made)
        assert store.runs.add([chosen(run_id, at=2, key="http:k", key_for=60)]) == [Added(run_id, False)]
        with pytest.raises(KeyReused):
            store.runs.add([chosen(run_id, "f2", at=3, key="http:k", key_for=60)])

    def test_a_request_again_replaces_nothing(self, store: CoreStore) -> None:
        run_id = new_id()
        (old,) = add(store, request(tag="t"))
        add(store, chosen(run_id, tag="t", replace_tag=True))
        assert find(store, old).status is Status.CANCELED
        (newer,) = add(store, request(tag="t"))
        assert store.runs.add([chosen(run_id, at=2, tag="t", replace_tag=True)]) == [Added(run_id, False)]
        assert find(store, newer).status is Status.QUEUED

    @pytest.mark.parametrize("by", ["tag", "key"])
    def test_a_run_that_another_of_its_call_replaces(self, store: CoreStore, by: str) -> None:
        old, new = chosen(new_id(), tag="t", key="k"), chosen(new_id(), tag="t", key="k", on_duplicate="replace")
        if by == "tag":
            old, new = chosen(new_id(), tag="t"), chosen(new_id(), tag="t", replace_tag=True)
        assert store.runs.add([old, new]) == [Added(old.run.id, True), Added(new.run.id, True)]
        assert [find(store, one.run).status for one in (old, new)] == [Status.CANCELED, Status.QUEUED]
        assert store.runs.add([old, new]) == [Added(old.run.id, False), Added(new.run.id, False)]

    def test_a_known_run_beside_one_that_takes_its_key(self, store: CoreStore) -> None:
        known = chosen(new_id(), key="k", on_duplicate="reject")
        _end(store, *add(store, known))
        new = request(key="k", on_duplicate="reject", at=2)
        assert store.runs.add([known, new]) == [Added(known.run.id, False), Added(new.run.id, True)]

    def test_one_request_at_once(self, store: CoreStore) -> None:
        """Some in the reverse order, and some while workers end the runs."""
        chosen_ids = [new_id() for _ in range(20)]

        def ask(number: int) -> list[Added]:
            order = chosen_ids if number % 2 else chosen_ids[::-1]
            if number % 3 == 2:
                for run in claim(store, 5):
                    store.runs.apply([state.succeed(run, after(1), result=None, keep=KEEP.succeeded)])
            return sorted(store.runs.add([chosen(run_id) for run_id in order]), key=lambda one: one.id)

        answers = at_once(ask)
        assert Counter(one.id for answer in answers for one in answer if one.created) == Counter(chosen_ids)
        assert sorted(ids(store.runs.list(Filter(None)))) == chosen_ids

    def test_one_refused_request_does_not_spoil_the_others(self, store: CoreStore) -> None:
        taken = new_id()
        add(store, chosen(taken))

        def ask(number: int) -> bool:
            if number % 2:
                return store.runs.add([chosen(new_id())])[0].created
            with pytest.raises(KeyReused):
                store.runs.add([chosen(new_id()), chosen(taken, f"other-{number}")])
            return False

        assert sum(at_once(ask)) == THREADS // 2
        assert len(store.runs.list(Filter(None))) == 1 + THREADS // 2
