-- Schedules the way of PostgreSQL: SKIP LOCKED.

-- advance: move schedules to their next tick, each if no other scheduler has and no run is in the way
-- A row that another scheduler has locked is being advanced by it: skipping it costs nothing and cannot deadlock.
-- The range on `expected` is always true. It makes the planner expect few rows: knowing that there are hundreds, it
-- hashed the whole table for every batch. The LIMIT prevents a hash of all live runs for the overlap test.
WITH free AS MATERIALIZED (
    SELECT new.* FROM unnest(CAST(:id AS uuid[]), CAST(:expected AS integer[]), CAST(:only_idle AS boolean[]),
        CAST(:look_at AS timestamptz[]), CAST(:next_run_at AS timestamptz[]), CAST(:last_scheduled_at AS timestamptz[]),
        CAST(:held_tick AS timestamptz[]), CAST(:deferred_until AS timestamptz[]), CAST(:last_run_at AS timestamptz[]),
        CAST(:last_run_id AS uuid[]), CAST(:last_fire_status AS text[]), CAST(:last_fire_at AS timestamptz[]),
        CAST(:last_error AS text[]), CAST(:run_count AS integer[]), CAST(:scheduler_failures AS integer[]))
        AS new(id, expected, only_idle, look_at, next_run_at, last_scheduled_at, held_tick, deferred_until,
            last_run_at, last_run_id, last_fire_status, last_fire_at, last_error, run_count, scheduler_failures)
    CROSS JOIN LATERAL (SELECT 1 FROM workbell_schedules s WHERE s.id = new.id AND s.version = new.expected
        AND (NOT new.only_idle OR (SELECT 1 FROM workbell_runs r WHERE r.schedule = s.id AND {overlaps} LIMIT 1) IS NULL)
        FOR UPDATE SKIP LOCKED) mine
)
UPDATE workbell_schedules s SET version = s.version + 1, look_at = new.look_at, next_run_at = new.next_run_at,
    last_scheduled_at = new.last_scheduled_at, held_tick = new.held_tick, deferred_until = new.deferred_until,
    last_run_at = new.last_run_at, last_run_id = new.last_run_id, last_fire_status = new.last_fire_status,
    last_fire_at = new.last_fire_at, last_error = new.last_error, run_count = new.run_count,
    scheduler_failures = new.scheduler_failures
FROM free new WHERE s.id = new.id AND new.expected BETWEEN 0 AND 2147483646 RETURNING s.id

-- locked_runs: whether another transaction has locked one of these runs; the others are locked here
SELECT 1 FROM workbell_runs r WHERE r.id {among ids uuid}
AND r.id <> ALL(ARRAY(SELECT r.id FROM workbell_runs r WHERE r.id {among ids uuid} ORDER BY r.id FOR UPDATE SKIP LOCKED))
LIMIT 1

-- due_schedules_beside: schedules that the scheduler must check, without the given versions of schedules
-- NOT IN of a subquery uses a hash; an anti join may compare every pair.
SELECT {schedule}, (SELECT r.id FROM workbell_runs r WHERE r.schedule = s.id AND {overlaps} LIMIT 1)
FROM workbell_schedules s WHERE s.look_at <= :now
AND (s.id, s.version) NOT IN (SELECT * FROM unnest(CAST(:id AS uuid[]), CAST(:version AS integer[])))
ORDER BY s.look_at LIMIT :limit

-- delete_ticks: a batch of expired ticks
DELETE FROM workbell_ticks WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_ticks WHERE created_at <= :before
    LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING schedule

-- add_advanced_ticks: ticks of the schedules that this transaction has advanced: its xid is in their rows
INSERT INTO workbell_ticks (schedule, due, until, count, outcome, run, reason, created_at)
SELECT * FROM {rows new: schedule uuid, due timestamptz, until timestamptz, count integer, outcome text, run uuid,
    reason text, created_at timestamptz}
WHERE (SELECT s.xmin FROM workbell_schedules s WHERE s.id = new.schedule) = CAST(pg_current_xact_id() AS xid)

-- add_advanced_runs: runs of the schedules that this transaction has advanced
INSERT INTO workbell_runs ({new_columns})
SELECT {new_columns} FROM {new_runs}
WHERE (SELECT s.xmin FROM workbell_schedules s WHERE s.id = new.schedule) = CAST(pg_current_xact_id() AS xid)
