"""Contract of definitions: jobs as data, written under guards, beside the jobs that code declares."""

from __future__ import annotations

import threading

import msgspec

from workbell.model.ids import new_id
from workbell.model.job import API_SOURCE, Job
from workbell.model.retry import Retry
from workbell.model.run_defaults import RunDefaults
from workbell.stores.port import Store
from workbell.testing.contracts.core.scheduling import begin, schedule
from workbell.testing.contracts.making import START, add, after, ids, request

WRITERS = 8


def definition(name: str = "email-eu", **fields: object) -> Job:
    given = {
        "id": new_id(),
        "name": name,
        "handler": "email",
        "input_text": '{"region":"eu"}',
        "source": API_SOURCE,
        "created_at": START,
        "updated_at": START,
    }
    return Job(**(given | fields))  # type: ignore[arg-type]


def code(name: str) -> Job:
    return Job(id=new_id(), name=name, handler=f"module:{name}", created_at=START, updated_at=START)


class DefiningContract:
    def test_a_definition_is_kept_whole(self, store: Store) -> None:
        """D2."""
        full = definition(
            queue="mail",
            description="Mails of 'Europe'.",
            retry=Retry(attempts=7, give_up_on=("ValueError",)),
            timeout=2.5,
            concurrency=3,
            concurrency_key="to",
            rate="7/m",
            enabled=False,
            processor=True,
            alert_url="https://alerts.test/x",
            options=RunDefaults(tag="t", priority=5, user_id="ada"),
        )
        assert store.definitions.write(full, None)
        assert store.jobs.find("default", "email-eu") == full
        assert store.definitions.list() == store.jobs.list("default") == [full]

    def test_runs_of_a_disabled_definition_are_not_sent_again(self, store: Store) -> None:
        """D11: nobody would take them, and they would be in the way of others. Each tenant has its own."""
        _mine, theirs = add(store, request(job="email-eu"), request(job="email-eu", tenant="b"))
        assert store.definitions.write(definition(enabled=False), None)
        assert store.definitions.write(definition(tenant="b"), None)
        assert ids(store.runs.pending(queued_before=after(5), limit=10)) == [theirs.id]

    def test_definitions_are_those_of_all_tenants_without_code(self, store: Store) -> None:
        mine, theirs = definition(), definition(tenant="b", handler="other")
        store.jobs.put([code("email")])
        assert store.definitions.write(theirs, None)
        assert store.definitions.write(mine, None)
        assert store.definitions.list() == [theirs, mine]  # by tenant
        assert [job.name for job in store.jobs.list("default")] == ["email", "email-eu"]

    def test_a_name_is_taken_once(self, store: Store) -> None:
        store.jobs.put([code("email")])
        assert store.definitions.write(definition(), None)
        assert not store.definitions.write(definition(handler="other"), None)
        assert not store.definitions.write(definition("email"), None)
        assert store.jobs.find("default", "email") is not None
        assert [job.handler for job in store.definitions.list()] == ["email"]

    def test_a_change_is_of_the_version_that_was_read(self, store: Store) -> None:
        first = definition()
        store.definitions.write(first, None)
        second = msgspec.structs.replace(first, handler="other", updated_at=after(5))
        assert store.definitions.write(second, 1)
        assert not store.definitions.write(first, 1)
        assert store.definitions.list() == [msgspec.structs.replace(second, version=2)]

    def test_a_definition_that_was_made_again_is_another(self, store: Store) -> None:
        first, again = definition(), definition()
        store.definitions.write(first, None)
        assert store.definitions.delete(first)
        store.definitions.write(again, None)
        assert not store.definitions.write(first, 1)
        assert not store.definitions.delete(first)
        assert store.definitions.list() == [again]

    def test_code_takes_over_a_name_and_a_definition_never_does(self, store: Store) -> None:
        made = definition("email")
        store.definitions.write(made, None)
        store.jobs.put([code("email")])
        assert store.definitions.list() == []
        found = store.jobs.find("default", "email")
        assert found is not None
        assert (found.id, found.handler, found.input_text) == (made.id, "module:email", None)
        assert not store.definitions.write(made, 1)
        assert not store.definitions.delete(made)

    def test_one_that_a_schedule_names_is_not_deleted(self, store: Store) -> None:
        made, foreign = definition(), definition(tenant="b")
        for job in (made, foreign):
            store.definitions.write(job, None)
        (nightly,) = begin(store, schedule(job="email-eu"))
        assert not store.definitions.delete(made)
        assert store.definitions.delete(foreign)
        assert store.schedules.delete(nightly.id, nightly.version)
        assert store.definitions.delete(made)
        assert not store.definitions.delete(made)
        assert store.definitions.list() == []

    def test_the_version_number_changes_with_every_definition(self, store: Store) -> None:
        made, seen = definition(), [store.definitions.version()]
        assert store.definitions.version() == seen[0]

        def note() -> None:
            seen.append(store.definitions.version())

        store.definitions.write(made, None)
        note()
        store.definitions.write(made, 1)
        note()
        store.jobs.put([code("email-eu")])
        note()
        other = definition("b")
        store.definitions.write(other, None)
        note()
        store.definitions.delete(other)
        note()
        assert len(set(seen)) == len(seen)

    def test_of_writers_at_once_one_wins_each_version(self, store: Store) -> None:
        """Two operators that change or delete what they read: one change is written, the others are told."""
        store.definitions.write(definition(), None)
        for version in range(1, 6):
            (read,) = store.definitions.list()
            gate = threading.Barrier(WRITERS)
            won: list[int] = []

            def change(number: int, read: Job = read, gate: threading.Barrier = gate, won: list[int] = won) -> None:
                gate.wait(30)
                if store.definitions.write(msgspec.structs.replace(read, queue=f"q{number}"), read.version):
                    won.append(number)

            threads = [threading.Thread(target=change, args=(number,)) for number in range(WRITERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            (found,) = store.definitions.list()
            assert [f"q{number}" for number in won] == [found.queue]
            assert found.version == version + 1

    def test_a_delete_and_changes_at_once(self, store: Store) -> None:
        """Either the delete is first and no change is written, or a change is, and the delete finds another version."""
        for _ in range(10):
            made = definition()
            store.definitions.write(made, None)
            gate = threading.Barrier(2)
            answers: dict[str, bool] = {}

            def delete(made: Job = made, gate: threading.Barrier = gate, answers: dict[str, bool] = answers) -> None:
                gate.wait(30)
                answers["deleted"] = store.definitions.delete(made)

            def change(made: Job = made, gate: threading.Barrier = gate, answers: dict[str, bool] = answers) -> None:
                gate.wait(30)
                answers["changed"] = store.definitions.write(made, made.version)

            threads = [threading.Thread(target=delete), threading.Thread(target=change)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            left = store.definitions.list()
            assert answers == {"deleted": not left, "changed": bool(left)}
            for job in left:
                assert store.definitions.delete(job)
