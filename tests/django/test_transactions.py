"""Random programs of nested `atomic` blocks: a run exists exactly if the application's own row of that moment does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import psycopg
import pytest
from django.db import Error, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.django import tasks
from tests.support.django_site import database, databases
from workbell import Workbell
from workbell.django import bells
from workbell.django.compat import task_backends
from workbell.django.connections import closing_connections
from workbell.errors import RunNotFound

PROGRAMS = int(os.environ.get("WORKBELL_PROGRAMS", "50"))  # 1,000 in `make test-django`


class Block(NamedTuple):
    """`with transaction.atomic(…)`, how it ends, and what is in it: blocks, and names of queues to enqueue to."""

    options: dict[str, bool]
    end: str | None
    parts: list[Any]


enqueued = count()  # now and then a queue is new, and its lane first made by a transaction that may be rolled back
QUEUES = ("default", "mail", "reports")
BEGINS = {"atomic": {}, "without savepoint": {"savepoint": False}, "durable": {"durable": True}}
ENDS = ("commit", "raise", "rollback", "database error")
programs = st.lists(st.sampled_from([*QUEUES, *BEGINS, *ENDS, "commit"]), min_size=8, max_size=40)


def parse(words: Iterator[str]) -> tuple[list[Any], str | None]:
    """Parts up to the word that ends their block, and that word; None at the end of the program, which commits."""
    parts: list[Any] = []
    for word in words:
        if word in ENDS:
            return parts, word
        if word in BEGINS:
            inner, end = parse(words)
            parts.append(Block(BEGINS[word], end, inner))
        else:
            parts.append(word)
    return parts, None


class Left(Exception):
    """How a block is left."""


def execute(parts: list[Any], made: list[str]) -> None:
    for part in parts:
        try:
            execute_one(part, made)
        except (Left, Error, RuntimeError):  # also a durable block inside another, and a broken transaction
            continue


def execute_one(part: Any, made: list[str]) -> None:
    if isinstance(part, str):
        result = tasks.note.using(queue_name=f"{part}-{next(enqueued) // 25}").enqueue()
        made.append(result.id)
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO orders (run) VALUES (%s)", [result.id])
        return
    with transaction.atomic(**part.options):
        execute(part.parts, made)
        if part.end == "raise":
            raise Left
        if part.end == "rollback":
            transaction.set_rollback(True)
        if part.end == "database error":
            connection.cursor().execute("SELECT nothing FROM nowhere")


def exists(bell: Workbell, run_id: str) -> bool:
    try:
        return bell.get(run_id).job == tasks.note.module_path
    except RunNotFound:
        return False


def test_a_run_exists_exactly_if_its_block_committed(site: str) -> None:
    connection.cursor().execute("CREATE TABLE orders (run TEXT)")
    backend = task_backends["default"]
    # Where another connection reaches the database it is asked: it knows nothing that was not committed.
    reader = backend.bells.client if site == "memory" else backend.bell
    outcomes = set()

    @settings(max_examples=PROGRAMS, suppress_health_check=list(HealthCheck))
    @given(programs)
    def check(program: list[str]) -> None:
        made: list[str] = []
        words = iter(program)
        end: str | None = "outside of any block"
        while end is not None:
            parts, end = parse(words)
            execute(parts, made)
        assert not connection.in_atomic_block
        with connection.cursor() as cursor:
            cursor.execute("SELECT run FROM orders")
            ordered = {row[0] for row in cursor.fetchall()}
            cursor.execute("DELETE FROM orders")
        there = {run_id for run_id in made if exists(reader, run_id)}
        assert there == ordered
        outcomes.update(run_id in there for run_id in made)

    check()
    assert outcomes == {True, False}  # else the programs show nothing


def test_other_connections_see_a_run_when_its_block_has_committed(shared_site: str) -> None:
    engine = task_backends["default"].bell
    with transaction.atomic():
        result = tasks.note.enqueue(1)
        assert engine.runs() == []
    assert [run.id for run in engine.runs()] == [result.id]
    durable = tasks.note.enqueue(2)
    assert [run.id for run in engine.runs()] == [durable.id, result.id]


def test_a_broken_transaction_takes_no_task(site: str) -> None:
    with pytest.raises(Left), transaction.atomic():  # noqa: PT012
        try:
            with transaction.atomic(savepoint=False):
                connection.cursor().execute("SELECT nothing FROM nowhere")
        except Error:
            with pytest.raises(transaction.TransactionManagementError):
                tasks.note.enqueue()
            raise Left from None


def test_a_commit_wakes_workers_on_postgresql(postgres_url: str) -> None:
    with databases(default=database(postgres_url)), psycopg.connect(postgres_url, autocommit=True) as listener:
        listener.execute("LISTEN workbell")
        with transaction.atomic():
            tasks.note.enqueue()
            assert list(listener.notifies(timeout=0)) == []
        assert [hint.channel for hint in listener.notifies(timeout=30, stop_after=1)] == ["workbell"]
        bells.close_all()


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("end", [transaction.commit, transaction.rollback])
def test_without_autocommit_a_run_shares_the_fate_of_what_is_open(end: Any) -> None:
    backend = task_backends["default"]
    transaction.set_autocommit(False)
    try:
        result = tasks.note.enqueue()
        assert exists(backend.bells.client, result.id)
        end()
        assert exists(backend.bells.client, result.id) == (end is transaction.commit)
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)


def test_a_commit_without_autocommit_wakes_workers_on_postgresql(postgres_url: str) -> None:
    with databases(default=database(postgres_url)), psycopg.connect(postgres_url, autocommit=True) as listener:
        listener.execute("LISTEN workbell")
        transaction.set_autocommit(False)
        tasks.note.enqueue()
        assert list(listener.notifies(timeout=0)) == []
        transaction.commit()
        assert [hint.channel for hint in listener.notifies(timeout=30, stop_after=1)] == ["workbell"]
        bells.close_all()


def test_a_run_inside_the_transaction_of_a_test_leaves_its_connection_open(postgres_url: str) -> None:
    with databases(default=database(postgres_url)), transaction.atomic():
        connection.cursor().execute("SELECT 1")
        for _ in closing_connections():
            connection.cursor().execute("SELECT 1")
        connection.cursor().execute("SELECT 1")
