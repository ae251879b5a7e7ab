-- The service the way of PostgreSQL: batches as arrays, SKIP LOCKED.

-- revoke_tokens: these are valid no more, those of them that were; locked in one order for all
UPDATE workbell_tokens SET revoked_at = :now
WHERE id = ANY(ARRAY(SELECT id FROM workbell_tokens WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE))
AND revoked_at IS NULL RETURNING id

-- see_tokens: these were used; what another one has in hand is left to it
UPDATE workbell_tokens SET last_used_at = :now
WHERE id = ANY(ARRAY(SELECT id FROM workbell_tokens WHERE id = ANY(CAST(:ids AS uuid[])) FOR UPDATE SKIP LOCKED))
AND (last_used_at IS NULL OR last_used_at < :now)

-- delete_expired_tokens: a batch of what expired a while ago; what people made is shown for longer
DELETE FROM workbell_tokens WHERE id = ANY(ARRAY(SELECT id FROM workbell_tokens WHERE expires_at <= :shortly_before
    AND (kind = 'ticket' OR expires_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR expires_at <= :long_before)
    ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING id

-- delete_revoked_tokens: the same of what was revoked
DELETE FROM workbell_tokens WHERE id = ANY(ARRAY(SELECT id FROM workbell_tokens WHERE revoked_at <= :shortly_before
    AND (kind = 'ticket' OR revoked_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR revoked_at <= :long_before)
    ORDER BY revoked_at LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING id

-- add_audit: many entries
INSERT INTO workbell_audit ({audit_columns})
SELECT * FROM unnest(CAST(:id AS uuid[]), CAST(:tenant AS text[]), CAST(:at AS timestamptz[]), CAST(:actor AS text[]),
    CAST(:action AS text[]), CAST(:subject AS text[]), CAST(:detail AS text[]), CAST(:address AS text[]))
ON CONFLICT DO NOTHING

-- delete_audit: a batch whose time is over
DELETE FROM workbell_audit WHERE id = ANY(ARRAY(SELECT id FROM workbell_audit WHERE at <= :before
    ORDER BY at LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING id

-- delete_answers: a batch whose time is over
DELETE FROM workbell_answers WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_answers WHERE until <= :now
    ORDER BY until LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING key

-- add_notifications: many notifications
INSERT INTO workbell_notifications ({notification_columns})
SELECT * FROM unnest(CAST(:id AS uuid[]), CAST(:tenant AS text[]), CAST(:user_id AS bigint[]), CAST(:data AS text[]),
    CAST(:created_at AS timestamptz[]), CAST(:user_text AS text[]))
ON CONFLICT DO NOTHING

-- read_some: a person has read these
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :now FROM workbell_notifications n
WHERE n.id = ANY(CAST(:ids AS uuid[])) AND n.tenant = :tenant AND (n.user_id = :user_id OR n.user_id IS NULL)
ORDER BY n.id ON CONFLICT DO NOTHING RETURNING notification

-- delete_notifications: a batch whose time is over, with who had read them
WITH gone AS (
    DELETE FROM workbell_notifications WHERE id = ANY(ARRAY(SELECT id FROM workbell_notifications
        WHERE created_at <= :before ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING id
), reads AS (
    DELETE FROM workbell_reads WHERE notification = ANY(ARRAY(SELECT id FROM gone))
)
SELECT id FROM gone

-- survey_targets: lanes that are aimed at one of these, and the ranks of what is queued there
-- Lane by lane, each a step in the index of what is queued.
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

-- add_tallies: the first of their minute, in one order for all; those that are there already are left out
INSERT INTO workbell_tallies ({tally_columns})
SELECT * FROM unnest(CAST(:minute AS timestamptz[]), CAST(:tenant AS text[]), CAST(:queue AS text[]),
    CAST(:job AS text[]), CAST(:status AS text[]), CAST(:count AS bigint[]), CAST(:seconds AS double precision[]),
    CAST(:wait AS double precision[]), CAST(:buckets AS text[]))
ON CONFLICT DO NOTHING RETURNING minute, tenant, queue, job, status

-- lock_tallies: those that are there, held until the sums are written; in one order for all
SELECT t.minute, t.tenant, t.queue, t.job, t.status, t.count, t.seconds, t.wait, t.buckets
FROM unnest(CAST(:minute AS timestamptz[]), CAST(:tenant AS text[]), CAST(:queue AS text[]), CAST(:job AS text[]),
    CAST(:status AS text[])) AS wanted(minute, tenant, queue, job, status)
CROSS JOIN LATERAL (SELECT * FROM workbell_tallies t WHERE t.minute = wanted.minute AND t.tenant = wanted.tenant
    AND t.queue = wanted.queue AND t.job = wanted.job AND t.status = wanted.status FOR UPDATE) t

-- put_tallies: the sums
INSERT INTO workbell_tallies ({tally_columns})
SELECT * FROM unnest(CAST(:minute AS timestamptz[]), CAST(:tenant AS text[]), CAST(:queue AS text[]),
    CAST(:job AS text[]), CAST(:status AS text[]), CAST(:count AS bigint[]), CAST(:seconds AS double precision[]),
    CAST(:wait AS double precision[]), CAST(:buckets AS text[]))
ON CONFLICT (minute, tenant, queue, job, status) DO UPDATE SET count = excluded.count, seconds = excluded.seconds,
    wait = excluded.wait, buckets = excluded.buckets

-- sum_tallies: what a tenant's minutes come to by steps of some seconds, which are counted from 1970 on
SELECT CAST(floor(extract(epoch FROM minute) / CAST(:step AS integer)) AS bigint) AS place, job, status,
    CAST(sum(count) AS bigint) FROM workbell_tallies
WHERE minute >= :since AND minute < :until AND tenant = :tenant AND (CAST(:job AS text) IS NULL OR job = :job)
AND (CAST(:queue AS text) IS NULL OR queue = :queue) GROUP BY place, job, status

-- delete_tallies: a batch of minutes that are long over; the totals stay
DELETE FROM workbell_tallies WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_tallies
    WHERE minute > :total AND minute <= :before ORDER BY minute LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING minute

-- survey_tenant: some lanes of a tenant that have queued runs, with the best rank of each; ends as soon as it has enough
-- LATERAL with a LIMIT, and a scalar subquery: asked lane by lane, as a join all queued runs would be read for it.
SELECT l.id, head.rank, l.tenant, l.queue, l.job, l.target, l.key
FROM workbell_lanes l
CROSS JOIN LATERAL (SELECT r.rank FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id
    ORDER BY r.rank LIMIT 1) head
WHERE l.tenant = :tenant AND (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL
LIMIT :limit

-- lanes_of_jobs: the lanes of some jobs, each with the newest of its finished runs; of a crowd those used last
SELECT l.job, l.id, (SELECT h.id FROM workbell_history h WHERE h.lane = l.id ORDER BY h.id DESC LIMIT 1)
FROM (SELECT id, job, row_number() OVER (PARTITION BY job ORDER BY created_at DESC, id) AS place
    FROM workbell_lanes WHERE tenant = :tenant AND job = ANY(CAST(:jobs AS text[]))) AS l
WHERE l.place <= :most

-- recent_of_lanes: the newest finished runs of each lane; the index has all that is asked for
SELECT wanted.lane, h.id FROM unnest(CAST(:lanes AS bigint[]), CAST(:oldest AS uuid[])) AS wanted(lane, oldest)
CROSS JOIN LATERAL (SELECT id FROM workbell_history
    WHERE lane = wanted.lane AND id >= wanted.oldest ORDER BY id DESC LIMIT :limit) h

-- ended_runs: finished runs by id, without what is large
SELECT id, status, attempt, started_at, updated_at FROM workbell_history WHERE id = ANY(CAST(:ids AS uuid[]))
