"""assert_enqueued and refute_enqueued: right, and helpful when they fail."""

from __future__ import annotations

import pytest

from workbell import Workbell
from workbell.testing import assert_enqueued, drain, refute_enqueued


@pytest.fixture
def bell(workbell_memory: Workbell) -> Workbell:
    @workbell_memory.job(queue="mail")
    def send(to: str, copies: list[str] | None = None) -> None: ...

    @workbell_memory.job
    def clean() -> None: ...

    return workbell_memory


def test_a_run_is_found_by_some_of_its_arguments(bell: Workbell) -> None:
    send = bell.registry.find("send")
    assert send is not None
    old, new = send.enqueue(to="a@b.c", copies=["x"]), send.enqueue(to="a@b.c")
    assert assert_enqueued(bell, "send").id == new.id
    assert assert_enqueued(bell, send, to="a@b.c", copies=("x",)).id == old.id
    refute_enqueued(bell, "send", to="someone else")
    refute_enqueued(bell, "clean")
    refute_enqueued(bell, "send", subject=None)


def test_it_counts_whatever_became_of_the_run(bell: Workbell) -> None:
    bell.enqueue("clean")
    drain(bell)
    assert_enqueued(bell, "clean")


def test_a_failure_lists_what_there_was(bell: Workbell) -> None:
    with pytest.raises(AssertionError, match="Nothing was enqueued at all"):
        assert_enqueued(bell, "send")
    bell.enqueue("clean")
    bell.enqueue("send", {"to": "a@b.c"})
    with pytest.raises(AssertionError) as caught:
        assert_enqueued(bell, "send", to="x@y.z")
    assert str(caught.value) == (
        "No run of send(to='x@y.z') was enqueued. Enqueued were:\n"
        "  send(to='a@b.c'): queued, queue mail\n"
        "  clean: queued, queue default"
    )
    with pytest.raises(AssertionError, match=r"1 run\(s\) of send were enqueued"):
        refute_enqueued(bell, "send")


def test_a_long_list_is_cut(bell: Workbell) -> None:
    bell.enqueue_many([("clean", {})] * 1050)
    with pytest.raises(AssertionError, match="and 1,030 more"):
        assert_enqueued(bell, "send")


def test_other_tenants_do_not_count(bell: Workbell) -> None:
    other = bell.for_tenant("other")
    other.enqueue("clean")
    refute_enqueued(bell, "clean")
    assert_enqueued(other, "clean")
    other.close()
