"""Contract: add runs, find them, list them by filter."""

from __future__ import annotations

from datetime import timedelta

import pytest

from workbell.model import state
from workbell.model.ids import new_id
from workbell.model.run import Added, Status
from workbell.stores.port import CoreStore, Filter
from workbell.testing.contracts.making import KEEP, START, add, after, claim, find, ids, request


class AddingContract:
    def test_a_run_is_found_as_it_was_made(self, store: CoreStore) -> None:
        """D4: every field of a new run comes back unchanged."""
        new = request(
            "send",
            delay=60,
            tenant="acme",
            queue="mail",
            target="machine-7",
            priority=7,
            key_for=60,
            input_text='{"to":"a@b.c"}',
            options_text='{"timeout":5.0}',
            tag="welcome",
            key="welcome-1",
            user_number=2**62,
            schedule=new_id(),
            event=new_id(),
            retry_of=new_id(),
            rescheduled_from=new_id(),
            accepted_by="host/1/2",
            expires_at=after(90),
        )
        assert store.runs.add([new]) == [Added(new.run.id, True)]
        assert find(store, new.run) == new.run

    def test_many_at_once_are_found_as_they_were_made(self, store: CoreStore) -> None:
        """A batch may take another way into the store than a single run."""
        batch = [request(at=n, delay=n % 3, priority=n % 5, tag=f"t{n}" if n % 2 else None) for n in range(50)]
        assert store.runs.add(batch) == [Added(new.run.id, True) for new in batch]
        assert store.runs.find([new.run.id for new in batch]) == {new.run.id: new.run for new in batch}

    def test_times_keep_their_microseconds(self, store: CoreStore) -> None:
        new = request(scheduled_for=START + timedelta(microseconds=123_457))
        (run,) = add(store, new)
        assert run.scheduled_for == START + timedelta(microseconds=123_457)
        assert run.scheduled_for.utcoffset() == timedelta(0)

    def test_nothing_is_added_for_nothing(self, store: CoreStore) -> None:
        assert store.runs.add([]) == []
        assert store.runs.list(Filter(None)) == []

    def test_unknown_ids_are_not_found(self, store: CoreStore) -> None:
        (run,) = add(store, request())
        assert store.runs.find([new_id()]) == {}
        assert store.runs.find([]) == {}
        assert set(store.runs.find([new_id(), run.id])) == {run.id}

    def test_listing_is_newest_first_and_in_pages(self, store: CoreStore) -> None:
        """B12."""
        made = ids(add(store, *[request(at=n) for n in range(7)]))
        first = store.runs.list(Filter("default", limit=3))
        second = store.runs.list(Filter("default", limit=3, before=first[-1].id))
        third = store.runs.list(Filter("default", limit=3, before=second[-1].id))
        assert ids(first) + ids(second) + ids(third) == list(reversed(made))
        assert store.runs.list(Filter("default", before=third[-1].id)) == []

    def test_pages_run_through_live_and_finished_alike(self, store: CoreStore) -> None:
        """The two are apart in the store, and one list to callers."""
        made = add(store, *[request(at=n) for n in range(6)])
        store.runs.apply([state.cancel(run, after(9), reason="-", keep=KEEP.other) for run in made[::2]])
        pages, before = [], None
        while page := store.runs.list(Filter("default", limit=2, before=before)):
            pages += ids(page)
            before = page[-1].id
        assert pages == list(reversed(ids(made)))

    @pytest.mark.parametrize(
        ("wanted", "expected"),
        [
            (Filter(None), "fedcba"),
            (Filter("default"), "fdcba"),
            (Filter("other"), "e"),
            (Filter("nobody"), ""),
            (Filter("default", job="work"), "dcba"),
            (Filter("default", job="send"), "f"),
            (Filter("default", queue="mail"), "b"),
            (Filter("default", tag="red"), "fc"),
            (Filter("default", tag="red", job="send"), "f"),
            (Filter("default", user_id=0), "fcba"),
            (Filter("default", user_id=5), "d"),
            (Filter("default", status=[Status.SCHEDULED]), "b"),
            (Filter("default", status=[Status.QUEUED]), "fd"),
            (Filter("default", status=[Status.RUNNING]), "a"),
            (Filter("default", status=[Status.CANCELED]), "c"),
            (Filter("default", status=[Status.SUCCEEDED, Status.FAILED]), ""),
            (Filter("default", status=[Status.CANCELED, Status.RUNNING]), "ca"),
            (Filter(None, status=[Status.QUEUED], limit=2), "fe"),
            (Filter("default", schedule="0192f3a0-0000-7000-8000-000000000001"), "a"),
        ],
    )
    def test_filters(self, store: CoreStore, wanted: Filter, expected: str) -> None:
        schedule = "0192f3a0-0000-7000-8000-000000000001"
        (a,) = add(store, request(schedule=schedule))
        assert ids(claim(store)) == [a.id]
        b, c, d, e, f = add(
            store,
            request(queue="mail", delay=60),
            request(tag="red"),
            request(user_number=5),
            request(tenant="other", tag="red"),
            request("send", tag="red"),
        )
        store.runs.apply([state.cancel(c, after(1), reason="-", keep=KEEP.other)])
        names = {run.id: name for run, name in zip((a, b, c, d, e, f), "abcdef", strict=True)}
        assert "".join(names[run.id] for run in store.runs.list(wanted)) == expected

    def test_runs_of_one_lane_key(self, store: CoreStore) -> None:
        """Of all that one endpoint was sent, or of one value of a job's key; live and finished."""
        add(store, request("send", lane_key="k"))
        (done,) = claim(store)
        store.runs.apply([state.succeed(done, after(1), result=None, keep=KEEP.succeeded)])
        (plain,) = add(store, request("send"))
        assert ids(store.runs.list(Filter("default", lane_key="k"))) == [done.id], plain.id
        waiting, _other, foreign, elsewhere = add(
            store,
            request("send", lane_key="k"),
            request("send", lane_key="l"),
            request("send", lane_key="k", tenant="b"),
            request("work", lane_key="k"),
        )
        assert ids(store.runs.list(Filter("default", job="send", lane_key="k"))) == [waiting.id, done.id]
        assert ids(store.runs.list(Filter("default", lane_key="k"))) == [elsewhere.id, waiting.id, done.id]
        assert ids(store.runs.list(Filter("b", lane_key="k"))) == [foreign.id]
        assert store.runs.list(Filter("default", lane_key="nobody")) == []
