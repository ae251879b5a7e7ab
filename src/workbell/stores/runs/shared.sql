-- Runs, lanes and keys. Time is always a parameter. Statuses and tokens that guard a write come in as data, from the state
-- machine.

-- add_run: one run, as the caller's statement or as ours
INSERT INTO workbell_runs ({new_columns})
VALUES ({new_values})

-- add_keyed_run: the same, if the key was won
INSERT INTO workbell_runs ({new_columns})
SELECT {new_values}
WHERE EXISTS (SELECT 1 FROM workbell_keys WHERE tenant = :tenant AND key = :key AND run = :id)

-- take_key: hold a key for a run, unless another run holds it and it has not expired
INSERT INTO workbell_keys (tenant, key, run, until) VALUES (:tenant, :key, :id, :until)
ON CONFLICT (tenant, key) DO UPDATE SET run = excluded.run, until = excluded.until
WHERE workbell_keys.until <= :created_at

-- key_holder: the run that holds a key, whether it holds it for its life, and whether that has expired
SELECT run, until IS NULL AS by_life, COALESCE(until <= :created_at, false) AS is_over
FROM workbell_keys WHERE tenant = :tenant AND key = :key

-- request_of: the options of a run, which name the request that made it
SELECT r.options FROM workbell_runs r WHERE r.id = :id
UNION ALL
SELECT r.options FROM workbell_history r WHERE r.id = :id

-- made_from: runs of chosen ids, live or finished: their tenant, and the request that made them
SELECT r.id, l.tenant, r.options FROM workbell_runs r JOIN workbell_lanes l ON l.id = r.lane WHERE r.id {among ids uuid}
UNION ALL
SELECT r.id, l.tenant, r.options FROM workbell_history r JOIN workbell_lanes l ON l.id = r.lane WHERE r.id {among ids uuid}

-- finished_of: those of some ids that are in history
SELECT id FROM workbell_history WHERE id {among ids uuid}

-- add_lanes: make lanes known; those with a key are used again, so that they are not removed
-- In the order of their ids: two that write the same ones would deadlock otherwise.
INSERT INTO workbell_lanes (id, tenant, queue, job, target, key, created_at)
SELECT new.id, new.tenant, new.queue, new.job, new.target, new.key, :now
FROM {rows new: id bigint, tenant text, queue text, job text, target text, key text} WHERE true ORDER BY new.id
ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at WHERE workbell_lanes.key IS NOT NULL

-- keyed_lanes: a page of the lanes with a key, and when they were last used
SELECT id, created_at FROM workbell_lanes WHERE id > :after AND key IS NOT NULL ORDER BY id LIMIT :limit

-- next_due: the earliest time of a scheduled run
SELECT scheduled_for FROM workbell_runs WHERE status = 'scheduled' ORDER BY scheduled_for LIMIT 1

-- next_due_after: the same, beyond a time
SELECT scheduled_for FROM workbell_runs WHERE status = 'scheduled' AND scheduled_for > :after
ORDER BY scheduled_for LIMIT 1

-- waits_ahead: whether any wait began later than now, by a clock that was put back since
SELECT 1 FROM workbell_runs WHERE status = 'scheduled' AND updated_at > :now
AND (attempt > 0 OR rescheduled_from IS NOT NULL) LIMIT 1

-- leases: leases that end soon, or later than ours do: of agents, or by a clock that was put since; no more than there are slots
SELECT id, token, lease_until, worker FROM workbell_runs
WHERE status = 'running' AND (lease_until <= :before OR lease_until > :beyond)

-- expired: runs that have expired before their first start and are not locked, to be ended now
SELECT {live} FROM workbell_runs r WHERE r.expires_at <= :now AND r.attempt = 0 LIMIT :limit {lock_free}

-- ready: chosen runs that could start now: queued, not expired, in a lane that is not paused
SELECT q.id, q.lane, q.rank FROM workbell_runs q
WHERE q.id {among ids uuid} AND q.status = 'queued' AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0)
AND (SELECT 1 FROM workbell_lanes l CROSS JOIN workbell_pauses p WHERE l.id = q.lane
    AND p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL
ORDER BY q.rank, q.scheduled_for, q.id

-- take: start chosen runs under a lease, those that are still queued and not locked
UPDATE workbell_runs SET status = :to_status, token = :token, attempt = attempt + 1, worker = :worker,
    lease_until = :lease_until, started_at = :now, updated_at = :now
WHERE id IN (SELECT q.id FROM workbell_runs q WHERE q.id {among ids uuid} AND q.status = 'queued'
    AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0) {lock_free})
AND status = :from_status
RETURNING {started}

-- take_of_lanes: the same for those of chosen lanes that are not paused
UPDATE workbell_runs SET status = :to_status, token = :token, attempt = attempt + 1, worker = :worker,
    lease_until = :lease_until, started_at = :now, updated_at = :now
WHERE id IN (SELECT q.id FROM workbell_runs q WHERE q.id {among ids uuid} AND q.status = 'queued'
    AND q.lane {among lanes bigint} AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0)
    AND (SELECT 1 FROM workbell_lanes l CROSS JOIN workbell_pauses p WHERE l.id = q.lane
        AND p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL {lock_free})
AND status = :from_status
RETURNING {started}

-- queued_before: runs that workers could have taken for a while; any of them, in no order
-- Drawn from the next `scan` queued runs behind a lane, and from as many in the beginning, as behind it may be none.
WITH seen AS MATERIALIZED (
    SELECT * FROM (SELECT id, lane, updated_at FROM workbell_runs WHERE status = 'queued' AND lane >= :lane
        ORDER BY lane, rank, scheduled_for LIMIT :scan) AS behind
    UNION ALL
    SELECT * FROM (SELECT id, lane, updated_at FROM workbell_runs WHERE status = 'queued' AND lane < :lane
        ORDER BY lane, rank, scheduled_for LIMIT :scan) AS beginning
), drawn AS MATERIALIZED (
    SELECT seen.id FROM seen WHERE seen.updated_at < :time
    AND (SELECT 1 FROM workbell_lanes l WHERE l.id = seen.lane AND l.target IS NULL
        AND (SELECT 1 FROM workbell_pauses p
            WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL
        AND (SELECT 1 FROM workbell_jobs j
            WHERE j.tenant = l.tenant AND j.name = l.job AND j.source = 'api' AND NOT j.enabled) IS NULL) IS NOT NULL
    ORDER BY random() LIMIT :limit
)
SELECT {live} FROM drawn CROSS JOIN workbell_runs r WHERE r.id = drawn.id

-- held_by: running runs of one worker, no more than it has slots
SELECT {live} FROM workbell_runs r WHERE r.status = 'running' AND r.worker = :worker

-- leases_of: the leases of some workers, without their runs; no more than they have slots
SELECT id, token, lease_until, worker FROM workbell_runs WHERE status = 'running' AND worker {among workers text}

-- pending_of_tag: some runs of a tenant's tag that have not started, to be ended: without their input
WITH {tag_lanes}
SELECT {waiting} FROM own CROSS JOIN workbell_runs r
WHERE r.tag = :tag AND r.lane = own.lane AND r.status <> 'running' LIMIT :limit

-- accepting: processes that have accepted runs which live only as long as they do; by steps from one to the next
WITH RECURSIVE process(name) AS (
    SELECT min(r.accepted_by) FROM workbell_runs r WHERE r.accepted_by > ''
    UNION ALL
    SELECT (SELECT min(r.accepted_by) FROM workbell_runs r WHERE r.accepted_by > process.name) FROM process
    WHERE process.name IS NOT NULL
)
SELECT name FROM process WHERE name IS NOT NULL

-- pending_accepted: some of the runs of such a process that have not started, to be ended: without their input
SELECT {waiting} FROM workbell_runs r WHERE r.accepted_by = :process AND r.status <> 'running' LIMIT :limit

-- request_cancel: ask for the end of a running run
UPDATE workbell_runs SET cancel_requested = :yes, reason = :reason WHERE id = :id AND status = 'running' RETURNING id

-- mark_alone: note that a run is executed with nothing beside it
UPDATE workbell_runs SET alone = :yes WHERE id = :id AND token = :token AND status = 'running' RETURNING id

-- set_progress: what a handler reports on its way
UPDATE workbell_runs SET progress = :progress WHERE id = :id AND token = :token AND status = 'running' RETURNING id

-- attempts: a page of the ended attempts of a run, beyond a number; a run that snoozes may have any number of them
SELECT run, number, status, started_at, finished_at, worker, error, result, token
FROM workbell_attempts WHERE run = :id AND number > :after ORDER BY number LIMIT :limit

-- export_runs: all live runs, by id
SELECT {live} FROM workbell_runs r WHERE r.id > :after ORDER BY r.id LIMIT :limit

-- export_history: all finished runs, by id
SELECT {finished} FROM workbell_history r WHERE r.id > :after ORDER BY r.id LIMIT :limit

-- export_attempts: all attempts, by run and number
SELECT run, number, status, started_at, finished_at, worker, error, result, token
FROM workbell_attempts WHERE (run, number) > (:after, :after_number) ORDER BY run, number LIMIT :limit

-- export_keys: all keys
SELECT tenant, key, run, until FROM workbell_keys WHERE (tenant, key) > (:after, :after_key)
ORDER BY tenant, key LIMIT :limit

-- export_lanes: all lanes, by id
SELECT id, tenant, queue, job, target, key FROM workbell_lanes WHERE id > :after ORDER BY id LIMIT :limit

-- load_lanes: lanes of another store
INSERT INTO workbell_lanes (id, tenant, queue, job, target, key, created_at)
SELECT new.id, new.tenant, new.queue, new.job, new.target, new.key, :now
FROM {rows new: id bigint, tenant text, queue text, job text, target text, key text} WHERE true ORDER BY new.id
ON CONFLICT (id) DO NOTHING

-- load_run: a live run of another store, unless it has ended here
INSERT INTO workbell_runs ({live_columns}) SELECT {live_values}
WHERE NOT EXISTS (SELECT 1 FROM workbell_history WHERE id = :id) ON CONFLICT (id) DO NOTHING

-- unload_run: a live run that has ended in the other store
DELETE FROM workbell_runs WHERE id = :id

-- load_finished: a finished run of another store
INSERT INTO workbell_history ({finished_columns}) VALUES ({finished_values}) ON CONFLICT (id) DO NOTHING

-- load_attempt: an attempt of another store
INSERT INTO workbell_attempts (run, number, status, started_at, finished_at, worker, error, result, token)
VALUES (:run, :number, :status, :started_at, :finished_at, :worker, :error, :result, :token)
ON CONFLICT (run, number) DO NOTHING

-- load_key: a key of another store
INSERT INTO workbell_keys (tenant, key, run, until) VALUES (:tenant, :key, :run, :until) ON CONFLICT DO NOTHING

-- add_runs: many runs; SQLite and PostgreSQL have quicker ways for as many
INSERT INTO workbell_runs ({new_columns})
SELECT {new_columns} FROM {new_runs}

-- move: transitions after which the run goes on; one with a cancel asked for does not
-- The range on the token is always true. It makes PostgreSQL's planner expect few rows: knowing that there are 400, it
-- hashed all of 20,000 live runs (18 ms; by the primary key 10).
UPDATE workbell_runs AS r SET status = new.status, scheduled_for = new.scheduled_for, updated_at = new.updated_at,
    attempt = new.attempt, failures = new.failures, losses = new.losses, crashes = new.crashes, alone = new.alone,
    worker = new.worker, lease_until = new.lease_until, started_at = new.started_at, error = new.error,
    reason = new.reason, suspect = new.suspect
FROM {rows new: run_id uuid, expected text, expected_token bigint, status text, scheduled_for timestamptz,
    updated_at timestamptz, attempt integer, failures integer, losses integer, crashes integer, alone boolean,
    worker text, lease_until timestamptz, started_at timestamptz, error text, reason text, suspect boolean}
WHERE r.id = new.run_id AND r.status = new.expected AND r.token = new.expected_token AND NOT r.cancel_requested
AND new.expected_token BETWEEN 0 AND 9007199254740991
RETURNING id

-- run_guards: what transitions depend on
SELECT id, status, token, cancel_requested FROM workbell_runs WHERE id {among ids uuid}

-- asked_to_end: those of some runs for which a cancel was asked for
SELECT id FROM workbell_runs WHERE id {among ids uuid} AND cancel_requested = :yes

-- add_attempts: ended attempts of runs that go on
INSERT INTO workbell_attempts (run, number, status, started_at, finished_at, worker, error, result, token)
SELECT * FROM {rows new: run uuid, number integer, status text, started_at timestamptz, finished_at timestamptz,
    worker text, error text, result text, token bigint}
WHERE true ON CONFLICT (run, number) DO NOTHING

-- find_lanes: lanes by id
SELECT id, tenant, queue, job, target, key FROM workbell_lanes WHERE id {among ids bigint}

-- find_live: live runs by id
SELECT {live} FROM workbell_runs r WHERE r.id {among ids uuid}

-- find_finished: finished runs by id
SELECT {finished} FROM workbell_history r WHERE r.id {among ids uuid}

-- run_of_key: the same as a run, if it lives
SELECT {live} FROM workbell_runs r
WHERE r.id = (SELECT k.run FROM workbell_keys k WHERE k.tenant = :tenant AND k.key = :key)

-- holds_key: whether a run holds its key
SELECT run FROM workbell_keys WHERE tenant = :tenant AND key = :key AND run = :id

-- pass_key: move a key from its holder to a new run
UPDATE workbell_keys SET run = :id, until = :until WHERE tenant = :tenant AND key = :key AND run = :before RETURNING run

-- others_of_tag: whether another run of a tenant's tag waits: a lane that has one
WITH {tag_lanes}
SELECT own.lane FROM own WHERE (SELECT 1 FROM workbell_runs r WHERE r.tag = :tag AND r.lane = own.lane
    AND r.status IN ('scheduled', 'queued') AND r.id <> :id LIMIT 1) IS NOT NULL LIMIT 1
