-- Reads of the tables of Kumofire Jobs, schema versions 1 to 3. A bridge has them by name, so that an import needs no free SQL there.

-- kumofire_tables: which of its tables are there
SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'kumofire%'

-- kumofire_version: the number of its last migration; no row of it, if there was none
SELECT max(version) AS version FROM kumofire_schema_version

-- kumofire_total: how many runs there are; once, before an import
SELECT count(*) AS total FROM kumofire_job_runs

-- kumofire_held: runs that a consumer of it is working on: one that waits or runs, and whose lock has not ended
SELECT r.id, r.job_name, l.lease_until FROM kumofire_job_locks l JOIN kumofire_job_runs r ON r.id = l.job_run_id
WHERE l.lease_until > :now AND r.status IN ('scheduled', 'queued', 'running') ORDER BY r.id LIMIT :limit

-- kumofire_jobs: definitions
SELECT id, name, handler, payload_template, default_options, created_at, updated_at FROM kumofire_job_definitions
WHERE id > :after ORDER BY id LIMIT :limit

-- kumofire_schedules: schedules, from version 3 on
SELECT id, job_name, schedule_type, schedule_expr, timezone, next_run_at, last_scheduled_at, enabled, payload, max_attempts,
    created_at, updated_at, schedule_key FROM kumofire_job_schedules WHERE id > :after ORDER BY id LIMIT :limit

-- kumofire_schedules_without_keys: schedules of version 2
SELECT id, job_name, schedule_type, schedule_expr, timezone, next_run_at, last_scheduled_at, enabled, payload, max_attempts,
    created_at, updated_at, NULL AS schedule_key FROM kumofire_job_schedules WHERE id > :after ORDER BY id LIMIT :limit

-- kumofire_runs: runs, from version 2 on, with the end of their lock
SELECT r.id, r.job_name, r.status, r.dedupe_key, r.payload, r.attempt, r.max_attempts, r.next_run_at, r.created_at, r.updated_at,
    r.started_at, r.finished_at, r.last_error, r.job_schedule_id, l.lease_until
FROM kumofire_job_runs r LEFT JOIN kumofire_job_locks l ON l.job_run_id = r.id WHERE r.id > :after ORDER BY r.id LIMIT :limit

-- kumofire_runs_without_schedules: runs of version 1
SELECT r.id, r.job_name, r.status, r.dedupe_key, r.payload, r.attempt, r.max_attempts, r.next_run_at, r.created_at, r.updated_at,
    r.started_at, r.finished_at, r.last_error, NULL AS job_schedule_id, l.lease_until
FROM kumofire_job_runs r LEFT JOIN kumofire_job_locks l ON l.job_run_id = r.id WHERE r.id > :after ORDER BY r.id LIMIT :limit
