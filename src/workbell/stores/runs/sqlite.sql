-- Runs the way of SQLite: one writer at a time, so reading and then writing is safe.

-- dispatch: queue what is due
UPDATE workbell_runs SET status = :to_status, updated_at = :now
WHERE rowid IN (SELECT rowid FROM workbell_runs WHERE status = 'scheduled' AND scheduled_for <= :now
    ORDER BY scheduled_for LIMIT :limit)
AND status = :from_status RETURNING id

-- restart_waits: waits that began by a clock that was put back since begin now
UPDATE workbell_runs SET scheduled_for = scheduled_for - (updated_at - :now), updated_at = :now
WHERE rowid IN (SELECT rowid FROM workbell_runs WHERE status = 'scheduled' AND updated_at > :now
    AND (attempt > 0 OR rescheduled_from IS NOT NULL) LIMIT :limit)
AND status = :status RETURNING id

-- survey: lanes and ranks that have queued runs, by stepping from one to the next in the index
-- The step tries the next rank of the same lane, else the first rank of the next lane. Written twice, because
-- SQLite has no LATERAL, and for (lane, rank) > (?, ?) it would use only the first column.
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
-- On a file this is executed as claimable, and then without its answer.
UPDATE workbell_runs AS r SET status = :to_status, token = :token, attempt = attempt + 1, worker = :worker,
    lease_until = :lease_until, started_at = :now, updated_at = :now
WHERE r.rowid IN (SELECT q.rowid FROM workbell_runs q WHERE q.status = 'queued' AND q.lane = :lane AND q.rank = :rank
    AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0) ORDER BY q.scheduled_for, q.id LIMIT :quota)
AND r.status = :from_status
RETURNING {started}

-- claimable: the answer of that claim before it is executed, in one row
-- Every row of an answer is a step of the statement, which lets go of Python's interpreter lock and takes it again: beside
-- a thread that computes, 250 rows cost 87-530 µs each, as one JSON 14-110 µs.
SELECT json_group_array(json_array({claimable})) FROM (SELECT * FROM workbell_runs q
    WHERE q.status = 'queued' AND q.lane = :lane AND q.rank = :rank
    AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0) ORDER BY q.scheduled_for, q.id LIMIT :quota)

-- renew: extend leases that are still held
-- Also an expired one, as long as no sweep has taken it: clocks differ. A sweep that takes a lease marks it first (see
-- take_over), so that no renewal crosses it.
UPDATE workbell_runs AS r SET lease_until = :lease_until
FROM {rows held: id uuid, token bigint, status text}
WHERE r.id = held.id AND r.token = held.token AND r.status = held.status AND r.lease_until <> :taken
RETURNING id, token, CASE WHEN cancel_requested THEN reason END

-- take_over: mark expired leases, each if it is unchanged since it was read, so that they cannot be renewed any more
UPDATE workbell_runs AS r SET lease_until = :taken
FROM {rows seen: id uuid, token bigint, until timestamptz, expected text}
WHERE r.id = seen.id AND r.token = seen.token AND r.status = seen.expected AND r.lease_until = seen.until
RETURNING {returning}

-- finish: transitions that end a run: into history
INSERT INTO workbell_history ({unchanged_columns}, {columns_of_end})
SELECT {unchanged}, value ->> 3, value ->> 10, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9,
    value ->> 10, value ->> 11, value ->> 12
FROM json_each(:rows) AS new CROSS JOIN workbell_runs run
WHERE run.id = (value ->> 0) AND run.status = (value ->> 1) AND run.token = (value ->> 2)
RETURNING id

-- finish_well: the same for runs that succeeded, by far the most: unchanged values are left out
-- (6 values a row to take apart instead of 13)
INSERT INTO workbell_history ({unchanged_columns}, {columns_of_end})
SELECT {unchanged}, :to_status, value ->> 3, run.failures, run.losses, run.crashes, value ->> 2, NULL, NULL,
    value ->> 3, value ->> 4, value ->> 5
FROM json_each(:well) AS new CROSS JOIN workbell_runs run
WHERE run.id = (value ->> 0) AND run.token = (value ->> 1) AND run.status = :from_status
RETURNING id

-- remove_live: and out of the live table: those that came into history just now, or the batch is refused
DELETE FROM workbell_runs WHERE id IN (SELECT value FROM json_each(:ids))

-- free_keys: keys that were held while their runs lived
DELETE FROM workbell_keys WHERE until IS NULL
AND (tenant, key, run) IN (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(:rows))

-- drop_keys: a batch of expired keys
DELETE FROM workbell_keys WHERE rowid IN (SELECT rowid FROM workbell_keys WHERE until <= :now ORDER BY until LIMIT :limit)
RETURNING key

-- delete_lanes: lanes with a key that were not used lately, and that have no runs
DELETE FROM workbell_lanes WHERE id IN (SELECT value FROM json_each(:ids)) AND created_at <= :before
AND NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.lane = workbell_lanes.id AND r.status = 'queued')
AND NOT EXISTS (SELECT 1 FROM workbell_runs r WHERE r.lane = workbell_lanes.id AND r.status = 'running')
AND NOT EXISTS (SELECT 1 FROM workbell_history h WHERE h.lane = workbell_lanes.id)
AND id NOT IN (SELECT r.lane FROM workbell_runs r WHERE r.status = 'scheduled')
RETURNING id

-- put_off: of a batch of expired history, postpone the removal of runs that hold a key until that expires
UPDATE workbell_history AS h SET remove_at = held.until
FROM (SELECT due.place, k.until FROM (SELECT rowid AS place, id, lane, key FROM workbell_history WHERE remove_at <= :now
        ORDER BY remove_at LIMIT :limit) AS due
    CROSS JOIN workbell_lanes l ON l.id = due.lane
    CROSS JOIN workbell_keys k ON k.tenant = l.tenant AND k.key = due.key AND k.run = due.id AND k.until > :now) AS held
WHERE h.rowid = held.place RETURNING id

-- delete_finished: and these themselves, but for those that have parts left
WITH ended AS (SELECT h.id FROM workbell_history h WHERE h.remove_at <= :now AND (h.key IS NULL OR NOT EXISTS (
    SELECT 1 FROM workbell_lanes l CROSS JOIN workbell_keys k ON k.tenant = l.tenant
    WHERE l.id = h.lane AND k.key = h.key AND k.run = h.id AND k.until > :now)) ORDER BY h.remove_at, h.rowid LIMIT :limit)
DELETE FROM workbell_history AS h WHERE h.id IN (SELECT id FROM ended)
AND NOT EXISTS (SELECT 1 FROM workbell_attempts a WHERE a.run = h.id)
AND NOT EXISTS (SELECT 1 FROM workbell_logs l WHERE l.run = h.id) RETURNING id

-- survey_targets: lanes of these targets, and the ranks of their queued runs
WITH RECURSIVE head(lane, rank) AS (
    SELECT l.id, (SELECT min(r.rank) FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id)
    FROM workbell_lanes l WHERE l.tenant = :tenant AND l.target IN (SELECT value FROM json_each(:targets))
    UNION ALL
    SELECT head.lane, (SELECT min(r.rank) FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = head.lane AND r.rank > head.rank)
    FROM head WHERE head.rank IS NOT NULL
)
SELECT h.lane, h.rank, l.tenant, l.queue, l.job, l.target, l.key
FROM head h CROSS JOIN workbell_lanes l ON l.id = h.lane
WHERE h.rank IS NOT NULL AND NOT EXISTS (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job))
ORDER BY h.rank, h.lane LIMIT :limit

-- survey_tenant: some lanes of a tenant that have queued runs, with the best rank of each; ends as soon as it has enough
SELECT l.id, (SELECT min(r.rank) FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id) AS rank,
    l.tenant, l.queue, l.job, l.target, l.key
FROM workbell_lanes l
WHERE l.tenant = :tenant AND EXISTS (SELECT 1 FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id)
AND NOT EXISTS (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job))
LIMIT :limit

-- delete_attempts: some attempts of a batch of expired history; without runs that still hold a key
WITH ended AS (SELECT h.id FROM workbell_history h WHERE h.remove_at <= :now AND (h.key IS NULL OR NOT EXISTS (
    SELECT 1 FROM workbell_lanes l CROSS JOIN workbell_keys k ON k.tenant = l.tenant
    WHERE l.id = h.lane AND k.key = h.key AND k.run = h.id AND k.until > :now)) ORDER BY h.remove_at, h.rowid LIMIT :limit)
DELETE FROM workbell_attempts WHERE rowid IN (SELECT a.rowid FROM ended CROSS JOIN workbell_attempts a
    WHERE a.run = ended.id LIMIT :parts) RETURNING number

-- delete_logs: and some of their log lines
WITH ended AS (SELECT h.id FROM workbell_history h WHERE h.remove_at <= :now AND (h.key IS NULL OR NOT EXISTS (
    SELECT 1 FROM workbell_lanes l CROSS JOIN workbell_keys k ON k.tenant = l.tenant
    WHERE l.id = h.lane AND k.key = h.key AND k.run = h.id AND k.until > :now)) ORDER BY h.remove_at, h.rowid LIMIT :limit)
DELETE FROM workbell_logs WHERE (run, attempt, line) IN (SELECT l.run, l.attempt, l.line
    FROM ended CROSS JOIN workbell_logs l WHERE l.run = ended.id LIMIT :parts) RETURNING line
