-- Schedules the way of SQLite: one writer at a time.

-- advance: move schedules to their next tick, each if no other scheduler has and no run is in the way
UPDATE workbell_schedules AS s SET version = s.version + 1, look_at = new.look_at, next_run_at = new.next_run_at,
    last_scheduled_at = new.last_scheduled_at, held_tick = new.held_tick, deferred_until = new.deferred_until,
    last_run_at = new.last_run_at, last_run_id = new.last_run_id, last_fire_status = new.last_fire_status,
    last_fire_at = new.last_fire_at, last_error = new.last_error, run_count = new.run_count,
    scheduler_failures = new.scheduler_failures
FROM (SELECT value ->> 0 AS id, value ->> 1 AS expected, value ->> 2 AS only_idle, value ->> 3 AS look_at,
    value ->> 4 AS next_run_at, value ->> 5 AS last_scheduled_at, value ->> 6 AS held_tick,
    value ->> 7 AS deferred_until, value ->> 8 AS last_run_at, value ->> 9 AS last_run_id,
    value ->> 10 AS last_fire_status, value ->> 11 AS last_fire_at, value ->> 12 AS last_error,
    value ->> 13 AS run_count, value ->> 14 AS scheduler_failures FROM json_each(:rows)) AS new
WHERE s.id = new.id AND s.version = new.expected
AND (NOT new.only_idle OR NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.schedule = s.id AND {overlaps}))
RETURNING id

-- due_schedules_beside: schedules that the scheduler must check, without the given versions of schedules
SELECT {schedule}, (SELECT r.id FROM workbell_runs r WHERE r.schedule = s.id AND {overlaps} LIMIT 1)
FROM workbell_schedules s WHERE s.look_at <= :now
AND (s.id, s.version) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(:rows))
ORDER BY s.look_at LIMIT :limit

-- delete_ticks: a batch of expired ticks
DELETE FROM workbell_ticks WHERE rowid IN (SELECT rowid FROM workbell_ticks WHERE created_at <= :before
    ORDER BY created_at LIMIT :limit) RETURNING schedule
