-- Queries that every SQL store has in common. Time is always a parameter. Statuses and tokens that guard a write
-- come in as data, from the state machine. The engine files override by name.

-- add_run: one run, as the caller's statement or as ours
INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at, input, options, tag, key,
    user_id, schedule, event, retry_of, rescheduled_from, accepted_by, expires_at)
VALUES (:id, :lane, :status, :rank, :scheduled_for, :created_at, :updated_at, :input, :options, :tag, :key,
    :user_id, :schedule, :event, :retry_of, :rescheduled_from, :accepted_by, :expires_at)

-- add_keyed_run: the same, if the key was won
INSERT INTO workbell_runs (id, lane, status, rank, scheduled_for, created_at, updated_at, input, options, tag, key,
    user_id, schedule, event, retry_of, rescheduled_from, accepted_by, expires_at)
SELECT :id, :lane, :status, :rank, :scheduled_for, :created_at, :updated_at, :input, :options, :tag, :key,
    :user_id, :schedule, :event, :retry_of, :rescheduled_from, :accepted_by, :expires_at
WHERE EXISTS (SELECT 1 FROM workbell_keys WHERE tenant = :tenant AND key = :key AND run = :id)

-- take_key: hold a key for a run, unless it is held and its time is not over
INSERT INTO workbell_keys (tenant, key, run, until) VALUES (:tenant, :key, :id, :until)
ON CONFLICT (tenant, key) DO UPDATE SET run = excluded.run, until = excluded.until
WHERE workbell_keys.until <= :created_at

-- lock_key: make sure that a key is there, and keep others from changing who holds it
INSERT INTO workbell_keys (tenant, key, run, until) VALUES (:tenant, :key, :id, :until)
ON CONFLICT (tenant, key) DO UPDATE SET key = excluded.key

-- seize_key: hold a key for a run, whoever held it
INSERT INTO workbell_keys (tenant, key, run, until) VALUES (:tenant, :key, :id, :until)
ON CONFLICT (tenant, key) DO UPDATE SET run = excluded.run, until = excluded.until

-- key_holder: the run that holds a key
SELECT run FROM workbell_keys WHERE tenant = :tenant AND key = :key

-- request_of: what a run was made from
SELECT l.job, r.input, r.options FROM workbell_runs r JOIN workbell_lanes l ON l.id = r.lane WHERE r.id = :id
UNION ALL
SELECT l.job, r.input, r.options FROM workbell_history r JOIN workbell_lanes l ON l.id = r.lane WHERE r.id = :id

-- add_lane: make a lane known; one with a key is used again, so that it is not removed
INSERT INTO workbell_lanes (id, tenant, queue, job, target, key, created_at)
VALUES (:lane, :tenant, :queue, :job, :target, :key, :created_at)
ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at WHERE workbell_lanes.key IS NOT NULL

-- keyed_lanes: a page of the lanes with a key, and when they were last asked for
SELECT id, created_at FROM workbell_lanes WHERE id > :after AND key IS NOT NULL ORDER BY id LIMIT :limit

-- next_due: the earliest time of a scheduled run
SELECT scheduled_for FROM workbell_runs WHERE status = 'scheduled' ORDER BY scheduled_for LIMIT 1

-- next_due_after: the same, beyond a time
SELECT scheduled_for FROM workbell_runs WHERE status = 'scheduled' AND scheduled_for > :after
ORDER BY scheduled_for LIMIT 1

-- waits_ahead: whether any wait began later than now, by a clock that was put back since
SELECT 1 FROM workbell_runs WHERE status = 'scheduled' AND updated_at > :now
AND (attempt > 0 OR rescheduled_from IS NOT NULL) LIMIT 1

-- leases: leases that end soon, or later than ours do: of agents, or by a clock that was put since
SELECT id, token, lease_until, worker FROM workbell_runs
WHERE status = 'running' AND (lease_until <= :before OR lease_until > :beyond)

-- expired: runs that have expired before their first start, to be ended now
SELECT {live} FROM workbell_runs r WHERE r.expires_at <= :now AND r.attempt = 0 LIMIT :limit

-- held_by: running runs of one worker
SELECT {live} FROM workbell_runs r WHERE r.status = 'running' AND r.worker = :worker

-- pending_of_tag: runs of a tag that have not started
SELECT {live} FROM workbell_runs r WHERE r.tag = :tag AND r.status <> 'running'

-- pending_accepted: runs that live only as long as the process that accepted them
SELECT {live} FROM workbell_runs r WHERE r.accepted_by IS NOT NULL AND r.status <> 'running'

-- request_cancel: ask for the end of a running run
UPDATE workbell_runs SET cancel_requested = :yes, reason = :reason WHERE id = :id AND status = 'running' RETURNING id

-- mark_alone: note that a run is executed with nothing beside it
UPDATE workbell_runs SET alone = :yes WHERE id = :id AND token = :token AND status = 'running' RETURNING id

-- set_progress: what a handler reports on its way
UPDATE workbell_runs SET progress = :progress WHERE id = :id AND token = :token AND status = 'running' RETURNING id

-- ahead_of: how many queued runs of a lane come first, counted to a limit
SELECT count(*) FROM (SELECT 1 FROM workbell_runs WHERE status = 'queued' AND lane = :lane
    AND (rank < :rank OR (rank = :rank AND (scheduled_for < :scheduled_for
        OR (scheduled_for = :scheduled_for AND id < :id)))) LIMIT 1000) AS first

-- counts: live runs by lane and status, and when the first was due
SELECT lane, status, count(*), min(scheduled_for) AS scheduled_for FROM workbell_runs GROUP BY lane, status

-- attempts: ended attempts of a run
SELECT run, number, status, started_at, finished_at, worker, error, result
FROM workbell_attempts WHERE run = :id ORDER BY number

-- drop_keys: keys whose time is over
DELETE FROM workbell_keys WHERE until <= :now RETURNING key

-- limits: a page of the limits, and when they were last written
SELECT id, updated_at FROM workbell_limits WHERE id > :after ORDER BY id LIMIT :limit

-- store_id: the identity of this store, to recognise it on a caller's connection
SELECT value FROM workbell_meta WHERE name = 'store_id'

-- add_schedule: a new schedule, if its name is free
INSERT INTO workbell_schedules ({schedule_columns}) VALUES ({schedule_values})
ON CONFLICT (tenant, name) DO NOTHING RETURNING id

-- define_schedule: change a schedule's definition, if nobody changed it meanwhile
UPDATE workbell_schedules SET {schedule_assignments} WHERE id = :id AND version = :expected RETURNING id

-- delete_schedule: if nobody changed it meanwhile; its ticks stay until their time is over
DELETE FROM workbell_schedules WHERE id = :id AND (CAST(:expected AS integer) IS NULL OR version = :expected) RETURNING id

-- delete_report: and what its runs reported
DELETE FROM workbell_reports WHERE schedule = :id

-- due_schedules: where the scheduler must look, and whether a run is live
SELECT {schedule}, (SELECT 1 FROM workbell_runs r WHERE r.schedule = s.id LIMIT 1) IS NOT NULL
FROM workbell_schedules s WHERE s.look_at <= :now ORDER BY s.look_at LIMIT :limit

-- next_look: when the scheduler must look again
SELECT look_at FROM workbell_schedules WHERE look_at IS NOT NULL ORDER BY look_at LIMIT 1

-- next_look_after: the same, beyond a time
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

-- upcoming_schedules: those of a tenant that will make a run, the next one first
-- Sorted by what few columns say, and only then read: a tenant's schedules are some thousands at the most, and an index
-- for this would have to be written at every tick.
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM (SELECT id FROM workbell_schedules WHERE tenant = :tenant AND next_run_at IS NOT NULL AND enabled AND NOT paused
    ORDER BY next_run_at, name LIMIT :limit) AS first
JOIN workbell_schedules s ON s.id = first.id LEFT JOIN workbell_reports p ON p.schedule = s.id
ORDER BY s.next_run_at, s.name

-- broken_schedules: those of all tenants that the scheduler failed with when it last looked
-- Only the doctor asks: for it a table of some thousands of rows may be read from end to end.
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.last_fire_status = 'scheduler_failed' AND s.last_error IS NOT NULL AND s.enabled AND NOT s.paused
ORDER BY s.tenant, s.name LIMIT :limit

-- live_of_schedule: live runs of a schedule
SELECT {live} FROM workbell_runs r WHERE r.schedule = :id

-- ticks: what became of a schedule's ticks, newest first
SELECT schedule, due, until, count, outcome, run, reason, created_at
FROM workbell_ticks WHERE schedule = :id AND due < :before ORDER BY due DESC LIMIT :limit

-- export_schedules: all schedules, by id
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.id > :after ORDER BY s.id LIMIT :limit

-- export_ticks: all ticks, by schedule and time
SELECT schedule, due, until, count, outcome, run, reason, created_at
FROM workbell_ticks WHERE (schedule, due) > (:after, :after_due) ORDER BY schedule, due LIMIT :limit

-- export_runs: all live runs, by id
SELECT {live} FROM workbell_runs r WHERE r.id > :after ORDER BY r.id LIMIT :limit

-- export_history: all finished runs, by id
SELECT {finished} FROM workbell_history r WHERE r.id > :after ORDER BY r.id LIMIT :limit

-- export_attempts: all attempts, by run and number
SELECT run, number, status, started_at, finished_at, worker, error, result
FROM workbell_attempts WHERE (run, number) > (:after, :after_number) ORDER BY run, number LIMIT :limit

-- export_keys: all keys
SELECT tenant, key, run, until FROM workbell_keys WHERE (tenant, key) > (:after, :after_key)
ORDER BY tenant, key LIMIT :limit

-- export_lanes: all lanes, by id
SELECT id, tenant, queue, job, target, key FROM workbell_lanes WHERE id > :after ORDER BY id LIMIT :limit

-- load_lane: a lane of another store
INSERT INTO workbell_lanes (id, tenant, queue, job, target, key, created_at)
VALUES (:id, :tenant, :queue, :job, :target, :key, :created_at) ON CONFLICT (id) DO NOTHING

-- load_schedule: a schedule of another store
INSERT INTO workbell_schedules ({schedule_columns}) VALUES ({schedule_values}) ON CONFLICT DO NOTHING

-- load_report: what the runs of another store's schedule reported
INSERT INTO workbell_reports (schedule, last_run_status, last_run_ended_at, failed_runs)
VALUES (:id, :last_run_status, :last_run_ended_at, :failed_runs) ON CONFLICT DO NOTHING

-- load_tick: a tick of another store
INSERT INTO workbell_ticks (schedule, due, until, count, outcome, run, reason, created_at)
VALUES (:schedule, :due, :until, :count, :outcome, :run, :reason, :created_at) ON CONFLICT DO NOTHING

-- load_run: a live run of another store, unless it has ended here
INSERT INTO workbell_runs ({live_columns}) SELECT {live_values}
WHERE NOT EXISTS (SELECT 1 FROM workbell_history WHERE id = :id) ON CONFLICT (id) DO NOTHING

-- unload_run: a live run that has ended in the other store
DELETE FROM workbell_runs WHERE id = :id

-- load_finished: a finished run of another store
INSERT INTO workbell_history ({finished_columns}) VALUES ({finished_values}) ON CONFLICT (id) DO NOTHING

-- load_attempt: an attempt of another store
INSERT INTO workbell_attempts (run, number, status, started_at, finished_at, worker, error, result)
VALUES (:run, :number, :status, :started_at, :finished_at, :worker, :error, :result) ON CONFLICT (run, number) DO NOTHING

-- load_key: a key of another store
INSERT INTO workbell_keys (tenant, key, run, until) VALUES (:tenant, :key, :run, :until) ON CONFLICT DO NOTHING
