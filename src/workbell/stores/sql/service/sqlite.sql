-- The service the way of SQLite: batches as JSON, one writer at a time.

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
