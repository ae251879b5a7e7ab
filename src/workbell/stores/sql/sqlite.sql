-- What SQLite does its own way: batches as JSON, one writer at a time (so reading and then writing is safe).

-- dispatch: queue what is due
UPDATE workbell_runs SET status = :to_status, updated_at = :now
WHERE rowid IN (SELECT rowid FROM workbell_runs WHERE status = 'scheduled' AND scheduled_for <= :now
    ORDER BY scheduled_for LIMIT :limit)
AND status = :from_status RETURNING id

-- restart_waits: waits that began by a clock that was put back since begin now
UPDATE workbell_runs SET scheduled_for = scheduled_for - (updated_at - :now), updated_at = :now
WHERE status = :status AND updated_at > :now AND (attempt > 0 OR rescheduled_from IS NOT NULL)

-- survey: lanes and ranks that have queued runs, by stepping from one to the next in the index
-- The step tries the next rank of the same lane, else the first rank of the next lane. Spelled out twice, because
-- SQLite has no LATERAL, and of (lane, rank) > (?, ?) it would use only the first column.
WITH RECURSIVE head(lane, rank) AS (
    SELECT * FROM (SELECT lane, rank FROM workbell_runs WHERE status = 'queued' AND lane > :after
        ORDER BY lane, rank LIMIT 1)
    UNION ALL
    SELECT CASE WHEN EXISTS (SELECT 1 FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = head.lane
            AND r.rank > head.rank) THEN head.lane
        ELSE (SELECT min(r.lane) FROM workbell_runs r WHERE r.status = 'queued' AND r.lane > head.lane) END,
        COALESCE((SELECT min(r.rank) FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = head.lane
            AND r.rank > head.rank),
            (SELECT r.rank FROM workbell_runs r WHERE r.status = 'queued' AND r.lane > head.lane
            ORDER BY r.lane, r.rank LIMIT 1))
    FROM head WHERE head.lane IS NOT NULL
)
SELECT h.lane, h.rank, l.tenant, l.queue, l.job, l.target, l.key
FROM head h CROSS JOIN workbell_lanes l ON l.id = h.lane
WHERE h.lane IS NOT NULL AND NOT EXISTS (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job))
LIMIT :limit

-- claim: take the head of one lane under a lease
UPDATE workbell_runs AS r SET status = :to_status, token = token + 1, attempt = attempt + 1, worker = :worker,
    lease_until = :lease_until, started_at = :now, updated_at = :now
WHERE r.rowid IN (SELECT q.rowid FROM workbell_runs q WHERE q.status = 'queued' AND q.lane = :lane AND q.rank = :rank
    AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0) ORDER BY q.scheduled_for, q.id LIMIT :quota)
AND r.status = :from_status
RETURNING {returning}

-- renew: extend leases that are still held
-- Also one whose time is over, as long as nobody has taken it: whose clock would decide? A sweep that takes a lease
-- marks it first (see take_over), so that no renewal crosses it.
UPDATE workbell_runs AS r SET lease_until = :lease_until
FROM (SELECT value ->> 0 AS id, value ->> 1 AS token, value ->> 2 AS status FROM json_each(:rows)) AS held
WHERE r.id = held.id AND r.token = held.token AND r.status = held.status AND r.lease_until <> :taken
RETURNING id, token, CASE WHEN cancel_requested THEN reason END

-- take_over: mark leases that were seen to have ended, each only as it was seen, so that they cannot be renewed any more
UPDATE workbell_runs AS r SET lease_until = :taken
FROM (SELECT value ->> 0 AS id, value ->> 1 AS token, value ->> 2 AS until FROM json_each(:rows)) AS seen
WHERE r.id = seen.id AND r.token = seen.token AND r.status = :status AND r.lease_until = seen.until
RETURNING {returning}

-- move: transitions after which the run goes on; one with a cancel asked for does not
UPDATE workbell_runs AS r SET status = new.status, scheduled_for = new.scheduled_for, updated_at = new.updated_at,
    attempt = new.attempt, failures = new.failures, losses = new.losses, crashes = new.crashes, alone = new.alone,
    worker = new.worker, lease_until = new.lease_until, started_at = new.started_at, error = new.error,
    reason = new.reason, suspect = new.suspect
FROM (SELECT value ->> 0 AS id, value ->> 1 AS expected, value ->> 2 AS expected_token, value ->> 3 AS status,
    value ->> 4 AS scheduled_for, value ->> 5 AS updated_at, value ->> 6 AS attempt, value ->> 7 AS failures,
    value ->> 8 AS losses, value ->> 9 AS crashes, value ->> 10 AS alone, value ->> 11 AS worker,
    value ->> 12 AS lease_until, value ->> 13 AS started_at, value ->> 14 AS error, value ->> 15 AS reason,
    value ->> 16 AS suspect FROM json_each(:rows)) AS new
WHERE r.id = new.id AND r.status = new.expected AND r.token = new.expected_token AND NOT r.cancel_requested
RETURNING id, token

-- asked_to_end: whether a cancel was asked for
SELECT id, cancel_requested FROM workbell_runs WHERE id IN (SELECT value FROM json_each(:ids))

-- finish: transitions that end a run: into history
INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures, losses,
    crashes, token, worker, started_at, input, options, tag, key, user_id, schedule, event, retry_of, rescheduled_from,
    accepted_by, expires_at, progress, error, reason, finished_at, result, remove_at)
SELECT r.id, r.lane, value ->> 3, r.rank, r.scheduled_for, r.created_at, value ->> 10, r.attempt, value ->> 4,
    value ->> 5, value ->> 6, r.token, r.worker, value ->> 7, r.input, r.options, r.tag, r.key, r.user_id, r.schedule,
    r.event, r.retry_of, r.rescheduled_from, r.accepted_by, r.expires_at, r.progress, value ->> 8, value ->> 9,
    value ->> 10, value ->> 11, value ->> 12
FROM json_each(:rows) AS new CROSS JOIN workbell_runs r
WHERE r.id = (value ->> 0) AND r.status = (value ->> 1) AND r.token = (value ->> 2)
RETURNING id, token, key, lane, schedule, status

-- finish_well: the same for runs that succeeded, by far the most: what cannot have changed need not be said
-- (6 values a row to take apart instead of 13)
INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures, losses,
    crashes, token, worker, started_at, input, options, tag, key, user_id, schedule, event, retry_of, rescheduled_from,
    accepted_by, expires_at, progress, finished_at, result, remove_at)
SELECT r.id, r.lane, :to_status, r.rank, r.scheduled_for, r.created_at, value ->> 3, r.attempt, r.failures, r.losses,
    r.crashes, r.token, r.worker, value ->> 2, r.input, r.options, r.tag, r.key, r.user_id, r.schedule,
    r.event, r.retry_of, r.rescheduled_from, r.accepted_by, r.expires_at, r.progress, value ->> 3, value ->> 4,
    value ->> 5
FROM json_each(:well) AS new CROSS JOIN workbell_runs r
WHERE r.id = (value ->> 0) AND r.token = (value ->> 1) AND r.status = :from_status
RETURNING id, token, key, lane, schedule, status

-- remove_live: and out of the live table, under the same write lock
DELETE FROM workbell_runs WHERE id IN (SELECT value FROM json_each(:ids))

-- add_attempts: ended attempts of runs that go on
INSERT INTO workbell_attempts (run, number, status, started_at, finished_at, worker, error, result)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
FROM json_each(:rows) WHERE true
ON CONFLICT (run, number) DO NOTHING

-- free_keys: keys that were held while their runs lived
DELETE FROM workbell_keys WHERE until IS NULL
AND (tenant, key, run) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:rows))

-- cancel_pending: end runs that have not started, because new ones take their place: into history
INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures, losses,
    crashes, token, worker, started_at, input, options, tag, key, user_id, schedule, event, retry_of, rescheduled_from,
    accepted_by, expires_at, progress, error, reason, finished_at, result, remove_at)
SELECT r.id, r.lane, :to_status, r.rank, r.scheduled_for, r.created_at, :created_at, r.attempt, r.failures, r.losses,
    r.crashes, r.token, r.worker, r.started_at, r.input, r.options, r.tag, r.key, r.user_id, r.schedule, r.event,
    r.retry_of, r.rescheduled_from, r.accepted_by, r.expires_at, r.progress, r.error, :reason, :created_at, NULL,
    COALESCE(:created_at + CAST(round((r.options ->> 'remove_delay') * 1000000) AS INTEGER), :remove_at)
FROM workbell_runs r JOIN workbell_lanes l ON l.id = r.lane
WHERE l.tenant = :tenant AND r.status IN ('scheduled', 'queued')
AND (r.tag = :old_tag OR r.id = (SELECT k.run FROM workbell_keys k WHERE k.tenant = :tenant AND k.key = :old_key))
RETURNING {canceled}

-- remove_canceled: and out of the live table
DELETE FROM workbell_runs WHERE status IN ('scheduled', 'queued')
AND (tag = :old_tag OR id = (SELECT k.run FROM workbell_keys k WHERE k.tenant = :tenant AND k.key = :old_key))
AND id IN (SELECT h.id FROM workbell_history h WHERE h.id = workbell_runs.id)

-- free_replaced_keys: keys held by waiting runs of a tag, which are about to be ended
-- From the runs to their keys, one lookup each: the other way round it is a search for every key of the tenant.
DELETE FROM workbell_keys WHERE rowid IN (SELECT k.rowid FROM workbell_runs r CROSS JOIN workbell_keys k
    WHERE r.tag = :old_tag AND r.status IN ('scheduled', 'queued') AND r.key IS NOT NULL
    AND k.tenant = :tenant AND k.key = r.key AND k.run = r.id AND k.until IS NULL)

-- lock_limits: the starts of limits; the write lock is held already
SELECT id, starts FROM workbell_limits WHERE id IN (SELECT value FROM json_each(:ids))

-- limit_starts: the same, without keeping anybody out
SELECT id, starts FROM workbell_limits WHERE id IN (SELECT value FROM json_each(:ids))

-- running_of_keys: how many runs of a job are running, for some values of its key
SELECT value ->> 0, count(*) FROM json_each(:rows) AS wanted CROSS JOIN workbell_lanes l CROSS JOIN workbell_runs r
WHERE l.tenant = (value ->> 1) AND l.job = (value ->> 2) AND l.key = (value ->> 3)
AND r.status = 'running' AND r.lane = l.id GROUP BY value ->> 0

-- running_of_job: how many runs of a job are running
SELECT count(*) FROM workbell_lanes l CROSS JOIN workbell_runs r
WHERE l.tenant = :tenant AND l.job = :job AND r.status = 'running' AND r.lane = l.id

-- running_without_key: the same, only those from before the job had a key
SELECT count(*) FROM workbell_lanes l CROSS JOIN workbell_runs r
WHERE l.tenant = :tenant AND l.job = :job AND l.key IS NULL AND r.status = 'running' AND r.lane = l.id

-- running_scattered: the same of a job with any number of lanes: from what is running
SELECT count(*) FROM workbell_runs r CROSS JOIN workbell_lanes l
WHERE r.status = 'running' AND l.id = r.lane AND l.tenant = :tenant AND l.job = :job

-- counts: live runs by lane and status, and when the first was due; one part for each of the partial indexes
SELECT lane, 'queued', count(*), min(scheduled_for) AS scheduled_for FROM workbell_runs WHERE status = 'queued' GROUP BY lane
UNION ALL
SELECT lane, 'scheduled', count(*), min(scheduled_for) FROM workbell_runs WHERE status = 'scheduled' GROUP BY lane
UNION ALL
SELECT lane, 'running', count(*), min(scheduled_for) FROM workbell_runs WHERE status = 'running' GROUP BY lane

-- running_of_tenant: how many runs of a tenant are running, whatever their job: from what is running
SELECT count(*) FROM workbell_runs r CROSS JOIN workbell_lanes l
WHERE r.status = 'running' AND l.id = r.lane AND l.tenant = :tenant AND :job = ''

-- note_starts: remember the starts of limits
INSERT INTO workbell_limits (id, tenant, job, key, starts, updated_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(:rows) WHERE true
ON CONFLICT (id) DO UPDATE SET starts = excluded.starts, updated_at = excluded.updated_at

-- delete_limits: limits whose starts no longer matter
DELETE FROM workbell_limits WHERE id IN (SELECT value FROM json_each(:ids)) AND updated_at <= :before

-- find_lanes: lanes by id
SELECT id, tenant, queue, job, target, key FROM workbell_lanes WHERE id IN (SELECT value FROM json_each(:ids))

-- delete_lanes: lanes with a key that nobody asked for lately, and that have no runs
DELETE FROM workbell_lanes WHERE id IN (SELECT value FROM json_each(:ids)) AND created_at <= :before
AND NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.lane = workbell_lanes.id AND r.status = 'queued')
AND NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.lane = workbell_lanes.id AND r.status = 'running')
AND NOT EXISTS (SELECT 1 FROM workbell_history h WHERE h.lane = workbell_lanes.id)
AND id NOT IN (SELECT r.lane FROM workbell_runs r WHERE r.status = 'scheduled')
RETURNING id

-- find_live: live runs by id
SELECT {live} FROM workbell_runs r WHERE r.id IN (SELECT value FROM json_each(:ids))

-- live_retries: which live runs repeat these
SELECT retry_of, id, status, created_at, key FROM workbell_runs WHERE retry_of IN (SELECT value FROM json_each(:ids))

-- finished_retries: which finished runs repeat these
SELECT retry_of, id, status, created_at, key FROM workbell_history WHERE retry_of IN (SELECT value FROM json_each(:ids))

-- find_finished: finished runs by id
SELECT {finished} FROM workbell_history r WHERE r.id IN (SELECT value FROM json_each(:ids))

-- put_off: of a batch of history whose time is over, keep those that hold a key for as long as they do
UPDATE workbell_history AS h SET remove_at = held.until
FROM (SELECT due.place, k.until FROM (SELECT rowid AS place, id, lane, key FROM workbell_history WHERE remove_at <= :now
        ORDER BY remove_at LIMIT :limit) AS due
    CROSS JOIN workbell_lanes l ON l.id = due.lane
    CROSS JOIN workbell_keys k ON k.tenant = l.tenant AND k.key = due.key AND k.run = due.id AND k.until > :now) AS held
WHERE h.rowid = held.place RETURNING id

-- delete_finished: a batch of history whose time is over
DELETE FROM workbell_history WHERE rowid IN (SELECT rowid FROM workbell_history WHERE remove_at <= :now
    ORDER BY remove_at LIMIT :limit) RETURNING id

-- delete_attempts: their attempts
DELETE FROM workbell_attempts WHERE run IN (SELECT value FROM json_each(:ids))

-- delete_logs: and their log lines
DELETE FROM workbell_logs WHERE run IN (SELECT value FROM json_each(:ids))

-- advance: schedules go on to their next tick, each if nobody else took it there and no run is in its way
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
AND (NOT new.only_idle OR NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.schedule = s.id))
RETURNING id

-- due_schedules_beside: where the scheduler must look, without versions of schedules that are passed over
SELECT {schedule}, (SELECT 1 FROM workbell_runs r WHERE r.schedule = s.id LIMIT 1) IS NOT NULL
FROM workbell_schedules s WHERE s.look_at <= :now
AND (s.id, s.version) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(:rows))
ORDER BY s.look_at LIMIT :limit

-- add_ticks: the fates of ticks, for good; the key stops a second one
INSERT INTO workbell_ticks (schedule, due, until, count, outcome, run, reason, created_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
FROM json_each(:rows)

-- report: what became of a schedule's runs
INSERT INTO workbell_reports (schedule, last_run_status, last_run_ended_at, failed_runs)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(:rows) WHERE true
ON CONFLICT (schedule) DO UPDATE SET failed_runs = workbell_reports.failed_runs + excluded.failed_runs,
    last_run_status = CASE WHEN excluded.last_run_ended_at >= workbell_reports.last_run_ended_at
        THEN excluded.last_run_status ELSE workbell_reports.last_run_status END,
    last_run_ended_at = max(excluded.last_run_ended_at, workbell_reports.last_run_ended_at)

-- find_schedules: schedules by name
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.tenant = :tenant AND s.name IN (SELECT value FROM json_each(:names))

-- delete_ticks: a batch of the ledger whose time is over
DELETE FROM workbell_ticks WHERE rowid IN (SELECT rowid FROM workbell_ticks WHERE created_at <= :before
    ORDER BY created_at LIMIT :limit) RETURNING schedule
