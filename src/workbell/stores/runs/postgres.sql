-- Runs the way of PostgreSQL: SKIP LOCKED, data-changing CTEs.
--
-- Statuses and tokens that guard a write come from the unnested arrays, not as constants. With a constant
-- `status = 'running'` the planner may take the small partial index of running rows for each row of the batch
-- (279 ms for 1,000 rows); compared with a column of the batch, only the primary key can serve. For the same reason a
-- status that is a parameter is a subquery where rows are found by ctid: a claim read the index of queued runs twice.

-- dispatch: queue what is due
UPDATE workbell_runs SET status = :to_status, updated_at = :now
WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_runs WHERE status = 'scheduled' AND scheduled_for <= :now
    ORDER BY scheduled_for LIMIT :limit FOR UPDATE SKIP LOCKED))
AND status = (SELECT CAST(:from_status AS text)) RETURNING id

-- restart_waits: waits that began by a clock that was put back since begin now
UPDATE workbell_runs SET scheduled_for = scheduled_for - (updated_at - CAST(:now AS timestamptz)), updated_at = :now
WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_runs WHERE status = 'scheduled' AND updated_at > :now
    AND (attempt > 0 OR rescheduled_from IS NOT NULL) LIMIT :limit FOR UPDATE SKIP LOCKED))
AND status = :status RETURNING id

-- survey: lanes and ranks that have queued runs, by stepping from one to the next in the index
-- The LATERAL preserves the order of the steps, which a hash join would not, and lets the LIMIT end them. For the same
-- reason the pauses are checked lane by lane: the planner may turn NOT EXISTS into a join.
-- The last row has how many seconds that took: see head_bounds.py.
WITH RECURSIVE head(lane, rank, begins) AS (
    (SELECT lane, rank, scheduled_for FROM workbell_runs WHERE status = 'queued' AND lane > :after
        ORDER BY lane, rank, scheduled_for LIMIT 1)
    UNION ALL
    SELECT next.lane, next.rank, next.scheduled_for FROM head, LATERAL (SELECT r.lane, r.rank, r.scheduled_for
        FROM workbell_runs r WHERE r.status = 'queued' AND (r.lane, r.rank) > (head.lane, head.rank)
        ORDER BY r.lane, r.rank, r.scheduled_for LIMIT 1) next
)
(SELECT h.lane, h.rank, l.tenant, l.queue, l.job, l.target, l.key, h.begins, NULL AS seconds
FROM head h CROSS JOIN LATERAL (SELECT * FROM workbell_lanes WHERE id = h.lane OFFSET 0) l
WHERE (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL
LIMIT :limit)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    CAST(extract(epoch FROM clock_timestamp() - statement_timestamp()) AS double precision)

-- survey_since: the same from known bounds on, and what is new beside these; also of paused lanes
-- Of a gap between known lanes and ranks the first run is found. Its ends are compared column by column: the index scan of
-- a row comparison goes on through all entries that are equal in the first column.
WITH known AS MATERIALIZED (
    SELECT lane, rank, since, lag(rank) OVER by_rank AS rank_before, lead(rank) OVER by_rank AS rank_behind
    FROM {rows known: lane bigint, rank smallint, since timestamptz} WINDOW by_rank AS (PARTITION BY lane ORDER BY rank)
), edge AS MATERIALIZED (
    SELECT lane, lead(lane, 1, 9223372036854775807) OVER (ORDER BY lane) AS behind
    FROM (SELECT lane FROM known UNION SELECT -1) AS lanes
), head AS (
    SELECT found.* FROM known CROSS JOIN LATERAL (SELECT r.lane, r.rank, r.scheduled_for FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = known.lane AND r.rank = known.rank AND r.scheduled_for >= known.since
        ORDER BY r.scheduled_for LIMIT 1) found
    UNION ALL
    SELECT found.* FROM known CROSS JOIN LATERAL (SELECT r.lane, r.rank, r.scheduled_for FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = known.lane AND r.rank > known.rank
        AND r.rank < COALESCE(known.rank_behind, CAST(32767 AS smallint)) ORDER BY r.rank, r.scheduled_for LIMIT 1) found
    UNION ALL
    SELECT found.* FROM known CROSS JOIN LATERAL (SELECT r.lane, r.rank, r.scheduled_for FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = known.lane AND r.rank < known.rank
        ORDER BY r.rank, r.scheduled_for LIMIT 1) found
    WHERE known.rank_before IS NULL
    UNION ALL
    SELECT found.* FROM edge CROSS JOIN LATERAL (SELECT r.lane, r.rank, r.scheduled_for FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane > edge.lane AND r.lane < edge.behind
        ORDER BY r.lane, r.rank, r.scheduled_for LIMIT 1) found
)
SELECT h.lane, h.rank, l.tenant, l.queue, l.job, l.target, l.key, h.scheduled_for, (SELECT true FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) AS is_paused
FROM head h CROSS JOIN LATERAL (SELECT * FROM workbell_lanes WHERE id = h.lane OFFSET 0) l
ORDER BY h.lane, h.rank

-- late_heads: the first run before each bound; the last row has how many seconds that took
SELECT known.lane, known.rank, found.scheduled_for, NULL AS seconds
FROM {rows known: lane bigint, rank smallint, since timestamptz}
CROSS JOIN LATERAL (SELECT r.scheduled_for FROM workbell_runs r
    WHERE r.status = 'queued' AND r.lane = known.lane AND r.rank = known.rank AND r.scheduled_for < known.since
    ORDER BY r.scheduled_for LIMIT 1) found
UNION ALL
SELECT NULL, NULL, NULL, CAST(extract(epoch FROM clock_timestamp() - statement_timestamp()) AS double precision)

-- claim: take the heads of chosen lanes under a lease
-- By ctid: the rows were locked a moment ago in this statement, so they cannot have moved, and a lookup by id for
-- each of them (two or three pages more a row) is spared. The outer LIMIT stops the inner scans, so that no more
-- rows are locked than are taken.
UPDATE workbell_runs r SET status = :to_status, token = :token, attempt = r.attempt + 1, worker = :worker,
    lease_until = :lease_until, started_at = :now, updated_at = :now
WHERE r.ctid = ANY(ARRAY(
    SELECT head.ctid FROM {rows pick: lane bigint, rank smallint, quota integer, since timestamptz}
    CROSS JOIN LATERAL (SELECT q.ctid FROM workbell_runs q
        WHERE q.status = 'queued' AND q.lane = pick.lane AND q.rank = pick.rank AND q.scheduled_for >= pick.since
        AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0)
        ORDER BY q.scheduled_for, q.id LIMIT pick.quota FOR UPDATE SKIP LOCKED) head
    LIMIT :limit))
AND r.status = (SELECT CAST(:from_status AS text))
RETURNING {started}

-- renew: extend leases that are still held
-- Also an expired one, as long as no sweep has taken it: clocks differ. A sweep that takes a lease marks it first (see
-- take_over), so that no renewal crosses it. A row that is locked by another is not waited for, as all other leases would
-- end meanwhile: it is returned as it is, not renewed and not lost.
WITH held AS MATERIALIZED (
    SELECT * FROM {rows held: id uuid, token bigint, status text}
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

-- take_over: mark expired leases, so that they cannot be renewed any more
-- Each only if it is unchanged since it was read. Locked rows are left for the next sweep: a process that is frozen in
-- its booking, or a caller's open transaction, blocks nothing but them. By ctid, as in claim.
UPDATE workbell_runs r SET lease_until = :taken
WHERE r.ctid = ANY(ARRAY(
    SELECT held.ctid FROM {rows seen: id uuid, token bigint, until timestamptz, expected text}
    CROSS JOIN LATERAL (SELECT q.ctid FROM workbell_runs q WHERE q.id = seen.id AND q.token = seen.token
        AND q.status = seen.expected AND q.lease_until = seen.until FOR UPDATE SKIP LOCKED) AS held
    LIMIT :limit))
RETURNING {live}

-- finish: transitions that end a run move it into history, in one statement
-- A join of the batch with the live table was tried first: the planner hashes the whole table (15 ms with 20,000
-- live rows, and growing). A LATERAL that locks cannot be turned into a join, so each row is one lookup by primary
-- key, and the array of an unknown length makes the DELETE do the same. It reads the newest version of a row, so a
-- renewal at the same moment does not hide the row from it (as deleting by ctid would).
WITH locked AS MATERIALIZED (
    SELECT {unchanged}, new.status, new.finished_at AS updated_at, new.failures, new.losses, new.crashes, new.started_at, new.error,
        new.reason, new.finished_at, new.result_text, new.remove_at
    FROM {rows new: run_id uuid, expected text, expected_token bigint, status text, failures integer, losses integer,
        crashes integer, started_at timestamptz, error text, reason text, finished_at timestamptz, result_text text,
        remove_at timestamptz}
    CROSS JOIN LATERAL (SELECT * FROM workbell_runs r
        WHERE r.id = new.run_id AND r.status = new.expected AND r.token = new.expected_token FOR UPDATE) run
), gone AS (
    DELETE FROM workbell_runs WHERE id = ANY(ARRAY(SELECT id FROM locked))
)
INSERT INTO workbell_history ({unchanged_columns}, {columns_of_end})
SELECT * FROM locked RETURNING id

-- finish_well: the same for runs that succeeded, by far the most: unchanged values are not sent
-- Times are microseconds, which seconds in double precision hold exactly until the year 2242.
-- Without a lock beforehand: ids with an array of unknown length lead to the primary key, and the pairs of ids and tokens
-- are hashed once. As a plain IN they would be made a join, for which the planner hashes the live table.
WITH new AS MATERIALIZED (
    SELECT run_id, expected_token, CAST(:from_status AS text) AS expected, to_timestamp(started / 1e6::float8) AS started_at,
        to_timestamp(finished / 1e6::float8) AS finished_at, result_text, to_timestamp(removed / 1e6::float8) AS remove_at
    FROM {rows new: run_id uuid, expected_token bigint, started bigint, finished bigint, result_text text, removed bigint}
), run AS (
    DELETE FROM workbell_runs run WHERE run.id = ANY(ARRAY(SELECT run_id FROM new))
    AND CASE WHEN (run.id, run.token, run.status) IN (SELECT run_id, expected_token, expected FROM new)
        THEN true ELSE false END
    RETURNING {unchanged}, run.failures, run.losses, run.crashes
)
INSERT INTO workbell_history ({unchanged_columns}, {columns_of_end})
SELECT {unchanged}, :to_status, new.finished_at, run.failures, run.losses, run.crashes, new.started_at, NULL, NULL,
    new.finished_at, new.result_text, new.remove_at
FROM run JOIN new ON new.run_id = run.id AND new.expected_token = run.token RETURNING id

-- free_keys: keys that were held while their runs lived
DELETE FROM workbell_keys WHERE ctid = ANY(ARRAY(
    SELECT k.ctid FROM unnest(CAST(:tenant AS text[]), CAST(:key AS text[]), CAST(:run AS uuid[])) AS held(tenant, key, run)
    CROSS JOIN LATERAL (SELECT k.ctid FROM workbell_keys k WHERE k.tenant = held.tenant AND k.key = held.key
        AND k.run = held.run AND k.until IS NULL FOR UPDATE) k))

-- lock_tag: lock a tag against others that replace its runs: they would not see each other's new run
SELECT pg_advisory_xact_lock(hashtextextended('workbell tag ' || :tenant || chr(31) || :tag, 0))

-- try_tag: the same without waiting; no row: another has it
SELECT 1 WHERE pg_try_advisory_xact_lock(hashtextextended('workbell tag ' || :tenant || chr(31) || :tag, 0))

-- drop_keys: a batch of expired keys; without those that are locked, as another is about to take them
DELETE FROM workbell_keys WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_keys WHERE until <= :now
    ORDER BY until LIMIT :limit FOR UPDATE SKIP LOCKED)) AND until <= :now RETURNING key

-- delete_lanes: lanes with a key that were not used lately, and that have no runs
-- The age is checked again in a row that another has just written. A row that is being written is left alone.
DELETE FROM workbell_lanes l WHERE l.id = ANY(ARRAY(SELECT id FROM workbell_lanes
    WHERE id = ANY(CAST(:ids AS bigint[])) AND created_at <= :before ORDER BY id FOR UPDATE SKIP LOCKED))
AND l.created_at <= :before
AND NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.lane = l.id AND r.status = 'queued')
AND NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.lane = l.id AND r.status = 'running')
AND NOT EXISTS (SELECT 1 FROM workbell_history h WHERE h.lane = l.id)
AND l.id <> ALL(ARRAY(SELECT r.lane FROM workbell_runs r
    WHERE r.status = 'scheduled' AND r.lane = ANY(CAST(:ids AS bigint[]))))
RETURNING id

-- delete_finished: a batch of expired history, with its attempts and logs; a run that holds a key stays as long
-- Of attempts and lines no more than `parts`: a run that has some left stays for the next batch, and the answer has a NULL.
WITH due AS MATERIALIZED (
    SELECT id, lane, key FROM workbell_history WHERE remove_at <= :now ORDER BY remove_at LIMIT :limit
    FOR UPDATE SKIP LOCKED
), held AS MATERIALIZED (
    SELECT due.id, k.until FROM due JOIN workbell_lanes l ON l.id = due.lane
    CROSS JOIN LATERAL (SELECT until FROM workbell_keys WHERE tenant = l.tenant AND key = due.key AND run = due.id
        AND until > :now OFFSET 0) k
    WHERE due.key IS NOT NULL
), kept AS (
    UPDATE workbell_history h SET remove_at = held.until FROM held WHERE h.id = held.id RETURNING h.id
), ended AS MATERIALIZED (
    SELECT id FROM due WHERE NOT EXISTS (SELECT 1 FROM held WHERE held.id = due.id)
), numbers AS MATERIALIZED (
    SELECT a.ctid FROM ended CROSS JOIN LATERAL (SELECT ctid FROM workbell_attempts WHERE run = ended.id OFFSET 0) a
    LIMIT :parts
), lines AS MATERIALIZED (
    SELECT l.ctid FROM ended CROSS JOIN LATERAL (SELECT ctid FROM workbell_logs WHERE run = ended.id OFFSET 0) l
    LIMIT :parts
), cut AS MATERIALIZED (
    SELECT 1 WHERE (SELECT count(*) FROM numbers) >= :parts OR (SELECT count(*) FROM lines) >= :parts
), attempts AS (
    DELETE FROM workbell_attempts WHERE ctid = ANY(ARRAY(SELECT ctid FROM numbers))
), logs AS (
    DELETE FROM workbell_logs WHERE ctid = ANY(ARRAY(SELECT ctid FROM lines))
), gone AS (
    DELETE FROM workbell_history h WHERE h.id = ANY(ARRAY(SELECT id FROM ended))
    AND (NOT EXISTS (SELECT 1 FROM cut) OR ((SELECT 1 FROM workbell_attempts a WHERE a.run = h.id LIMIT 1) IS NULL
        AND (SELECT 1 FROM workbell_logs l WHERE l.run = h.id LIMIT 1) IS NULL))
    RETURNING h.id
)
SELECT id FROM gone UNION ALL SELECT id FROM kept UNION ALL SELECT NULL FROM cut

-- survey_targets: lanes of these targets, and the ranks of their queued runs
-- Lane by lane, each a step in the index of queued runs.
WITH RECURSIVE head(lane, rank) AS (
    SELECT l.id, (SELECT min(r.rank) FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id)
    FROM workbell_lanes l WHERE l.tenant = :tenant AND l.target = ANY(CAST(:targets AS text[]))
    UNION ALL
    SELECT head.lane, (SELECT min(r.rank) FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = head.lane AND r.rank > head.rank)
    FROM head WHERE head.rank IS NOT NULL
)
SELECT h.lane, h.rank, l.tenant, l.queue, l.job, l.target, l.key
FROM head h CROSS JOIN LATERAL (SELECT * FROM workbell_lanes WHERE id = h.lane OFFSET 0) l
WHERE h.rank IS NOT NULL AND (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL
ORDER BY h.rank, h.lane LIMIT :limit

-- survey_tenant: some lanes of a tenant that have queued runs, with the best rank of each; ends as soon as it has enough
-- LATERAL with a LIMIT, and a scalar subquery: lane by lane; as a join it would read all queued runs.
SELECT l.id, head.rank, l.tenant, l.queue, l.job, l.target, l.key
FROM workbell_lanes l
CROSS JOIN LATERAL (SELECT r.rank FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id
    ORDER BY r.rank LIMIT 1) head
WHERE l.tenant = :tenant AND (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL
LIMIT :limit

-- pending_of_tag: some runs of a tenant's tag that have not started, to be ended: without their input
-- LATERAL with OFFSET 0: lane by lane; as a join it may read all runs of the tag.
WITH {tag_lanes}
SELECT {waiting} FROM own CROSS JOIN LATERAL (SELECT * FROM workbell_runs q
    WHERE q.tag = :tag AND q.lane = own.lane AND q.status <> 'running' OFFSET 0) r LIMIT :limit

-- lock_runs: lock runs, in one order, so that they do not change until the end of the batch
SELECT id FROM workbell_runs WHERE id {among ids uuid} ORDER BY id FOR UPDATE
