"""Contract of definitions: jobs as data, written under guards, beside the jobs that code declares."""

from __future__ import annotations

import threading

import msgspec

from workbell.model.ids import new_id
from workbell.model.job import API_SOURCE, Job
from workbell.model.retry import Retry
from workbell.model.run_defaults import RunDefaults
from workbell.stores.port import CoreStore
from workbell.testing.contracts.core.scheduling import begin, schedule
from workbell.testing.contracts.making import START, add, after, ids, request

WRITERS = 8


def definition(name: str = "email-eu", **fields: object) -> Job:
    given = {
        "id": new_id(),
        "name": name,
        "handler": "email",
        "payload_template": '{"region":"eu"}',
        "source": API_SOURCE,
        "created_at": START,
        "updated_at": START,
    }
    return Job(**(given | fields))  # type: ignore[arg-type]


def code(name: str) -> Job:
    return Job(id=new_id(), name=name, handler=f"module:{name}", created_at=START, updated_at=START)


class DefiningContract:
    def test_a_definition_is_kept_whole(self, store: CoreStore) -> None:
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
        assert store.jobs.write_definition(full, None)
        assert store.jobs.find("default", "email-eu") == full
        assert store.jobs.definitions() == store.jobs.list("default") == [full]

    def test_runs_of_a_disabled_definition_are_not_sent_again(self, store: CoreStore) -> None:
        """D11: nobody would take them, and they would be in the way of others. Each tenant has its own."""
        _mine, theirs = add(store, request(job="email-eu"), request(job="email-eu", tenant="b"))
        assert store.jobs.write_definition(definition(enabled=False), None)
        assert store.jobs.write_definition(definition(tenant="b"), None)
        assert ids(store.runs.queued_before(after(5), 10)) == [theirs.id]

    def test_definitions_are_those_of_all_tenants_without_code(self, store: CoreStore) -> None:
        mine, theirs = definition(), definition(tenant="b", handler="other")
        store.jobs.put([code("email")])
        assert store.jobs.write_definition(theirs, None)
        assert store.jobs.write_definition(mine, None)
        assert store.jobs.definitions() == [theirs, mine]  # by tenant
        assert [job.name for job in store.jobs.list("default")] == ["email", "email-eu"]

    def test_a_name_is_taken_once(self, store: CoreStore) -> None:
        store.jobs.put([code("email")])
        assert store.jobs.write_definition(definition(), None)
        assert not store.jobs.write_definition(definition(handler="other"), None)
        assert not store.jobs.write_definition(definition("email"), None)
        assert store.jobs.find("default", "email") is not None
        assert [job.handler for job in store.jobs.definitions()] == ["email"]

    def test_a_change_is_of_the_version_that_was_read(self, store: CoreStore) -> None:
        first = definition()
        store.jobs.write_definition(first, None)
        second = msgspec.structs.replace(first, handler="other", updated_at=after(5))
        assert store.jobs.write_definition(second, 1)
        assert not store.jobs.write_definition(first, 1)
        assert store.jobs.definitions() == [msgspec.structs.replace(second, version=2)]

    def test_a_definition_that_was_made_again_is_another(self, store: CoreStore) -> None:
        first, again = definition(), definition()
        store.jobs.write_definition(first, None)
        assert store.jobs.delete(first)
        store.jobs.write_definition(again, None)
        assert not store.jobs.write_definition(first, 1)
        assert not store.jobs.delete(first)
        assert store.jobs.definitions() == [again]

    def test_code_takes_over_a_name_and_a_definition_never_does(self, store: CoreStore) -> None:
        made = definition("email")
        store.jobs.write_definition(made, None)
        store.jobs.put([code("email")])
        assert store.jobs.definitions() == []
        found = store.jobs.find("default", "email")
        assert found is not None
        assert (found.id, found.handler, found.payload_template) == (made.id, "module:email", None)
        assert not store.jobs.write_definition(made, 1)
        assert not store.jobs.delete(made)

    def test_one_that_a_schedule_names_is_not_deleted(self, store: CoreStore) -> None:
        made, foreign = definition(), definition(tenant="b")
        for job in (made, foreign):
            store.jobs.write_definition(job, None)
        (nightly,) = begin(store, schedule(job="email-eu"))
        assert not store.jobs.delete(made)
        assert store.jobs.delete(foreign)
        assert store.schedules.delete(nightly.id, nightly.version)
        assert store.jobs.delete(made)
        assert not store.jobs.delete(made)
        assert store.jobs.definitions() == []

    def test_the_version_number_changes_with_every_definition(self, store: CoreStore) -> None:
        made, seen = definition(), [store.jobs.version()]
        assert store.jobs.version() == seen[0]

        def note() -> None:
            seen.append(store.jobs.version())

        store.jobs.write_definition(made, None)
        note()
        store.jobs.write_definition(made, 1)
        note()
        store.jobs.put([code("email-eu")])
        note()
        other = definition("b")
        store.jobs.write_definition(other, None)
        note()
        store.jobs.delete(other)
        note()
        assert len(set(seen)) == len(seen)

    def test_of_writers_at_once_one_wins_each_version(self, store: CoreStore) -> None:
        """Two operators that change or delete what they read: one change is written, the others are told."""
        store.jobs.write_definition(definition(), None)
        for version in range(1, 6):
            (read,) = store.jobs.definitions()
            gate = threading.Barrier(WRITERS)
            won: list[int] = []

            def change(number: int, read: Job = read, gate: threading.Barrier = gate, won: list[int] = won) -> None:
                gate.wait(30)
                if store.jobs.write_definition(msgspec.structs.replace(read, queue=f"q{number}"), read.version):
                    won.append(number)

            threads = [threading.Thread(target=change, args=(number,)) for number in range(WRITERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            (found,) = store.jobs.definitions()
            assert [f"q{number}" for number in won] == [found.queue]
            assert found.version == version + 1

    def test_a_delete_and_changes_at_once(self, store: CoreStore) -> None:
        """Either the delete is first and no change is written, or a change is, and the delete finds another version."""
        for _ in range(10):
            made = definition()
            store.jobs.write_definition(made, None)
            gate = threading.Barrier(2)
            answers: dict[str, bool] = {}

            def delete(made: Job = made, gate: threading.Barrier = gate, answers: dict[str, bool] = answers) -> None:
                gate.wait(30)
                answers["deleted"] = store.jobs.delete(made)

            def change(made: Job = made, gate: threading.Barrier = gate, answers: dict[str, bool] = answers) -> None:
                gate.wait(30)
                answers["changed"] = store.jobs.write_definition(made, made.version)

            threads = [threading.Thread(target=delete), threading.Thread(target=change)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            left = store.jobs.definitions()
            assert answers == {"deleted": not left, "changed": bool(left)}
            for job in left:
                assert store.jobs.delete(job)
