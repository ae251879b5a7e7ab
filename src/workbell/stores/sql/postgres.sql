-- What PostgreSQL does its own way: batches as arrays, SKIP LOCKED, data-changing CTEs.
--
-- Statuses and tokens that guard a write come from the unnested arrays, not as constants. With a constant
-- `status = 'running'` the planner may take the small partial index of running rows for each row of the batch
-- (279 ms for 1,000 rows); compared with a column of the batch, only the primary key can serve.

-- dispatch: queue what is due
UPDATE workbell_runs SET status = :to_status, updated_at = :now
WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_runs WHERE status = 'scheduled' AND scheduled_for <= :now
    ORDER BY scheduled_for LIMIT :limit FOR UPDATE SKIP LOCKED))
AND status = :from_status RETURNING id

-- restart_waits: waits that began by a clock that was put back since begin now
UPDATE workbell_runs SET scheduled_for = scheduled_for - (updated_at - CAST(:now AS timestamptz)), updated_at = :now
WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_runs WHERE status = 'scheduled' AND updated_at > :now
    AND (attempt > 0 OR rescheduled_from IS NOT NULL) FOR UPDATE SKIP LOCKED))
AND status = :status

-- survey: lanes and ranks that have queued runs, by stepping from one to the next in the index
-- The LATERAL keeps the steps in their order, which a hash join would not, and lets the LIMIT end them. For the same
-- reason the pauses are asked lane by lane: of NOT EXISTS the planner may make a join.
WITH RECURSIVE head(lane, rank) AS (
    (SELECT lane, rank FROM workbell_runs WHERE status = 'queued' AND lane > :after ORDER BY lane, rank LIMIT 1)
    UNION ALL
    SELECT next.lane, next.rank FROM head, LATERAL (SELECT r.lane, r.rank FROM workbell_runs r
        WHERE r.status = 'queued' AND (r.lane, r.rank) > (head.lane, head.rank) ORDER BY r.lane, r.rank LIMIT 1) next
)
SELECT h.lane, h.rank, l.tenant, l.queue, l.job, l.target, l.key
FROM head h CROSS JOIN LATERAL (SELECT * FROM workbell_lanes WHERE id = h.lane OFFSET 0) l
WHERE (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL
LIMIT :limit

-- claim: take the heads of chosen lanes under a lease
-- By ctid: the rows were locked a moment ago in this statement, so they cannot have moved, and a lookup by id for
-- each of them (two or three pages more a row) is spared. The outer LIMIT stops the inner scans, so that no more
-- rows are locked than are taken.
UPDATE workbell_runs r SET status = :to_status, token = r.token + 1, attempt = r.attempt + 1, worker = :worker,
    lease_until = :lease_until, started_at = :now, updated_at = :now
WHERE r.ctid = ANY(ARRAY(
    SELECT head.ctid FROM unnest(CAST(:lanes AS bigint[]), CAST(:ranks AS smallint[]), CAST(:quotas AS integer[]))
        AS pick(lane, rank, quota)
    CROSS JOIN LATERAL (SELECT q.ctid FROM workbell_runs q
        WHERE q.status = 'queued' AND q.lane = pick.lane AND q.rank = pick.rank
        AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0)
        ORDER BY q.scheduled_for, q.id LIMIT pick.quota FOR UPDATE SKIP LOCKED) head
    LIMIT :limit))
AND r.status = :from_status
RETURNING {live}

-- renew: extend leases that are still held
-- Also one whose time is over, as long as nobody has taken it: whose clock would decide? A sweep that takes a lease
-- marks it first (see take_over), so that no renewal crosses it. A row that somebody has locked is not waited for, or all
-- other leases would end meanwhile: it is answered as it is, not renewed and not lost.
WITH held AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:ids AS uuid[]), CAST(:tokens AS integer[]), CAST(:statuses AS text[]))
        AS held(id, token, status)
), free AS MATERIALIZED (
    SELECT run.ctid, run.id FROM held CROSS JOIN LATERAL (SELECT r.ctid, r.id FROM workbell_runs r
        WHERE r.id = held.id AND r.token = held.token AND r.status = held.status AND r.lease_until <> :taken
        FOR NO KEY UPDATE SKIP LOCKED) run
), renewed AS (
    UPDATE workbell_runs r SET lease_until = :lease_until WHERE r.ctid = ANY(ARRAY(SELECT ctid FROM free))
    RETURNING r.id, r.token, CASE WHEN r.cancel_requested THEN r.reason END AS reason
)
SELECT id, token, reason, false FROM renewed
UNION ALL
SELECT r.id, r.token, CASE WHEN r.cancel_requested THEN r.reason END, true
FROM held CROSS JOIN LATERAL (SELECT * FROM workbell_runs r WHERE r.id = held.id AND r.token = held.token
    AND r.status = held.status AND r.lease_until <> :taken OFFSET 0) r
WHERE r.id NOT IN (SELECT id FROM free)

-- take_over: mark leases that were seen to have ended, so that they cannot be renewed any more
-- Each only as it was seen. Rows that anybody has locked are left for the next sweep: a process that is frozen in its
-- booking, or a caller's open transaction, holds up nothing but them. By ctid, as in claim.
UPDATE workbell_runs r SET lease_until = :taken
WHERE r.ctid = ANY(ARRAY(
    SELECT held.ctid FROM unnest(CAST(:ids AS uuid[]), CAST(:tokens AS integer[]), CAST(:ends AS timestamptz[]))
        AS seen(id, token, until)
    CROSS JOIN LATERAL (SELECT q.ctid FROM workbell_runs q WHERE q.id = seen.id AND q.token = seen.token
        AND q.status = :status AND q.lease_until = seen.until FOR UPDATE SKIP LOCKED) AS held
    LIMIT :limit))
AND r.status = :status
RETURNING {live}

-- expired: runs that have expired before their first start and that nobody has locked, to be ended now
SELECT {live} FROM workbell_runs r WHERE r.expires_at <= :now AND r.attempt = 0 LIMIT :limit FOR UPDATE SKIP LOCKED

-- move: transitions after which the run goes on; one with a cancel asked for does not
UPDATE workbell_runs r SET status = new.status, scheduled_for = new.scheduled_for, updated_at = new.updated_at,
    attempt = new.attempt, failures = new.failures, losses = new.losses, crashes = new.crashes, alone = new.alone,
    worker = new.worker, lease_until = new.lease_until, started_at = new.started_at, error = new.error,
    reason = new.reason, suspect = new.suspect
FROM unnest(CAST(:run_id AS uuid[]), CAST(:expected AS text[]), CAST(:expected_token AS integer[]),
    CAST(:status AS text[]), CAST(:scheduled_for AS timestamptz[]), CAST(:updated_at AS timestamptz[]),
    CAST(:attempt AS integer[]), CAST(:failures AS integer[]), CAST(:losses AS integer[]), CAST(:crashes AS integer[]),
    CAST(:alone AS boolean[]), CAST(:worker AS text[]), CAST(:lease_until AS timestamptz[]),
    CAST(:started_at AS timestamptz[]), CAST(:error AS text[]), CAST(:reason AS text[]), CAST(:suspect AS boolean[]))
    AS new(id, expected, expected_token, status, scheduled_for, updated_at, attempt, failures, losses, crashes, alone,
        worker, lease_until, started_at, error, reason, suspect)
WHERE r.id = new.id AND r.status = new.expected AND r.token = new.expected_token AND NOT r.cancel_requested
RETURNING r.id, r.token

-- asked_to_end: whether a cancel was asked for; the rows are held, so that none is asked for afterwards
SELECT id, cancel_requested FROM workbell_runs WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE

-- finish: transitions that end a run move it into history, in one statement
-- A join of the batch with the live table was tried first: the planner hashes the whole table (15 ms with 20,000
-- live rows, and growing). A LATERAL that locks cannot be turned into a join, so each row is one lookup by primary
-- key, and the array of an unknown length makes the DELETE do the same. It reads the newest version of a row, so a
-- renewal at the same moment does not hide the row from it (as deleting by ctid would).
WITH locked AS MATERIALIZED (
    SELECT run.id, run.lane, new.status, run.rank, run.scheduled_for, run.created_at, new.finished_at AS updated_at,
        run.attempt, new.failures, new.losses, new.crashes, run.token, run.worker, new.started_at, run.input,
        run.options, run.tag, run.key, run.user_id, run.schedule, run.event, run.retry_of, run.rescheduled_from,
        run.accepted_by, run.expires_at, run.progress, new.error, new.reason, new.finished_at, new.result,
        new.remove_at
    FROM unnest(CAST(:run_id AS uuid[]), CAST(:expected AS text[]), CAST(:expected_token AS integer[]),
        CAST(:status AS text[]), CAST(:failures AS integer[]), CAST(:losses AS integer[]), CAST(:crashes AS integer[]),
        CAST(:started_at AS timestamptz[]), CAST(:error AS text[]), CAST(:reason AS text[]),
        CAST(:finished_at AS timestamptz[]), CAST(:result_text AS text[]), CAST(:remove_at AS timestamptz[]))
        AS new(id, expected, expected_token, status, failures, losses, crashes, started_at, error, reason, finished_at,
            result, remove_at)
    CROSS JOIN LATERAL (SELECT * FROM workbell_runs r
        WHERE r.id = new.id AND r.status = new.expected AND r.token = new.expected_token FOR UPDATE) run
), gone AS (
    DELETE FROM workbell_runs WHERE id = ANY(ARRAY(SELECT id FROM locked))
)
INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures, losses,
    crashes, token, worker, started_at, input, options, tag, key, user_id, schedule, event, retry_of, rescheduled_from,
    accepted_by, expires_at, progress, error, reason, finished_at, result, remove_at)
SELECT * FROM locked RETURNING id, token, key, lane, schedule, status

-- add_attempts: ended attempts of runs that go on
INSERT INTO workbell_attempts (run, number, status, started_at, finished_at, worker, error, result)
SELECT * FROM unnest(CAST(:run AS uuid[]), CAST(:number AS integer[]), CAST(:status AS text[]),
    CAST(:started_at AS timestamptz[]), CAST(:finished_at AS timestamptz[]), CAST(:worker AS text[]),
    CAST(:error AS text[]), CAST(:result AS text[]))
ON CONFLICT (run, number) DO NOTHING

-- free_keys: keys that were held while their runs lived
DELETE FROM workbell_keys WHERE ctid = ANY(ARRAY(
    SELECT k.ctid FROM unnest(CAST(:tenant AS text[]), CAST(:key AS text[]), CAST(:run AS uuid[])) AS held(tenant, key, run)
    CROSS JOIN LATERAL (SELECT k.ctid FROM workbell_keys k WHERE k.tenant = held.tenant AND k.key = held.key
        AND k.run = held.run AND k.until IS NULL FOR UPDATE) k))

-- cancel_pending: end runs that have not started, because new ones take their place
WITH gone AS (
    DELETE FROM workbell_runs r USING workbell_lanes l WHERE l.id = r.lane AND l.tenant = :tenant
    AND (r.tag = :old_tag OR r.id = (SELECT k.run FROM workbell_keys k WHERE k.tenant = :tenant AND k.key = :old_key))
    AND r.status IN ('scheduled', 'queued') RETURNING r.*
), freed AS (
    DELETE FROM workbell_keys k USING gone
    WHERE k.tenant = :tenant AND k.key = gone.key AND k.run = gone.id AND k.until IS NULL AND gone.tag = :old_tag
)
INSERT INTO workbell_history (id, lane, status, rank, scheduled_for, created_at, updated_at, attempt, failures, losses,
    crashes, token, worker, started_at, input, options, tag, key, user_id, schedule, event, retry_of, rescheduled_from,
    accepted_by, expires_at, progress, error, reason, finished_at, result, remove_at)
SELECT id, lane, :to_status, rank, scheduled_for, created_at, :created_at, attempt, failures, losses, crashes, token,
    worker, started_at, input, options, tag, key, user_id, schedule, event, retry_of, rescheduled_from, accepted_by,
    expires_at, progress, error, :reason, :created_at, NULL, COALESCE(CAST(:created_at AS timestamptz)
        + make_interval(secs => CAST(CAST(options AS json) ->> 'remove_delay' AS double precision)), :remove_at)
FROM gone RETURNING {canceled}

-- lock_tag: keep others from replacing the runs of a tag: they would not see each other's new run
SELECT pg_advisory_xact_lock(hashtextextended('workbell tag ' || :tenant || chr(31) || :tag, 0))

-- try_tag: the same, if nobody else holds it; whether nobody does
SELECT pg_try_advisory_xact_lock(hashtextextended('workbell tag ' || :tenant || chr(31) || :tag, 0))

-- lock_limits: hold limits while they are counted, those that nobody else holds
SELECT id, starts FROM workbell_limits WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR UPDATE SKIP LOCKED

-- limit_starts: the same, without keeping anybody out
SELECT id, starts FROM workbell_limits WHERE id = ANY(CAST(:ids AS bigint[]))

-- running_of_keys: how many runs of a job are running, for some values of its key
-- Lane by lane: what other jobs are doing must not make it slower. The LATERALs keep it from being done the other way.
SELECT wanted.id, count(*) FROM unnest(CAST(:id AS bigint[]), CAST(:tenant AS text[]), CAST(:job AS text[]),
    CAST(:key AS text[])) AS wanted(id, tenant, job, key)
CROSS JOIN LATERAL (SELECT l.id FROM workbell_lanes l
    WHERE l.tenant = wanted.tenant AND l.job = wanted.job AND l.key = wanted.key OFFSET 0) lane
CROSS JOIN LATERAL (SELECT 1 FROM workbell_runs r WHERE r.status = 'running' AND r.lane = lane.id OFFSET 0) run
GROUP BY wanted.id

-- running_of_job: how many runs of a job are running
SELECT count(*) FROM (SELECT l.id FROM workbell_lanes l WHERE l.tenant = :tenant AND l.job = :job OFFSET 0) lane
CROSS JOIN LATERAL (SELECT 1 FROM workbell_runs r WHERE r.status = 'running' AND r.lane = lane.id OFFSET 0) run

-- running_without_key: the same, only those from before the job had a key
SELECT count(*) FROM (SELECT l.id FROM workbell_lanes l
    WHERE l.tenant = :tenant AND l.job = :job AND l.key IS NULL OFFSET 0) lane
CROSS JOIN LATERAL (SELECT 1 FROM workbell_runs r WHERE r.status = 'running' AND r.lane = lane.id OFFSET 0) run

-- running_scattered: the same of a job with any number of lanes: from what is running
SELECT count(*) FROM workbell_runs r
CROSS JOIN LATERAL (SELECT 1 FROM workbell_lanes l
    WHERE l.id = r.lane AND l.tenant = :tenant AND l.job = :job OFFSET 0) lane
WHERE r.status = 'running'

-- running_of_tenant: how many runs of a tenant are running, whatever their job: from what is running
SELECT count(*) FROM workbell_runs r
CROSS JOIN LATERAL (SELECT 1 FROM workbell_lanes l WHERE l.id = r.lane AND l.tenant = :tenant OFFSET 0) lane
WHERE r.status = 'running' AND :job = ''

-- add_limits: make rows of limits known, to be locked
INSERT INTO workbell_limits (id, tenant, job, key, starts, updated_at)
SELECT * FROM unnest(CAST(:id AS bigint[]), CAST(:tenant AS text[]), CAST(:job AS text[]), CAST(:key AS text[]),
    CAST(:starts AS text[]), CAST(:updated_at AS timestamptz[])) ORDER BY 1
ON CONFLICT (id) DO NOTHING

-- note_starts: remember the starts of limits
UPDATE workbell_limits l SET starts = new.starts, updated_at = new.updated_at
FROM unnest(CAST(:id AS bigint[]), CAST(:tenant AS text[]), CAST(:job AS text[]), CAST(:key AS text[]),
    CAST(:starts AS text[]), CAST(:updated_at AS timestamptz[])) AS new(id, tenant, job, key, starts, updated_at)
WHERE l.id = new.id

-- delete_limits: limits whose starts no longer matter
DELETE FROM workbell_limits WHERE id = ANY(ARRAY(SELECT id FROM workbell_limits
    WHERE id = ANY(CAST(:ids AS bigint[])) AND updated_at <= :before FOR UPDATE SKIP LOCKED))

-- find_lanes: lanes by id
SELECT id, tenant, queue, job, target, key FROM workbell_lanes WHERE id = ANY(CAST(:ids AS bigint[]))

-- drop_keys: keys whose time is over; one that somebody is about to take is left to him
DELETE FROM workbell_keys WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_keys WHERE until <= :now
    FOR UPDATE SKIP LOCKED)) AND until <= :now RETURNING key

-- delete_lanes: lanes with a key that nobody asked for lately, and that have no runs
-- The age is looked at again in a row that somebody else has just written. One that is being written is left alone.
DELETE FROM workbell_lanes l WHERE l.id = ANY(ARRAY(SELECT id FROM workbell_lanes
    WHERE id = ANY(CAST(:ids AS bigint[])) AND created_at <= :before ORDER BY id FOR UPDATE SKIP LOCKED))
AND l.created_at <= :before
AND NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.lane = l.id AND r.status = 'queued')
AND NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.lane = l.id AND r.status = 'running')
AND NOT EXISTS (SELECT 1 FROM workbell_history h WHERE h.lane = l.id)
AND l.id <> ALL(ARRAY(SELECT r.lane FROM workbell_runs r
    WHERE r.status = 'scheduled' AND r.lane = ANY(CAST(:ids AS bigint[]))))
RETURNING id

-- find_live: live runs by id
SELECT {live} FROM workbell_runs r WHERE r.id = ANY(CAST(:ids AS uuid[]))

-- live_retries: which live runs repeat these
SELECT retry_of, id, status, created_at, key FROM workbell_runs WHERE retry_of = ANY(CAST(:ids AS uuid[]))

-- finished_retries: which finished runs repeat these
SELECT retry_of, id, status, created_at, key FROM workbell_history WHERE retry_of = ANY(CAST(:ids AS uuid[]))

-- find_finished: finished runs by id
SELECT {finished} FROM workbell_history r WHERE r.id = ANY(CAST(:ids AS uuid[]))

-- delete_finished: a batch of history whose time is over, with its attempts and logs; what holds a key stays as long
WITH due AS (
    SELECT id, lane, key FROM workbell_history WHERE remove_at <= :now ORDER BY remove_at LIMIT :limit
    FOR UPDATE SKIP LOCKED
), held AS (
    SELECT due.id, k.until FROM due JOIN workbell_lanes l ON l.id = due.lane
    CROSS JOIN LATERAL (SELECT until FROM workbell_keys WHERE tenant = l.tenant AND key = due.key AND run = due.id
        AND until > :now OFFSET 0) k
    WHERE due.key IS NOT NULL
), kept AS (
    UPDATE workbell_history h SET remove_at = held.until FROM held WHERE h.id = held.id RETURNING h.id
), gone AS (
    DELETE FROM workbell_history
    WHERE id = ANY(ARRAY(SELECT id FROM due WHERE NOT EXISTS (SELECT 1 FROM held WHERE held.id = due.id))) RETURNING id
), attempts AS (
    DELETE FROM workbell_attempts WHERE run IN (SELECT id FROM gone)
), logs AS (
    DELETE FROM workbell_logs WHERE run IN (SELECT id FROM gone)
)
SELECT id FROM gone UNION ALL SELECT id FROM kept

-- time: the database's own clock
SELECT clock_timestamp()

-- blocked_sessions: sessions that wait for a lock with our tables in hand, or for a tag, and who keeps them waiting
SELECT waiting.pid, CAST(extract(epoch FROM clock_timestamp() - waiting.query_start) AS float8), blocker.pid
FROM pg_stat_activity waiting CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocker(pid)
WHERE waiting.datname = current_database() AND waiting.wait_event_type = 'Lock'
AND (waiting.query LIKE '%workbell tag%'
    OR waiting.pid IN (SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND c.relname LIKE 'workbell~_%' ESCAPE '~'))

-- idle_transactions: sessions that have our tables locked in a transaction, and have said nothing for a while
SELECT a.pid FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.state LIKE 'idle in transaction%'
AND a.state_change <= clock_timestamp() - make_interval(secs => :seconds)
AND a.pid IN (SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND c.relname LIKE 'workbell~_%' ESCAPE '~')

-- sessions: what some sessions are, and what they do
SELECT pid, application_name, COALESCE(host(client_addr), 'this machine'), state,
    CAST(extract(epoch FROM clock_timestamp() - state_change) AS float8), left(query, 1000)
FROM pg_stat_activity WHERE pid = ANY(CAST(:pids AS integer[]))

-- advance: schedules go on to their next tick, each if nobody else took it there and no run is in its way
-- A row that another scheduler has locked is being advanced by it: skipping it costs nothing and cannot deadlock.
-- The range on `expected` is always true. It makes the planner expect few rows: knowing that there are hundreds, it
-- hashed the whole table for every batch. The LIMIT keeps it from hashing all live runs for the overlap test.
WITH free AS MATERIALIZED (
    SELECT new.* FROM unnest(CAST(:id AS uuid[]), CAST(:expected AS integer[]), CAST(:only_idle AS boolean[]),
        CAST(:look_at AS timestamptz[]), CAST(:next_run_at AS timestamptz[]), CAST(:last_scheduled_at AS timestamptz[]),
        CAST(:held_tick AS timestamptz[]), CAST(:deferred_until AS timestamptz[]), CAST(:last_run_at AS timestamptz[]),
        CAST(:last_run_id AS uuid[]), CAST(:last_fire_status AS text[]), CAST(:last_fire_at AS timestamptz[]),
        CAST(:last_error AS text[]), CAST(:run_count AS integer[]), CAST(:scheduler_failures AS integer[]))
        AS new(id, expected, only_idle, look_at, next_run_at, last_scheduled_at, held_tick, deferred_until,
            last_run_at, last_run_id, last_fire_status, last_fire_at, last_error, run_count, scheduler_failures)
    CROSS JOIN LATERAL (SELECT 1 FROM workbell_schedules s WHERE s.id = new.id AND s.version = new.expected
        AND (NOT new.only_idle OR (SELECT 1 FROM workbell_runs r WHERE r.schedule = s.id LIMIT 1) IS NULL)
        FOR UPDATE SKIP LOCKED) mine
)
UPDATE workbell_schedules s SET version = s.version + 1, look_at = new.look_at, next_run_at = new.next_run_at,
    last_scheduled_at = new.last_scheduled_at, held_tick = new.held_tick, deferred_until = new.deferred_until,
    last_run_at = new.last_run_at, last_run_id = new.last_run_id, last_fire_status = new.last_fire_status,
    last_fire_at = new.last_fire_at, last_error = new.last_error, run_count = new.run_count,
    scheduler_failures = new.scheduler_failures
FROM free new WHERE s.id = new.id AND new.expected BETWEEN 0 AND 2147483646 RETURNING s.id

-- locked_live: schedules with a live run that another transaction has locked; the others' runs are locked here
SELECT DISTINCT r.schedule FROM workbell_runs r WHERE r.schedule = ANY(CAST(:schedules AS uuid[]))
AND r.id <> ALL(ARRAY(SELECT live.id FROM workbell_runs live WHERE live.schedule = ANY(CAST(:schedules AS uuid[]))
    ORDER BY live.id FOR UPDATE SKIP LOCKED))

-- due_schedules_beside: where the scheduler must look, without versions of schedules that are passed over
-- NOT IN of a subquery is looked up in a hash; an anti join may compare every pair.
SELECT {schedule}, (SELECT 1 FROM workbell_runs r WHERE r.schedule = s.id LIMIT 1) IS NOT NULL
FROM workbell_schedules s WHERE s.look_at <= :now
AND (s.id, s.version) NOT IN (SELECT * FROM unnest(CAST(:id AS uuid[]), CAST(:version AS integer[])))
ORDER BY s.look_at LIMIT :limit

-- add_ticks: the fates of ticks, for good; the key stops a second one
INSERT INTO workbell_ticks (schedule, due, until, count, outcome, run, reason, created_at)
SELECT * FROM unnest(CAST(:schedule AS uuid[]), CAST(:due AS timestamptz[]), CAST(:until AS timestamptz[]),
    CAST(:count AS integer[]), CAST(:outcome AS text[]), CAST(:run AS uuid[]), CAST(:reason AS text[]),
    CAST(:created_at AS timestamptz[]))

-- report: what became of a schedule's runs
INSERT INTO workbell_reports (schedule, last_run_status, last_run_ended_at, failed_runs)
SELECT * FROM unnest(CAST(:schedule AS uuid[]), CAST(:last_run_status AS text[]),
    CAST(:last_run_ended_at AS timestamptz[]), CAST(:failed_runs AS integer[]))
ON CONFLICT (schedule) DO UPDATE SET failed_runs = workbell_reports.failed_runs + excluded.failed_runs,
    last_run_status = CASE WHEN excluded.last_run_ended_at >= workbell_reports.last_run_ended_at
        THEN excluded.last_run_status ELSE workbell_reports.last_run_status END,
    last_run_ended_at = greatest(excluded.last_run_ended_at, workbell_reports.last_run_ended_at)

-- find_schedules: schedules by name
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.tenant = :tenant AND s.name = ANY(CAST(:names AS text[]))

-- delete_ticks: a batch of the ledger whose time is over
DELETE FROM workbell_ticks WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_ticks WHERE created_at <= :before
    LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING schedule

-- table_holders: the oldest open transactions that hold our tables, and so keep them from being altered
SELECT a.pid, COALESCE(a.application_name, ''), COALESCE(a.state, ''),
    EXTRACT(epoch FROM clock_timestamp() - a.xact_start), COALESCE(a.query, '')
FROM pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.xact_start <= clock_timestamp() - make_interval(secs => :seconds)
    AND EXISTS (SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation WHERE l.pid = a.pid AND l.granted
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND c.relname = ANY(CAST(:tables AS text[])))
ORDER BY a.xact_start LIMIT 3

-- end_stuck: ends our own sessions whose process is frozen in the middle of a message, with rows locked
-- No timeout of the server ends these, nor a cancel: the session waits for the rest of a COPY, or to be rid of an answer.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid() AND state = 'active'
    AND application_name = current_setting('application_name') AND backend_xid IS NOT NULL
    AND (wait_event = 'ClientRead' AND query LIKE 'COPY workbell_runs %'
        OR wait_event = 'ClientWrite' AND query LIKE '%workbell_%')
    AND query_start < clock_timestamp() - make_interval(secs => :seconds)
