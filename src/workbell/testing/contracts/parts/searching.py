"""Contract of searches: runs by time, target, event and input fields, in bounded reads; and counts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec

from workbell.model import state
from workbell.model.ids import first_id_at, new_id
from workbell.model.input_fields import FieldFilter, read_fields
from workbell.model.run import FINAL, NewRun, Run, Status
from workbell.model.run_page import Counted
from workbell.stores.matching import matches_all
from workbell.stores.port import Filter, Store
from workbell.stores.store_page import StorePage
from workbell.testing.contracts.making import KEEP, add, after, ids, request


def made(number: int, **fields: Any) -> NewRun:
    """A run whose id says that it was made so many seconds after the start."""
    return request(id=first_id_at(after(number)), **fields)


def inputs(store: Store, *values: Any) -> dict[str, Any]:
    """Runs with these inputs; what each of them has, by its id."""
    requests = [request(input_text=msgspec.json.encode(value).decode()) for value in values]
    store.runs.add(requests)
    return {new.run.id: value for new, value in zip(requests, values, strict=True)}


def by_fields(store: Store, **wanted: Any) -> list[Run]:
    fields = read_fields({path.replace("__", "."): value for path, value in wanted.items()})
    found = store.reports.search(Filter("default", input=fields))
    assert found.searched_to is None
    assert store.reports.count(Filter("default", input=fields)) == Counted(len(found.runs), False)
    return found.runs


def finish(store: Store, *runs: Run) -> None:
    changes = [state.cancel(run, after(99), reason="-", keep=KEEP.other) for run in runs]
    assert len(store.runs.apply(changes)) == len(runs)


def _drawn(draw: random.Random, number: int, schedules: Sequence[str]) -> Run:
    """A run that waits or has ended, like some of the others in this and that."""
    status = draw.choice((Status.QUEUED, Status.QUEUED, Status.SCHEDULED, *FINAL, Status.SUCCEEDED))
    fields: dict[str, Any] = {
        "job": draw.choice(("a", "a", "a", "b", "c")),
        "queue": draw.choice(("default", "default", "q")),
        "tenant": draw.choice(("default", "default", "default", "b")),
        "tag": draw.choice((None, "t", "t", "u")),
        "schedule": draw.choice((None, *schedules)),
    }
    ended = {"finished_at": after(90), "remove_at": after(999)} if status.final else {}
    text = f'{{"n":{number % 2}}}'
    return made(number, status=status, user_number=number % 3, input_text=text, **fields, **ended).run


class SearchingContract:
    def test_runs_by_when_they_were_made(self, store: Store) -> None:
        """The time is in the id, to the millisecond."""
        runs = add(store, *[made(number) for number in range(5)])
        finish(store, runs[1])
        for wanted, indexes in (
            (Filter("default", since=after(1)), [4, 3, 2, 1]),
            (Filter("default", until=after(1)), [0]),
            (Filter("default", since=after(1), until=after(3)), [2, 1]),
            (Filter("default", since=after(1.001), until=after(3.001)), [3, 2]),
            (Filter("default", since=after(1), until=after(4), before=runs[3].id), [2, 1]),
            (Filter("default", since=after(9)), []),
        ):
            expected = [runs[index].id for index in indexes]
            assert ids(store.runs.list(wanted)) == expected, wanted
            assert ids(store.reports.search(wanted).runs) == expected, wanted
            assert store.reports.count(wanted) == Counted(len(expected), False), wanted

    def test_runs_by_target_and_event(self, store: Store) -> None:
        event = new_id()
        plain, aimed, caused, both, _foreign = add(
            store,
            request(),
            request(target="press"),
            request(event=event),
            request(target="label:x", event=event),
            request(target="press", event=event, tenant="b"),
        )
        finish(store, caused)
        for wanted, runs in (
            (Filter("default"), [both, caused, aimed, plain]),
            (Filter("default", target="press"), [aimed]),
            (Filter("default", target="nobody"), []),
            (Filter("default", event=event), [both, caused]),
            (Filter("default", event=event, status=[Status.CANCELED]), [caused]),
            (Filter("default", event=event, target="label:x"), [both]),
        ):
            assert ids(store.runs.list(wanted)) == ids(runs), wanted
            assert ids(store.reports.search(wanted).runs) == ids(runs), wanted
            assert store.reports.count(wanted) == Counted(len(runs), False), wanted

    def test_runs_by_their_retries(self, store: Store) -> None:
        """A retry is found from both sides: by the run that it repeats, and from that run (see `reports.retries`)."""
        first, second, third, waiting, foreign = add(store, *[request() for _ in range(4)], request(tenant="b"))
        finish(store, first, second, third, foreign)
        older, newer = add(store, request(retry_of=first.id), request(retry_of=first.id))
        (other,) = add(store, request(retry_of=second.id, tag="t", key="k"))
        add(store, request(retry_of=foreign.id, tenant="b"))
        finish(store, older, other)
        canceled = [Status.CANCELED]
        for wanted, runs in (
            (Filter("default", retry_of=first.id), [newer, older]),
            (Filter("default", retry_of=first.id, status=canceled), [older]),
            (Filter("default", retry_of=second.id, tag="t"), [other]),
            (Filter("default", retry_of=second.id, tag="u"), []),
            (Filter("default", retry_of=third.id), []),
            (Filter("b", retry_of=first.id), []),
            (Filter("default", retried=True), [second, first]),
            (Filter("default", retried=True, status=canceled, before=second.id), [first]),
            (Filter("default", retried=False, status=canceled), [other, older, third]),
            (Filter("default", retried=False), [other, newer, older, waiting, third]),
        ):
            assert ids(store.reports.search(wanted).runs) == ids(runs), wanted
            assert store.reports.count(wanted) == Counted(len(runs), False), wanted
        found = store.reports.retries([first.id, second.id, third.id])
        assert {old: (retry.id, retry.status) for old, retry in found.items()} == {
            first.id: (newer.id, Status.QUEUED),
            second.id: (other.id, Status.CANCELED),
        }
        assert (found[second.id].created_at, found[second.id].key) == (other.created_at, "k")
        assert store.reports.retries([]) == {}

    def test_runs_by_fields_of_the_input(self, store: Store) -> None:
        has = inputs(
            store,
            {"n": 1},
            {"n": 1.0},
            {"n": True},
            {"n": "1"},
            {"n": None},
            {"n": [1]},
            {"n": {"0": 1}},
            {"n": 2**60 + 1},
            {"n": 2**60},
            {"n": 0.1},
            {"m": 1},
            {"n": 'O\'Reilly "%s" :n \\u0000 é 👩'},
        )
        store.runs.add([request(), request(tenant="b", input_text='{"n":1}')])

        def values(**wanted: Any) -> list[Any]:
            return [has[run.id]["n"] for run in reversed(by_fields(store, **wanted))]

        assert values(n=1) == values(n=1.0) == [1, 1.0]
        assert values(n=True) == [True]
        assert values(n=False) == values(n=2) == values(nothing=None) == values(n="") == values(n__1=1) == []
        assert values(n="1") == ["1"]
        assert values(n=None) == [None]
        assert values(n__0=1) == [{"0": 1}], "a path goes through objects, not into arrays"
        assert values(n=2**60) == [2**60]
        assert values(n=0.1) == [0.1]
        assert values(n='O\'Reilly "%s" :n \\u0000 é 👩') == ['O\'Reilly "%s" :n \\u0000 é 👩']

    def test_several_fields_and_deep_ones(self, store: Store) -> None:
        first, second, *_ = inputs(
            store,
            {"customer": {"id": 42, "näme": {"a b": "x"}}, "paid": False},
            {"customer": {"id": 42}, "paid": True},
            {"customer": 42, "paid": True},
            {"customers": [{"id": 42}], "id": 42},
        )
        finish(store, store.runs.find([first])[first])
        assert ids(by_fields(store, customer__id=42)) == [second, first]
        assert ids(by_fields(store, customer__id=42, paid=True)) == [second]
        fields = read_fields({"customer.näme.a b": "x"})
        assert ids(store.reports.search(Filter("default", input=fields)).runs) == [first]
        canceled = Filter("default", [Status.CANCELED], input=read_fields({"customer.id": 42}))
        assert ids(store.reports.search(canceled).runs) == [first]

    def test_what_is_hard_to_read_is_passed_over(self, store: Store) -> None:
        """A NUL in one input must not keep the others from being found."""
        has = inputs(store, {"a": "\x00", "n": 1}, {"a": "\ufffd", "n": 1}, {"a": "\\u0000", "n": 1}, {"\x00": 1})
        assert len(by_fields(store, n=1)) == 3
        found = store.reports.search(Filter("default", input=[FieldFilter("a", "\ufffd")])).runs
        assert [has[run.id]["a"] for run in found] == ["\ufffd"]
        assert [has[run.id]["a"] for run in by_fields(store, a="\\u0000")] == ["\\u0000"]

    def test_a_search_reads_no_more_than_it_may(self, store: Store) -> None:
        """And returns how far it has read, so that the next one goes on from there."""
        runs = add(
            store, *[made(number, input_text=f'{{"n":{number % 7}}}', user_number=number % 3) for number in range(40)]
        )
        finish(store, *runs[::2])
        for wanted, indexes in (
            (Filter("default", input=[FieldFilter("n", 3)]), [number for number in range(40) if number % 7 == 3]),
            (
                Filter("default", input=[FieldFilter("n", 3)], limit=2),
                [number for number in range(40) if number % 7 == 3],
            ),
            (Filter("default", user_id=1, limit=4), [number for number in range(40) if number % 3 == 1]),
            (Filter("default", [Status.CANCELED], limit=7), list(range(0, 40, 2))),
            (Filter("default", limit=13), list(range(40))),
            (Filter("default", input=[FieldFilter("n", 99)]), []),
        ):
            pages, before = [], None
            while True:
                found, searched_to = store.reports.search(wanted._replace(before=before), scan=10)
                assert len(found) <= wanted.limit
                assert all(searched_to is None or run.id >= searched_to for run in found)
                pages.append(ids(found))
                if searched_to is None:
                    break
                assert before is None or searched_to < before
                before = searched_to
            assert [run_id for page in pages for run_id in page] == [runs[index].id for index in reversed(indexes)]
            if wanted.input:
                assert len(pages) >= 4, "of forty runs, ten at a time"

    def test_any_filter_means_the_same_to_every_store(self, store: Store) -> None:
        """By whatever way the runs are found: listed, searched to the end in short reads, and counted."""
        draw = random.Random(5)
        schedules = [new_id(), new_id()]
        every = [_drawn(draw, number, schedules) for number in range(60)]
        store.load(StorePage(lanes=list({run.lane for run in every}), runs=every))
        for _ in range(60):
            words: dict[str, Sequence[Any]] = {
                "tenant": ("default", "default", None, "nobody"),
                "status": ((), (), *((status,) for status in Status), (Status.QUEUED, Status.CANCELED)),
                "job": (None, None, "a", "b"),
                "queue": (None, None, "q"),
                "tag": (None, None, "t", "u"),
                "schedule": (None, None, *schedules),
                "user_id": (None, None, 1),
                "since": (None, None, after(20)),
                "input": ((), (), (FieldFilter("n", 1),)),
            }
            drawn: dict[str, Any] = {word: draw.choice(values) for word, values in words.items()}
            wanted = Filter(**drawn, limit=draw.choice((3, 100)))
            expected = sorted((run.id for run in every if matches_all(run, wanted)), reverse=True)
            found, before = list[str](), None
            while True:
                page, before = store.reports.search(wanted._replace(before=before), scan=8)
                found += ids(page)
                if before is None:
                    break
            assert found == expected, wanted
            assert store.reports.count(wanted) == Counted(len(expected), False), wanted
            if not wanted.input:
                assert ids(store.runs.list(wanted)) == expected[: wanted.limit], wanted

    def test_the_last_page_has_nothing_behind_it(self, store: Store) -> None:
        runs = add(store, *[made(number) for number in range(4)])
        finish(store, runs[2])
        first = store.reports.search(Filter("default", limit=2))
        assert (ids(first.runs), first.searched_to) == ([runs[3].id, runs[2].id], runs[2].id)
        second = store.reports.search(Filter("default", limit=2, before=first.searched_to))
        assert (ids(second.runs), second.searched_to) == ([runs[1].id, runs[0].id], None)

    def test_counting_ends_somewhere(self, store: Store) -> None:
        requests = [made(number, input_text='{"n":1}') for number in range(30)]
        runs = add(store, *requests, request(tenant="b"))
        finish(store, *runs[:8])
        everything = Filter("default")
        assert store.reports.count(everything) == store.reports.count(everything, most=30) == Counted(30, False)
        assert store.reports.count(everything, most=29) == Counted(29, True)
        assert store.reports.count(Filter(None, [Status.QUEUED])) == Counted(23, False)
        assert store.reports.count(Filter("default", [Status.CANCELED])) == Counted(8, False)
        assert store.reports.count(Filter("nobody")) == Counted(0, False)
        counted = store.reports.count(Filter("default", input=[FieldFilter("n", 1)]), scan=10)
        assert counted.capped
        assert 5 <= counted.count <= 10
