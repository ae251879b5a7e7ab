"""Keys of runs: each belongs to a tenant and a job, or with key_scope="tenant" to the tenant alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import finish, take
from tests.support.inside.values import JOB_MARK
from workbell import DuplicateRun, InvalidOption, Status, Workbell


@pytest.fixture
def sync(bell: Workbell) -> Any:
    @bell.job
    def sync(order: int) -> None: ...

    return sync


@pytest.fixture
def mail(bell: Workbell) -> Any:
    @bell.job
    def mail(order: int) -> None: ...

    return mail


def test_two_jobs_under_one_key_are_two_runs(bell: Workbell, sync: Any, mail: Any) -> None:
    first, second = sync.options(key="order-7").enqueue(7), mail.options(key="order-7").enqueue(7)
    assert (first.job, second.job) == ("sync", "mail")
    assert first.id != second.id
    assert sync.options(key="order-7").enqueue(7).id == first.id
    assert bell.enqueue("mail", {"order": 7}, key="order-7").id == second.id
    assert len(bell.runs()) == 2


def test_users_see_their_own_key(bell: Workbell, sync: Any) -> None:
    made = sync.options(key="order-7").enqueue(7)
    (claimed,) = take(bell)
    finish(bell, claimed)
    found = bell.get(made.id)
    for run in (made, claimed, found, *bell.runs()):
        assert (run.key, run.as_dict()["key"]) == ("order-7", "order-7")
    sync.options(key="order-8").enqueue(8)
    with pytest.raises(DuplicateRun, match=r"^The key 'order-8' is held by run"):
        sync.options(key="order-8", on_duplicate="reject").enqueue(8)
    assert (sync.enqueue(9).key, bell.runs(limit=1)[0].key) == (None, None)


def test_a_key_of_the_tenant_is_one_for_all_jobs(bell: Workbell, sync: Any, mail: Any) -> None:
    first = sync.options(key="order-7", key_scope="tenant").enqueue(7)
    assert mail.options(key="order-7", key_scope="tenant").enqueue(7).id == first.id
    assert (first.key, bell.get(first.id).key) == ("order-7", "order-7")
    own = mail.options(key="order-7", key_scope="job").enqueue(7)
    assert own.id != first.id  # the two scopes are apart
    assert own.key == "order-7"


def test_each_scope_is_freed_by_itself(bell: Workbell, sync: Any, mail: Any) -> None:
    runs = [
        sync.options(key="k").enqueue(1),
        mail.options(key="k").enqueue(1),
        mail.options(key="k", key_scope="tenant").enqueue(1),
    ]
    for run in take(bell):
        if run.id == runs[1].id:
            finish(bell, run)
    assert mail.options(key="k").enqueue(1).id not in {run.id for run in runs}
    assert sync.options(key="k").enqueue(1).id == runs[0].id
    assert sync.options(key="k", key_scope="tenant").enqueue(1).id == runs[2].id


def test_replacing_is_within_the_scope(bell: Workbell, sync: Any, mail: Any) -> None:
    kept = mail.options(key="k", delay=60).enqueue(1)
    old = sync.options(key="k", delay=60).enqueue(1)
    new = sync.options(key="k", on_duplicate="replace", delay=60).enqueue(2)
    assert bell.get(old.id).status is Status.CANCELED
    assert bell.get(kept.id).status is Status.SCHEDULED
    assert sync.options(key="k").enqueue(1).id == new.id


def test_a_replaced_tag_frees_the_key_of_its_job(bell: Workbell, sync: Any, mail: Any) -> None:
    old = sync.options(key="k", tag="t", delay=60).enqueue(1)
    beside = mail.options(key="k", delay=60).enqueue(1)
    mail.options(tag="t", replace_tag=True).enqueue(2)
    assert bell.get(old.id).status is Status.CANCELED
    assert sync.options(key="k").enqueue(1).id != old.id
    assert mail.options(key="k").enqueue(1).id == beside.id


def test_names_that_could_be_mixed_up(bell: Workbell) -> None:
    """Whatever jobs and keys are called, two of them are one key only if both are the same."""
    words = ("a", "a:b", "b", "a b", "a/b", "\\", "job:a")
    for word in words:
        bell.job(name=word)(lambda: None)
    runs = [bell.enqueue(job, key=key) for job in words for key in words]
    runs += [bell.enqueue("a", key=key, key_scope="tenant") for key in words]
    assert len({run.id for run in runs}) == len(runs)
    assert [run.key for run in runs] == [*words] * 8
    longest = bell.job(name="x" * 200)(lambda: None).options(key="y" * 200).enqueue()
    assert bell.get(longest.id).key == "y" * 200


def test_the_holder_of_a_key_is_found_though_its_time_is_over(bell: Workbell, sync: Any) -> None:
    first = sync.options(key="k", key_for=timedelta(days=60)).enqueue(1)
    finish(bell, take(bell)[0])
    bell.store.prune(bell.store.clock.now() + timedelta(days=30), 100)
    again = sync.options(key="k").enqueue(1)
    assert (again.id, again.status) == (first.id, Status.SUCCEEDED)
    assert bell.get(first.id) == again


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": "k", "key_scope": "queue"}, "key_scope: 'queue' is neither job nor tenant"),
        ({"key": "k", "key_scope": None}, "key_scope: None is neither job nor tenant"),
        ({"key_scope": "job"}, "on_duplicate, key_for, key_scope: there is no key; give one with key="),
        ({"key": f"sync{JOB_MARK}k"}, "key .*: use 1 to 200 printable characters"),
        ({"key": "k" * 201}, "key .*: use 1 to 200 printable characters"),
    ],
)
def test_what_cannot_be_used(bell: Workbell, sync: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        sync.options(**options).enqueue(1)
    assert bell.runs() == []


class TestBesideProgramsOfTheVersionBefore:
    """They write and compare the stored text as it is, and know keys of the tenant alone."""

    @pytest.fixture
    def file(self, tmp_path: Path) -> Iterator[tuple[Workbell, Path]]:
        path = tmp_path / "workbell.db"
        with Workbell(f"sqlite:///{path}") as bell:
            bell.job(name="sync")(lambda: None)
            yield bell, path

    def rows(self, path: Path) -> list[tuple[str, str]]:
        with sqlite3.connect(path) as connection:
            text = "SELECT r.key, k.key FROM workbell_runs r JOIN workbell_keys k ON k.run = r.id ORDER BY r.id"
            return connection.execute(text).fetchall()

    def test_the_stored_text(self, file: tuple[Workbell, Path]) -> None:
        bell, path = file
        bell.enqueue("sync", key="k", key_scope="tenant")
        bell.enqueue("sync", key="k")
        own = f"sync{JOB_MARK}k"
        assert self.rows(path) == [("k", "k"), (own, own)]  # as ever; and one that no user's key can be

    def test_their_keys_are_those_of_the_tenant(self, file: tuple[Workbell, Path]) -> None:
        bell, path = file
        bell.enqueue("sync", key="made", key_scope="tenant")
        with sqlite3.connect(path) as connection:  # what such a program writes
            connection.execute("UPDATE workbell_runs SET key = 'theirs'")
            connection.execute("UPDATE workbell_keys SET key = 'theirs'")
        (theirs,) = bell.runs()
        assert theirs.key == "theirs"
        assert bell.enqueue("sync", key="theirs", key_scope="tenant").id == theirs.id
