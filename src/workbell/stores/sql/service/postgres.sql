-- The service the way of PostgreSQL: batches as arrays, SKIP LOCKED.

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
