-- Reports about runs and schedules. Searches are composed, see search_plans.py.

-- queued_lanes: a page of the lanes that have queued runs, how many, counted to a limit, and when the first was due
-- By steps from one lane to the next in the index. Of more than `most` runs, the first of the most urgent ones.
WITH RECURSIVE step(lane) AS (
    SELECT min(r.lane) FROM workbell_runs r WHERE r.status = 'queued' AND r.lane > :after
    UNION ALL
    SELECT (SELECT min(r.lane) FROM workbell_runs r WHERE r.status = 'queued' AND r.lane > step.lane) FROM step
    WHERE step.lane IS NOT NULL
)
SELECT q.lane, (SELECT count(*) FROM (SELECT 1 FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = q.lane LIMIT :most) AS waits),
    (SELECT min(first.scheduled_for) FROM (SELECT r.scheduled_for FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = q.lane ORDER BY r.rank, r.scheduled_for LIMIT :most) AS first) AS scheduled_for
FROM (SELECT lane FROM step WHERE lane IS NOT NULL LIMIT :limit) AS q

-- queued_lanes_of_tenant: the same of a page of a tenant's lanes, also of those that have none
SELECT l.id, (SELECT count(*) FROM (SELECT 1 FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = l.id LIMIT :most) AS waits),
    (SELECT min(first.scheduled_for) FROM (SELECT r.scheduled_for FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = l.id ORDER BY r.rank, r.scheduled_for LIMIT :most) AS first) AS scheduled_for
FROM (SELECT id FROM workbell_lanes WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit) AS l ORDER BY l.id

-- running_by_lane: how many runs of a tenant, or of all, are running; no more than workers have slots
SELECT r.lane, count(*) FROM workbell_runs r WHERE r.status = 'running'
AND (CAST(:tenant AS text) IS NULL OR (SELECT l.tenant FROM workbell_lanes l WHERE l.id = r.lane) = :tenant) GROUP BY r.lane

-- scheduled_by_lane: how many of the next scheduled runs are of a tenant; the index has no lanes
SELECT r.lane, count(*) FROM (SELECT lane FROM workbell_runs WHERE status = 'scheduled'
    ORDER BY scheduled_for LIMIT :scan) AS r
WHERE CAST(:tenant AS text) IS NULL OR (SELECT l.tenant FROM workbell_lanes l WHERE l.id = r.lane) = :tenant GROUP BY r.lane

-- many_scheduled: whether there are more scheduled runs than that
SELECT 1 FROM workbell_runs WHERE status = 'scheduled' ORDER BY scheduled_for LIMIT 1 OFFSET :scan

-- load_of_lanes: a page of the lanes of a tenant, and what waits and runs in those of some queues, counted to a limit
-- Bounded, by indexes alone: autoscalers ask every few seconds, also while millions wait. Not in lanes for agents.
SELECT l.id,
    (SELECT count(*) FROM (SELECT 1 FROM workbell_runs r
        WHERE l.wanted AND r.status = 'queued' AND r.lane = l.id LIMIT :most) AS waits),
    (SELECT count(*) FROM (SELECT 1 FROM workbell_runs r
        WHERE l.wanted AND r.status = 'running' AND r.lane = l.id LIMIT :most) AS runs),
    (SELECT min(first.scheduled_for) FROM (SELECT r.scheduled_for FROM workbell_runs r
        WHERE l.wanted AND r.status = 'queued' AND r.lane = l.id
        ORDER BY r.rank, r.scheduled_for LIMIT :most) AS first) AS scheduled_for
FROM (SELECT id, target IS NULL AND (:every OR queue {among queues text}) AS wanted FROM workbell_lanes
    WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit) AS l ORDER BY l.id

-- disabled_definitions: the definitions of some tenants that take no runs
SELECT tenant, name FROM workbell_jobs WHERE tenant {among tenants text} AND source = 'api' AND NOT enabled

-- running_in_lane: how many run in a lane, no more than workers have slots
SELECT count(*) FROM workbell_runs WHERE status = 'running' AND lane = :lane

-- ahead_of: how many queued runs of a lane come first, counted to a limit
SELECT count(*) FROM (SELECT 1 FROM workbell_runs WHERE status = 'queued' AND lane = :lane
    AND (rank < :rank OR (rank = :rank AND (scheduled_for < :scheduled_for
        OR (scheduled_for = :scheduled_for AND id < :id)))) LIMIT 1000) AS first

-- live_retries: which live runs repeat these: the newest of each; of more than `most`, of any so many
SELECT r.retry_of, r.id, r.status, r.created_at, r.key FROM {rows wanted: id uuid} CROSS JOIN workbell_runs r
WHERE r.id = (SELECT n.id FROM (SELECT id FROM workbell_runs WHERE retry_of = wanted.id LIMIT :most) AS n
    ORDER BY n.id DESC LIMIT 1)

-- finished_retries: which finished runs repeat these: the newest of each
SELECT r.retry_of, r.id, r.status, r.created_at, r.key FROM {rows wanted: id uuid} CROSS JOIN workbell_history r
WHERE r.id = (SELECT n.id FROM workbell_history n WHERE n.retry_of = wanted.id ORDER BY n.id DESC LIMIT 1)

-- lanes_of_newest: the lanes of the newest finished runs that are of some jobs of a tenant
SELECT l.job, h.lane, h.id FROM (SELECT id, lane FROM workbell_history ORDER BY id DESC LIMIT :scan) AS h
CROSS JOIN workbell_lanes l WHERE l.id = h.lane AND l.tenant = :tenant AND l.job {among jobs text}

-- ended_runs: finished runs by id, without large columns: updated_at is when they ended, and is stored before the input
SELECT id, status, attempt, started_at, updated_at FROM workbell_history WHERE id {among ids uuid}

-- waiting_targets: those of some tenants and targets that have queued runs
SELECT wanted.tenant, wanted.target FROM {rows wanted: tenant text, target text}
WHERE (SELECT 1 FROM workbell_lanes l WHERE l.tenant = wanted.tenant AND l.target = wanted.target
    AND (SELECT 1 FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id LIMIT 1) IS NOT NULL
    AND (SELECT 1 FROM workbell_pauses p
        WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL LIMIT 1) IS NOT NULL

-- upcoming_schedules: those of a tenant that will make a run, the next one first
-- Sorted by few columns, and only then read: a tenant's schedules are some thousands at the most, and an index
-- for this would have to be written at every tick.
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM (SELECT id FROM workbell_schedules WHERE tenant = :tenant AND next_run_at IS NOT NULL AND enabled AND NOT paused
    ORDER BY next_run_at, name LIMIT :limit) AS first
JOIN workbell_schedules s ON s.id = first.id LEFT JOIN workbell_reports p ON p.schedule = s.id
ORDER BY s.next_run_at, s.name

-- active_schedules: those of all tenants that are neither switched off nor paused, in pages
-- Only the doctor uses it, which looks for broken ones: a scan of some thousands of rows is fine.
SELECT {schedule}, p.last_run_status, p.last_run_ended_at, COALESCE(p.failed_runs, 0)
FROM workbell_schedules s LEFT JOIN workbell_reports p ON p.schedule = s.id
WHERE s.id > :after AND s.enabled AND NOT s.paused ORDER BY s.id LIMIT :limit
