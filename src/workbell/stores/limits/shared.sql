-- Limits. Running runs are counted from the runs; starts are stored.
--
-- Counts are scalar subqueries. Neither engine makes joins of those, so they are executed as they are written:
-- from the lanes of a limit to what is running there. What other jobs do does not make them slower.

-- limit_starts: the starts of limits
SELECT id, starts FROM workbell_limits WHERE id {among ids bigint}

-- running_within: how many runs are running for each of some limits, of those that have no more than `most`
-- From the lanes to the runs. Of a job with any number of lanes, and of a tenant, from what is running to its lanes.
-- With BETWEEN, as PostgreSQL plans without knowing the job. If one job has most of the lanes, it would read all of them
-- for any other; of a range it assumes a small part.
WITH counted AS MATERIALIZED (SELECT wanted.id, wanted.most, CASE wanted.kind
    WHEN 'key' THEN (SELECT sum((SELECT count(*) FROM workbell_runs r WHERE r.status = 'running' AND r.lane = l.id))
        FROM workbell_lanes l WHERE l.tenant = wanted.tenant AND l.job = wanted.job AND l.key = wanted.key)
    WHEN 'no key' THEN (SELECT sum((SELECT count(*) FROM workbell_runs r WHERE r.status = 'running' AND r.lane = l.id))
        FROM workbell_lanes l
        WHERE l.tenant = wanted.tenant AND l.job BETWEEN wanted.job AND wanted.job AND l.key IS NULL)
    WHEN 'job' THEN (SELECT sum((SELECT count(*) FROM workbell_runs r WHERE r.status = 'running' AND r.lane = l.id))
        FROM workbell_lanes l WHERE l.tenant = wanted.tenant AND l.job BETWEEN wanted.job AND wanted.job)
    WHEN 'scattered' THEN (SELECT count(*) FROM workbell_runs r WHERE r.status = 'running'
        AND (SELECT l.tenant = wanted.tenant AND l.job = wanted.job FROM workbell_lanes l WHERE l.id = r.lane))
    WHEN 'tenant' THEN (SELECT count(*) FROM workbell_runs r WHERE r.status = 'running'
        AND (SELECT l.tenant = wanted.tenant FROM workbell_lanes l WHERE l.id = r.lane))
    END AS running FROM {rows wanted: id bigint, kind text, tenant text, job text, key text, most bigint})
SELECT id, CAST(COALESCE(running, 0) AS bigint) FROM counted WHERE COALESCE(running, 0) <= most

-- queued_runs: how many runs wait in chosen lanes, each counted to a limit
SELECT pick.lane, pick.rank, (SELECT count(*) FROM (SELECT 1 FROM workbell_runs q
    WHERE q.status = 'queued' AND q.lane = pick.lane AND q.rank = pick.rank
    AND (q.expires_at IS NULL OR q.expires_at > :now OR q.attempt > 0) LIMIT :most) AS head)
FROM {rows pick: lane bigint, rank smallint}

-- started_now: how many runs a worker has started with this very timestamp, in lanes of limits
SELECT pair.id, CAST(sum((SELECT count(*) FROM workbell_runs r
    WHERE r.status = 'running' AND r.lane = pair.lane AND r.worker = :worker AND r.started_at = :now)) AS bigint)
FROM {rows pair: id bigint, lane bigint} GROUP BY pair.id

-- as_many_started: limits whose count is unchanged since it was read
SELECT pair.id FROM {rows pair: id bigint, lane bigint, before bigint} GROUP BY pair.id
HAVING sum((SELECT count(*) FROM workbell_runs r WHERE r.status = 'running' AND r.lane = pair.lane
    AND r.worker = :worker AND r.started_at = :now)) = max(pair.before)

-- note_starts: remember what a claim has started, in the text of starts: between its head and its tail is the number
-- The values of a limit are in the row of its first lane; those of the others have empty texts and zeros.
INSERT INTO workbell_limits (id, tenant, job, key, starts, updated_at)
SELECT noted.id, noted.tenant, noted.job, noted.key, noted.head || noted.number || noted.tail, :now
FROM (SELECT pair.id, max(pair.tenant) AS tenant, max(pair.job) AS job, max(pair.key) AS key, max(pair.head) AS head,
    max(pair.tail) AS tail, max(pair.base) AS base, CAST(max(pair.base) - max(pair.before)
        + sum((SELECT count(*) FROM workbell_runs r WHERE r.status = 'running' AND r.lane = pair.lane
            AND r.worker = :worker AND r.started_at = :now)) AS bigint) AS number
    FROM {rows pair: id bigint, lane bigint, before bigint, tenant text, job text, key text, head text, tail text,
        base bigint} GROUP BY pair.id) AS noted
WHERE noted.number > noted.base ORDER BY noted.id
ON CONFLICT (id) DO UPDATE SET starts = excluded.starts, updated_at = excluded.updated_at

-- limits: a page of the limits, and when they were last written
SELECT id, updated_at FROM workbell_limits WHERE id > :after ORDER BY id LIMIT :limit

-- delete_limits: limits whose starts no longer matter
DELETE FROM workbell_limits WHERE id {among ids bigint} AND updated_at <= :before
