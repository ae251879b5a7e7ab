"""SQLite's plans: the statements of a run's way go by an index, never through a table row by row."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbell.stores.sqlite.dialect import QUERIES
from workbell.stores.sqlite.store import SqliteStore

TABLES = (
    "workbell_runs workbell_history workbell_keys workbell_attempts workbell_schedules workbell_ticks workbell_reports "
    "workbell_events workbell_matches workbell_tokens workbell_audit workbell_notifications workbell_reads "
    "workbell_answers workbell_tallies"
).split()
LISTS = "rows well guards ids jobs lanes names queues targets".split()  # parameters that are JSON
# The index that must serve each statement; those of JSON batches are found by their automatic primary keys.
WANTED = {
    "claim": "workbell_runs_queued",
    "survey": "workbell_runs_queued",
    "dispatch": "workbell_runs_scheduled",
    "next_due": "workbell_runs_scheduled",
    "next_due_after": "workbell_runs_scheduled",
    "leases": "workbell_runs_running",
    "held_by": "workbell_runs_running",
    "leases_of": "workbell_runs_running",
    "expired": "workbell_runs_expiry",
    "pending_of_tag": "workbell_runs_tag (tag=? AND lane=?)",
    "pending_accepted": "workbell_runs_accepted (accepted_by=?)",
    "accepting": "workbell_runs_accepted (accepted_by>?)",
    "ahead_of": "workbell_runs_queued",
    "held_by_worker": "workbell_runs_running",
    "running_in_lane": "workbell_runs_running (lane=?)",
    "queued_lanes": "workbell_runs_queued (lane=?)",
    "queued_lanes_of_tenant": "workbell_runs_queued (lane=?)",
    "running_by_lane": "workbell_runs_running",
    "scheduled_by_lane": "workbell_runs_scheduled",
    "many_scheduled": "workbell_runs_scheduled",
    "load_of_lanes": "workbell_runs_queued (lane=?)",
    "pauses_of_tenant": "(tenant=?)",
    "delete_finished": "workbell_history_remove",
    "put_off": "workbell_history_remove",
    "drop_keys": "workbell_keys_until",
    "finish": "id=?",
    "remove_live": "id=?",
    "move": "id=?",
    "renew": "id=?",
    "take_over": "id=?",
    "find_live": "id=?",
    "find_finished": "id=?",
    "finished_of": "id=?",
    "made_from": "id=?",
    "delete_attempts": "workbell_history_remove",
    "free_keys": "tenant=? AND key=?",
    "others_of_tag": "workbell_runs_tag (tag=? AND lane=?)",
    "run_of_key": "tenant=? AND key=?",
    "holds_key": "tenant=? AND key=?",
    "pass_key": "tenant=? AND key=?",
    "run_guards": "id=?",
    "asked_to_end": "id=?",
    "schedule_versions": "id=?",
    "waiting_ids": "id=?",
    "finish_well": "id=?",
    "delete_logs": "workbell_history_remove",
    "take_key": "",
    "key_holder": "tenant=? AND key=?",
    "add_keyed_run": "tenant=? AND key=?",
    "due_schedules": "workbell_schedules_look",
    "due_schedules_beside": "workbell_schedules_look",
    "next_check": "workbell_schedules_look",
    "next_check_after": "workbell_schedules_look",
    "find_schedules": "tenant=? AND name=?",
    "list_schedules": "tenant=? AND name>?",
    "list_schedules_of": "(tenant=? AND name>?)",
    "advance": "workbell_runs_schedule (schedule=?)",
    "define_schedule": "id=?",
    "delete_schedule": "id=?",
    "overlaps_of": "workbell_runs_schedule (schedule=?)",
    "ticks": "schedule=? AND due<?",
    "delete_ticks": "workbell_ticks_created (created_at<?)",
    "export_schedules": "id>?",
    "running_within": "workbell_lanes_job (tenant=? AND job>? AND job<?)",
    "queued_runs": "workbell_runs_queued (lane=? AND rank=?)",
    "started_now": "workbell_runs_running (lane=?)",
    "as_many_started": "workbell_runs_running (lane=?)",
    "note_starts": "workbell_runs_running (lane=?)",
    "hold_limits": "rowid=?",
    "limit_starts": "rowid=?",
    "find_lanes": "rowid=?",
    "keyed_lanes": "rowid>?",
    "delete_lanes": "workbell_history_lane (lane=?)",
    "event_holder": "workbell_events_key (tenant=? AND source=? AND key=?)",
    "waiting_events": "workbell_events_waiting",
    "take_events": "id=?",
    "find_events": "id=?",
    "list_events": "workbell_events_tenant (tenant=? AND id<?)",
    "list_events_of": "workbell_events_type (tenant=? AND type=? AND id<?)",
    "matches_of_event": "PRIMARY KEY (event=? AND subscriber>?)",
    "matches_of_subscriber": "workbell_matches_subscriber (subscriber=? AND event<?)",
    "delete_events": "workbell_events_created (created_at<?)",
    "delete_matches": "workbell_events_created (created_at<?)",
    "settle_event": "id=?",
    "export_events": "id>?",
    "export_matches": "PRIMARY KEY",
    "find_token": "hash=?",
    "tokens_with_ids": "id=?",
    "redeem_token": "hash=?",
    "list_tokens": "workbell_tokens_tenant (tenant=? AND id>?)",
    "see_tokens": "id=?",
    "delete_expired_tokens": "workbell_tokens_expiry (expires_at<?)",
    "delete_revoked_tokens": "workbell_tokens_revoked (revoked_at<?)",
    "list_audit": "workbell_audit_tenant (tenant=? AND id<?)",
    "all_audit": "id<?",
    "delete_audit": "workbell_audit_at (at<?)",
    "find_answer": "PRIMARY KEY (tenant=? AND key=?)",
    "delete_answers": "workbell_answers_until (until<?)",
    "list_notifications": "workbell_notifications_user (tenant=? AND user_id=? AND id<?)",
    "list_unread": "PRIMARY KEY (notification=? AND user_id=?)",
    "new_notifications": "id>?",
    "read_all": "workbell_notifications_user (tenant=? AND user_id=? AND id>?)",
    "read_some": "id=?",
    "delete_notifications": "workbell_notifications_created (created_at<?)",
    "delete_reads": "PRIMARY KEY (notification=?)",
    "survey_targets": "workbell_lanes_target (tenant=? AND target=?)",
    "waiting_targets": "workbell_runs_queued (lane=?)",
    "known_tenants": "workbell_lanes_",
    "totals": "PRIMARY KEY (minute=?)",
    "delete_tallies": "PRIMARY KEY (minute>? AND minute<?)",
    "sum_tallies": "workbell_tallies_tenant (tenant=? AND minute>? AND minute<?)",
    "upcoming_schedules": "(tenant=?)",
    "lanes_of_jobs": "COVERING INDEX workbell_history_lane (lane=?)",
    "recent_of_lanes": "COVERING INDEX workbell_history_lane (lane=? AND id>?)",
    "ended_runs": "id=?",
}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    store = SqliteStore(tmp_path / "workbell.db")
    store.migrate()
    store.close()
    connection = sqlite3.connect(tmp_path / "workbell.db")
    yield connection
    connection.close()


def plan(connection: sqlite3.Connection, name: str) -> list[str]:
    text = QUERIES[name]
    values = dict.fromkeys(re.findall(r"(?<![:\w]):(\w+)", text), 1)
    values |= {word: "[]" for word in LISTS if word in values}
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", values)]


@pytest.mark.parametrize(("name", "index"), WANTED.items())
def test_a_statement_goes_by_its_index(connection: sqlite3.Connection, name: str, index: str) -> None:
    steps = plan(connection, name)
    assert any(index in step for step in steps) or not index, steps
    aliases = {alias for _, alias in re.findall(rf"({'|'.join(TABLES)})(?: AS)? (\w+)", QUERIES[name])}
    for step in steps:
        word = step.split()
        scanned = word[0] == "SCAN" and (word[1] in TABLES or word[1] in aliases - {"WHERE", "SET"})
        # A scan of a partial index reads only what is in that status, and in order.
        assert not scanned or " USING " in step, steps


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("delete_finished", "SEARCH h USING COVERING INDEX sqlite_autoindex_workbell_history_1 (id=?)"),
        ("delete_attempts", "SEARCH a USING COVERING INDEX sqlite_autoindex_workbell_attempts_1 (run=?)"),
        ("delete_logs", "SEARCH workbell_logs USING PRIMARY KEY (run=? AND attempt=? AND line=?)"),
        ("delete_events", "SEARCH e USING COVERING INDEX"),
        ("delete_matches", "SEARCH workbell_matches USING PRIMARY KEY (event=? AND subscriber=?)"),
        ("move", "SEARCH r USING"),
        ("run_of_key", "SEARCH r USING"),
    ],
)
def test_what_is_chosen_is_then_found_by_its_id(connection: sqlite3.Connection, name: str, way: str) -> None:
    steps = plan(connection, name)
    assert any(way in step for step in steps), steps


@pytest.mark.parametrize("name", ["pending_of_tag", "others_of_tag"])
def test_other_tenants_with_the_same_tag_cost_nothing(connection: sqlite3.Connection, name: str) -> None:
    """Counted in steps of SQLite's virtual machine. Only the lanes of the tenant itself are walked through."""

    def fill(lanes: range) -> None:
        for lane in lanes:
            tenant = "ours" if lane == 500 else f"t{lane}"
            connection.execute(
                "INSERT INTO workbell_lanes (id, tenant, queue, job, created_at) VALUES (?, ?, 'q', 'j', 0)",
                [lane, tenant],
            )
            connection.execute(
                "INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at, tag)"
                " VALUES (?, ?, 'queued', 0, 0, 0, 0, 'sync')",
                [f"run {lane}", lane],
            )

    def steps() -> int:
        count = 0

        def tick() -> int:
            nonlocal count
            count += 1
            return 0

        values = {"tenant": "ours", "tag": "sync", "id": "another", "limit": 10}
        connection.set_progress_handler(tick, 1)
        (found,) = connection.execute(QUERIES[name], values).fetchall()
        connection.set_progress_handler(None, 0)
        assert found[0] in ("run 500", 500)
        return count

    fill(range(1, 500))
    fill(range(501, 1000))
    fill(range(500, 501))
    beside_others = steps()
    for table, lane in (("runs", "lane"), ("lanes", "id")):
        connection.execute(f"DELETE FROM workbell_{table} WHERE {lane} <> 500")
    assert beside_others < 2 * steps()
