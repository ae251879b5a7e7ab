-- The service the way of SQLite: batches as JSON, one writer at a time.

-- revoke_tokens: these are valid no more, those of them that were
UPDATE workbell_tokens SET revoked_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND revoked_at IS NULL RETURNING id

-- see_tokens: these were used
UPDATE workbell_tokens SET last_used_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND (last_used_at IS NULL OR last_used_at < :now)

-- delete_expired_tokens: a batch of what expired a while ago; what people made is shown for longer
DELETE FROM workbell_tokens WHERE id IN (SELECT id FROM workbell_tokens WHERE expires_at <= :shortly_before
    AND (kind = 'ticket' OR expires_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR expires_at <= :long_before) ORDER BY expires_at LIMIT :limit) RETURNING id

-- delete_revoked_tokens: the same of what was revoked
DELETE FROM workbell_tokens WHERE id IN (SELECT id FROM workbell_tokens WHERE revoked_at <= :shortly_before
    AND (kind = 'ticket' OR revoked_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR revoked_at <= :long_before) ORDER BY revoked_at LIMIT :limit) RETURNING id

-- add_audit: many entries
INSERT INTO workbell_audit ({audit_columns})
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
FROM json_each(:rows) WHERE true ON CONFLICT DO NOTHING

-- delete_audit: a batch whose time is over
DELETE FROM workbell_audit WHERE id IN (SELECT id FROM workbell_audit WHERE at <= :before ORDER BY at LIMIT :limit)
RETURNING id

-- delete_answers: a batch whose time is over
DELETE FROM workbell_answers WHERE (tenant, key) IN (SELECT tenant, key FROM workbell_answers WHERE until <= :now
    ORDER BY until LIMIT :limit) RETURNING key

-- add_notifications: many notifications
INSERT INTO workbell_notifications ({notification_columns})
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
FROM json_each(:rows) WHERE true ON CONFLICT DO NOTHING

-- read_some: a person has read these
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :now FROM json_each(:ids) AS wanted CROSS JOIN workbell_notifications n
WHERE n.id = wanted.value AND n.tenant = :tenant AND (n.user_id = :user_id OR n.user_id IS NULL)
ON CONFLICT DO NOTHING RETURNING notification

-- delete_notifications: a batch whose time is over
DELETE FROM workbell_notifications WHERE id IN (SELECT id FROM workbell_notifications WHERE created_at <= :before
    ORDER BY created_at LIMIT :limit) RETURNING id

-- delete_reads: and who had read them
DELETE FROM workbell_reads WHERE notification IN (SELECT value FROM json_each(:ids))

-- survey_targets: lanes that are aimed at one of these, and the ranks of what is queued there
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

-- add_tallies: the first of their minute; those that are there already are left out
INSERT INTO workbell_tallies ({tally_columns})
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8
FROM json_each(:rows) WHERE true ON CONFLICT DO NOTHING RETURNING minute, tenant, queue, job, status

-- lock_tallies: those that are there; the write lock is held already
SELECT t.minute, t.tenant, t.queue, t.job, t.status, t.count, t.seconds, t.wait, t.buckets
FROM json_each(:rows) AS wanted CROSS JOIN workbell_tallies t
WHERE t.minute = (value ->> 0) AND t.tenant = (value ->> 1) AND t.queue = (value ->> 2) AND t.job = (value ->> 3)
AND t.status = (value ->> 4)

-- put_tallies: the sums
INSERT INTO workbell_tallies ({tally_columns})
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
    value ->> 8
FROM json_each(:rows) WHERE true
ON CONFLICT (minute, tenant, queue, job, status) DO UPDATE SET count = excluded.count, seconds = excluded.seconds,
    wait = excluded.wait, buckets = excluded.buckets

-- sum_tallies: what a tenant's minutes come to by steps of some seconds, which are counted from 1970 on
SELECT minute / (:step * 1000000) AS place, job, status, sum(count) FROM workbell_tallies
WHERE minute >= :since AND minute < :until AND tenant = :tenant AND (:job IS NULL OR job = :job)
AND (:queue IS NULL OR queue = :queue) GROUP BY place, job, status

-- delete_tallies: a batch of minutes that are long over; the totals stay
DELETE FROM workbell_tallies WHERE (minute, tenant, queue, job, status) IN (
    SELECT minute, tenant, queue, job, status FROM workbell_tallies WHERE minute > :total AND minute <= :before
    ORDER BY minute LIMIT :limit) RETURNING minute

-- survey_tenant: some lanes of a tenant that have queued runs, with the best rank of each; ends as soon as it has enough
SELECT l.id, (SELECT min(r.rank) FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id) AS rank,
    l.tenant, l.queue, l.job, l.target, l.key
FROM workbell_lanes l
WHERE l.tenant = :tenant AND EXISTS (SELECT 1 FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id)
AND NOT EXISTS (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job))
LIMIT :limit

-- lanes_of_jobs: the lanes of some jobs, each with the newest of its finished runs; of a crowd those used last
SELECT l.job, l.id, (SELECT h.id FROM workbell_history h WHERE h.lane = l.id ORDER BY h.id DESC LIMIT 1)
FROM (SELECT id, job, row_number() OVER (PARTITION BY job ORDER BY created_at DESC, id) AS place
    FROM workbell_lanes WHERE tenant = :tenant AND job IN (SELECT value FROM json_each(:jobs))) AS l
WHERE l.place <= :most

-- recent_of_lane: the newest finished runs of a lane; the index has all that is asked for
SELECT id FROM workbell_history WHERE lane = :lane AND id >= :oldest ORDER BY id DESC LIMIT :limit

-- ended_runs: finished runs by id, without what is large: updated_at is when they ended, and stands before the payload
SELECT id, status, attempt, started_at, updated_at FROM workbell_history
WHERE id IN (SELECT value FROM json_each(:ids))
