"""PostgreSQL fails over to a standby, goes back to a backup, or splits in two, under workers that go on.

With synchronous replication nothing is lost. Where commits are lost, no result is booked under another worker's token,
and each execution that the store has forgotten is on record.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import command_line
from tests.support.checker import AFTER_A_STEP_BACK, check, report, snapshot
from tests.support.event_checker import check_fan_out, facts
from tests.support.event_triggers import trigger
from tests.support.fleet import Fleet, stop
from tests.support.load import TYPE, Load, emitted
from tests.support.postgres import PostgresServer
from tests.support.postgres_pair import Pair, Switch
from tests.support.processes import Process, Site
from tests.support.recorder import Event
from tests.support.waiting import insist, until
from tests.support.worker_app import declare, mixed
from workbell import Run, Status, StoreUnavailable, Workbell
from workbell.claims.claiming import SURVEY_VALID
from workbell.model.run import LIVE
from workbell.stores.postgres import calls as calls_module

SOAK = os.environ.get("WORKBELL_SOAK") == "1"
ROUNDS = 10 if SOAK else 1
LIMIT = 1800 if SOAK else 110
DATABASE = "shop"
POLL = 30  # seconds: whatever happens sooner was woken by a hint
GOES_ON = 5.0  # seconds from a promotion until a run that was enqueued after it has ended
SCHEDULES = 3
REWOUND = "the store was rewound"

Figures = Callable[[str, object], None]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    server = PostgresServer().start()
    yield server
    server.remove()


class TestSynchronous:
    @pytest.mark.timeout(LIMIT)
    def test_nothing_is_lost(self, tmp_path: Path, record_property: Figures) -> None:
        """P1, P3, P10, P26: the primary is killed under load, and the standby promoted, again and again."""
        with Pair(synchronous=True) as pair, site_of(tmp_path, pair, LEASE="5") as site, bell_of(pair, site) as bell:
            subscribed = trigger(bell.store.clock, TYPE, job="hears")
            assert bell.store.subscribers.write_trigger(subscribed, None)
            declare_schedules(bell)
            fleet = [site.supervise("start", "--processes", "2"), site.supervise("worker", "--processes", "1")]
            for supervisor, workers in zip(fleet, (2, 1), strict=True):
                site.await_workers(supervisor, workers)
            waits = []
            with Load(bell, site.recorder) as load:
                for turn in range(ROUNDS):
                    if turn:
                        pair.rebuild()
                    load.await_more(60)
                    pair.fail_over()
                    waits.append(seconds_until_work_goes_on(bell, site))
                    until(lambda: listeners(pair) >= 3, "every worker to listen again")
                    load.await_more(60)
            tell(record_property, "seconds from the promotion until a new run had ended", waits)
            settle(bell)
            assert max(reactions(bell)) < POLL / 3, "idle workers are not woken by hints"
            assert [stop(supervisor) for supervisor in fleet] == [0, 0]

            events = site.events()
            violations = check(bell.store, events) + check_fan_out(facts(bell.store), {TYPE: {subscribed.id}})
            assert not violations, report(violations)
            assert emitted(events) <= facts(bell.store).events.keys()
            assert uncounted(bell, events) == {}, "executed again without a loss on record"
            tell(record_property, "acknowledged calls", [load.acknowledged])
            tell(record_property, "refused calls", [load.refused])
            assert max(waits) < GOES_ON, waits

    def test_a_commit_that_no_standby_confirmed_is_not_acknowledged(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """P1: the standby is away. When our deadline ends the wait for it, PostgreSQL says that all went well."""
        with Pair(synchronous=True) as pair, site_of(tmp_path, pair) as site, bell_of(pair, site) as bell:
            kept = bell.enqueue("quick_plain")
            pair.await_replay()
            monkeypatch.setattr(calls_module, "DEADLINE", 1.0)
            pair.detach()
            calls: list[Callable[[], object]] = [
                lambda: bell.enqueue("quick_plain"),
                lambda: bell.enqueue_many(mixed(5)),
                lambda: bell.emit(TYPE, {}),
                lambda: bell.pause(queue="default"),
            ]
            for call in calls:
                with pytest.raises(StoreUnavailable, match="no synchronous standby has confirmed"):
                    call()
            pair.fail_over()
            assert [run.id for run in insist(lambda: bell.runs(limit=10))] == [kept.id]


class TestAsynchronous:
    @pytest.mark.timeout(LIMIT)
    def test_commits_that_are_lost(self, tmp_path: Path, record_property: Figures) -> None:
        """P4, P5: claims and results are lost with the primary; those who made them are alive and go on."""
        with Pair() as pair, site_of(tmp_path, pair, LEASE="5") as site, bell_of(pair, site) as bell:
            declare_schedules(bell)
            fleet = [site.supervise("start", "--processes", "2"), site.supervise("worker", "--processes", "2")]
            for supervisor in fleet:
                site.await_workers(supervisor, 2)
            waits, lost = [], set()
            for turn in range(ROUNDS):
                if turn:
                    pair.rebuild()
                gate = f"round-{turn}"
                # In the copy they wait, behind a pause; their claims and results are lost, and so is the resume.
                bell.pause(queue="default")
                time.sleep(SURVEY_VALID)  # so long a worker may still claim by what it has read before the pause
                held = bell.enqueue_many([("held_plain", {"gate": gate}), ("held_async", {"gate": gate})] * 3)
                short = bell.enqueue_many(mixed(20))
                pair.await_replay()
                pair.detach()
                bell.resume(queue="default")
                for run in held:
                    site.await_start(run.id)
                ended(bell, short)
                ghosts = bell.enqueue_many(mixed(5))
                ended(bell, ghosts)
                lost |= {run.id for run in ghosts}

                pair.fail_over()
                promoted_at = time.monotonic()
                insist(lambda: bell.resume(queue="default"))
                for run in held:
                    site.await_start(run.id, 2)
                waits.append(time.monotonic() - promoted_at)
                site.open_gate(gate)  # both handlers of each end now, and race to book it
                ended(bell, [*held, *short])
                assert bell.store.runs.find(lost) == {}, "nothing was lost: the test proves nothing"
                # Before the next failover, which could lose the record.
                await_record(pair.primary, {run.id for run in (*held, *short, *ghosts)})
            settle(bell)
            again = uncounted(bell, site.events())
            assert len(again) >= ROUNDS * (len(held) + len(short)), "too few: the test proves nothing"
            violations = check(bell.store, site.events(), rules=AFTER_A_STEP_BACK)
            assert not violations, report(violations)
            await_record(pair.primary, {*again, *lost})
            found = command_line.call(tmp_path, "doctor", "--json", WORKBELL_URL=site.url)
            assert any("rewound" in finding["text"] for finding in json.loads(found.out)["findings"]), found.out
            assert site.logged().count(REWOUND) >= ROUNDS
            assert [stop(supervisor) for supervisor in fleet] == [0, 0]
            tell(record_property, "seconds from the promotion until forgotten runs had begun again", waits)
            tell(record_property, "executions that the store had forgotten", [sum(again.values())])
            tell(record_property, "acknowledged runs that were lost", [len(lost)])


@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_an_older_backup_is_restored_under_two_workers(tmp_path: Path, server: PostgresServer, turn: int) -> None:
    """P4, P5: one worker executes runs that the backup has as queued, and the other takes them from there."""
    url = server.create_database(name=f"{DATABASE}_{turn}")
    backup = server.folder / "backup"
    with Site(tmp_path, url, LEASE="5", CONCURRENCY="6") as site, Workbell(url) as bell:
        declare(bell, site.recorder, site.gates)
        runs = bell.enqueue_many([("held_plain", {"gate": "gate"})] * 6)
        server.copy_from(server, into=backup)
        first = site.worker()
        for run in runs:
            site.await_start(run.id)  # all of its slots are taken by now
        second = site.worker()
        site.await_ready(second)
        server.restore(backup)
        for run in runs:
            site.await_start(run.id, 2)
        only_the_second_books(site, bell, runs, first, second)
        violations = check(bell.store, site.events(), rules=AFTER_A_STEP_BACK)
        assert not violations, report(violations)
        await_record(server, {run.id for run in runs}, f"{DATABASE}_{turn}")
        assert REWOUND in site.logged()


@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize("turn", range(ROUNDS))
def test_two_primaries_at_once(tmp_path: Path, turn: int) -> None:
    """P4, P5: a worker on one copy is moved to the other, on which its runs have other holders."""
    with Pair() as pair, Switch(pair.primary.port) as switch:
        pair.primary.create_database(name=DATABASE)
        ours, theirs = pair.primary.url(DATABASE), pair.standby.url(DATABASE)
        with Site(tmp_path, switch.url(DATABASE), LEASE="2", CONCURRENCY="5") as site, Workbell(ours) as here:
            declare(here, site.recorder, site.gates)
            first = site.worker()
            site.await_ready(first)
            before = here.enqueue_many([("held_plain", {"gate": "gate"})] * 2)  # claimed before the copies part
            for run in before:
                site.await_start(run.id)
            here.pause(queue="default")
            time.sleep(SURVEY_VALID)
            after = here.enqueue_many([("held_plain", {"gate": "gate"})] * 3)  # and these on each of them
            pair.await_replay()
            pair.promote()
            here.resume(queue="default")
            for run in after:
                site.await_start(run.id)
            site.url = theirs
            second = site.worker()
            with Workbell(theirs) as there:
                there.resume(queue="default")
                for run in (*before, *after):
                    site.await_start(run.id, 2)
                switch.move(pair.primary.port)
                only_the_second_books(site, there, [*before, *after], first, second)
                violations = check(there.store, site.events(), rules=AFTER_A_STEP_BACK)
                assert not violations, report(violations)
                await_record(pair.primary, {run.id for run in after})
                assert REWOUND in site.logged()


# Scenes


def site_of(folder: Path, pair: Pair, **settings: str) -> Fleet:
    pair.primary.create_database(name=DATABASE)
    return Fleet(folder, pair.url(DATABASE), **({"POLL": str(POLL), "SWEEP": "1"} | settings))


def bell_of(pair: Pair, site: Site) -> Workbell:
    bell = Workbell(pair.url(DATABASE))
    declare(bell, site.recorder, site.gates)
    bell.store.check()
    return bell


def declare_schedules(bell: Workbell) -> None:
    for number in range(SCHEDULES):
        bell.schedules.put(f"every-{number}", job="quick_plain", every=1, overlap="allow", catch_up="all")


def settle(bell: Workbell) -> None:
    """Until nothing is left to do; schedules make no more runs."""
    for number in range(SCHEDULES):
        bell.schedules.pause(f"every-{number}")
    until(lambda: not bell.store.events.waiting(1), "every event to be fanned out", 60)
    try:
        until(lambda: not bell.runs(status=LIVE, limit=1), "every run to end", 60)
    except AssertionError as error:
        left = [f"{run.id} {run.job} {run.status} {bell.why(run.id)}" for run in bell.runs(status=LIVE, limit=10)]
        raise AssertionError("these runs did not end:\n" + "\n".join(left)) from error


def ended(bell: Workbell, runs: Sequence[Run]) -> None:
    ids = [run.id for run in runs]

    def all_ended() -> bool:
        found = insist(lambda: bell.store.runs.find(ids))
        return len(found) == len(ids) and all(run.status is Status.SUCCEEDED for run in found.values())

    until(all_ended, "these runs to end", 60)


def only_the_second_books(site: Site, bell: Workbell, runs: Sequence[Run], first: Process, second: Process) -> None:
    """Each run is at work in both. The first one's handlers end, and change nothing; the second one's end the runs."""
    tokens = {start["run"]: start["token"] for start in site.starts(pid=second.pid)}
    assert tokens.keys() == {run.id for run in runs}
    site.open_gate(f"gate-pid-{first.pid}")
    # The second has no free slot. When the first executes something new, its handlers have ended and were booked.
    later = insist(lambda: bell.enqueue("quick_plain"))
    assert site.await_start(later.id)["pid"] == first.pid
    ended(bell, [later])
    found = bell.store.runs.find([run.id for run in runs])
    assert {run.status for run in found.values()} == {Status.RUNNING}, "the first worker's results were booked"
    assert {run.id: run.token for run in found.values()} == tokens
    site.open_gate(f"gate-pid-{second.pid}")
    ended(bell, runs)
    results = {run.id: run.result["token"] for run in bell.store.runs.find([run.id for run in runs]).values()}
    assert results == tokens
    assert [first.poll(), second.poll()] == [None, None]


# Figures and facts


def seconds_until_work_goes_on(bell: Workbell, site: Site) -> float:
    """From now, which is the promotion, until a run that is enqueued after it has ended."""
    promoted_at = time.monotonic()
    run = insist(lambda: bell.enqueue("quick_plain", priority=100))
    site.recorder.acknowledged([run])
    until(lambda: insist(lambda: bell.get(run.id)).status.final, "a new run to end", POLL)
    return time.monotonic() - promoted_at


def reactions(bell: Workbell) -> list[float]:
    """Seconds from an enqueue to the end of the run, while nobody has anything else to do."""
    found = []
    for _ in range(3):
        begun = time.monotonic()
        run = bell.enqueue("quick_plain")
        until(lambda run=run: bell.get(run.id).status.final, "a run to end", 2 * POLL)
        found.append(time.monotonic() - begun)
    return found


def listeners(pair: Pair) -> int:
    query = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{DATABASE}' AND query LIKE 'LISTEN%'"
    return int(pair.primary.ask(query)[0][0])


def uncounted(bell: Workbell, events: Sequence[Event]) -> dict[str, int]:
    """Runs that began more often than the store knows, and how much more often."""
    starts = Counter(event["run"] for event in events if event["kind"] == "started")
    known = {run.id: run.attempt for run in snapshot(bell.store).runs}
    return {run_id: count - known[run_id] for run_id, count in starts.items() if count > known.get(run_id, count)}


def await_record(server: PostgresServer, run_ids: set[str], database: str = DATABASE) -> None:
    """Until every one of these runs is on record as executed or made before the store went back."""

    def missing() -> set[str]:
        return run_ids - {str(run_id) for (run_id,) in server.ask("SELECT run FROM workbell_rewinds", database)}

    try:
        until(lambda: not missing(), "a record of these runs", 45)
    except AssertionError as error:
        raise AssertionError(f"no record of {sorted(missing())}") from error


def tell(record_property: Figures, name: str, values: list[Any]) -> None:
    text = ", ".join(f"{value:.2f}" if isinstance(value, float) else str(value) for value in values)
    print(f"{name}: {text}")
    record_property(name, text)
