-- Schedules, the ledger of their ticks, and what their runs reported.

-- add_schedule: a new schedule, if its name is free
INSERT INTO workbell_schedules ({schedule_columns}) VALUES ({schedule_values})
ON CONFLICT (tenant, name) DO NOTHING RETURNING id

-- define_schedule: change a schedule's definition, if its version is unchanged
UPDATE workbell_schedules SET {schedule_assignments} WHERE id = :id AND version = :expected RETURNING id

-- delete_schedule: remove a schedule, if its version is unchanged; its ticks stay for their retention
DELETE FROM workbell_schedules WHERE id = :id AND (CAST(:expected AS integer) IS NULL OR version = :expected) RETURNING id

-- delete_report: remove what its runs reported
DELETE FROM workbell_reports WHERE schedule = :id

-- due_schedules: schedules that the scheduler must check, and a run that is in the way of their ticks
SELECT {schedule}, (SELECT r.id FROM workbell_runs r WHERE r.schedule = s.id AND {overlaps} LIMIT 1)
FROM workbell_schedules s WHERE s.look_at <= :now ORDER BY s.look_at LIMIT :limit

-- next_check: when the scheduler must check its schedules next
SELECT look_at FROM workbell_schedules WHERE look_at IS NOT NULL ORDER BY look_at LIMIT 1

-- next_check_after: the same, beyond a time
SELECT look_at FROM workbell_schedules WHERE look_at > :after ORDER BY look_at LIMIT 1

-- find_schedule: one schedule by its id
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id WHERE s.id = :id

-- list_schedules: the schedules of a tenant by name
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.tenant = :tenant AND s.name > :after ORDER BY s.name LIMIT :limit

-- list_schedules_of: the schedules that one source declared, by name
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.tenant = :tenant AND s.source = :source AND s.name > :after ORDER BY s.name LIMIT :limit

-- overlaps_of: some live runs of a schedule that are in the way of its ticks, and not yet asked to end: without input
SELECT {waiting} FROM workbell_runs r WHERE r.schedule = :id AND {overlaps} AND NOT r.cancel_requested LIMIT :limit

-- ticks: the fates of a schedule's ticks, newest first
SELECT schedule, due, until, count, outcome, run, reason, created_at
FROM workbell_ticks WHERE schedule = :id AND due < :before ORDER BY due DESC LIMIT :limit

-- export_schedules: all schedules, by id
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.id > :after ORDER BY s.id LIMIT :limit

-- export_ticks: all ticks, by schedule and time
SELECT schedule, due, until, count, outcome, run, reason, created_at
FROM workbell_ticks WHERE (schedule, due) > (:after, :after_due) ORDER BY schedule, due LIMIT :limit

-- load_schedule: a schedule of another store
INSERT INTO workbell_schedules ({schedule_columns}) VALUES ({schedule_values}) ON CONFLICT DO NOTHING

-- load_report: what the runs of another store's schedule reported
INSERT INTO workbell_reports (schedule, last_run_status, last_run_ended_at, failed_runs)
VALUES (:id, :last_run_status, :last_run_ended_at, :failed_runs) ON CONFLICT DO NOTHING

-- load_tick: a tick of another store
INSERT INTO workbell_ticks (schedule, due, until, count, outcome, run, reason, created_at)
VALUES (:schedule, :due, :until, :count, :outcome, :run, :reason, :created_at) ON CONFLICT DO NOTHING

-- find_schedules: schedules by name
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.tenant = :tenant AND s.name {among names text}

-- add_ticks: the fates of ticks, for good; the key stops a second one
INSERT INTO workbell_ticks (schedule, due, until, count, outcome, run, reason, created_at)
SELECT * FROM {rows new: schedule uuid, due timestamptz, until timestamptz, count integer, outcome text, run uuid,
    reason text, created_at timestamptz}

-- report: note in schedules how their runs ended
INSERT INTO workbell_reports (schedule, last_run_status, last_run_ended_at, failed_runs)
SELECT * FROM {rows new: schedule uuid, last_run_status text, last_run_ended_at timestamptz, failed_runs integer}
WHERE true
ON CONFLICT (schedule) DO UPDATE SET failed_runs = workbell_reports.failed_runs + excluded.failed_runs,
    last_run_status = CASE WHEN excluded.last_run_ended_at >= workbell_reports.last_run_ended_at
        THEN excluded.last_run_status ELSE workbell_reports.last_run_status END,
    last_run_ended_at = CASE WHEN excluded.last_run_ended_at >= workbell_reports.last_run_ended_at
        THEN excluded.last_run_ended_at ELSE workbell_reports.last_run_ended_at END

-- unchanged_schedule: a schedule, if its version is unchanged
SELECT id FROM workbell_schedules WHERE id = :id AND version = :expected

-- schedule_versions: the versions of these schedules
SELECT id, version FROM workbell_schedules WHERE id {among ids uuid}
