-- Reports about runs and schedules. Searches are composed, see search_plans.py.

-- counts: live runs by lane and status, and when the first was due
SELECT lane, status, count(*), min(scheduled_for) AS scheduled_for FROM workbell_runs GROUP BY lane, status

-- counts_of_tenant: the same of one tenant; one part for each of the partial indexes
-- From its lanes to their runs, in the order of the tables: SQLite keeps that of a CROSS JOIN. Scheduled runs have no
-- index by lane, so those of all tenants are read.
SELECT r.lane, 'queued', count(*), min(r.scheduled_for) AS scheduled_for
FROM workbell_lanes l CROSS JOIN workbell_runs r
WHERE l.tenant = :tenant AND r.lane = l.id AND r.status = 'queued' GROUP BY r.lane
UNION ALL
SELECT r.lane, 'scheduled', count(*), min(r.scheduled_for) FROM workbell_runs r CROSS JOIN workbell_lanes l
WHERE l.tenant = :tenant AND r.lane = l.id AND r.status = 'scheduled' GROUP BY r.lane
UNION ALL
SELECT r.lane, 'running', count(*), min(r.scheduled_for) FROM workbell_lanes l CROSS JOIN workbell_runs r
WHERE l.tenant = :tenant AND r.lane = l.id AND r.status = 'running' GROUP BY r.lane

-- load_of_lanes: what waits and runs in each lane of some queues, counted to a limit; not in those for agents
-- Bounded, by indexes alone: autoscalers ask every few seconds, also while millions wait.
SELECT l.id,
    (SELECT count(*) FROM (SELECT 1 FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = l.id LIMIT :most) AS waits),
    (SELECT count(*) FROM (SELECT 1 FROM workbell_runs r
        WHERE r.status = 'running' AND r.lane = l.id LIMIT :most) AS runs),
    (SELECT min(first.scheduled_for) FROM (SELECT r.scheduled_for FROM workbell_runs r
        WHERE r.status = 'queued' AND r.lane = l.id ORDER BY r.rank, r.scheduled_for LIMIT :most) AS first) AS scheduled_for
FROM workbell_lanes l WHERE l.tenant = :tenant AND l.target IS NULL AND (:every OR l.queue {among queues text})

-- disabled_definitions: the definitions of some tenants that take no runs
SELECT tenant, name FROM workbell_jobs WHERE tenant {among tenants text} AND source = 'api' AND NOT enabled

-- running_in_lane: how many run in a lane
SELECT count(*) FROM workbell_runs WHERE status = 'running' AND lane = :lane

-- ahead_of: how many queued runs of a lane come first, counted to a limit
SELECT count(*) FROM (SELECT 1 FROM workbell_runs WHERE status = 'queued' AND lane = :lane
    AND (rank < :rank OR (rank = :rank AND (scheduled_for < :scheduled_for
        OR (scheduled_for = :scheduled_for AND id < :id)))) LIMIT 1000) AS first

-- live_retries: which live runs repeat these
SELECT retry_of, id, status, created_at, key FROM workbell_runs WHERE retry_of {among ids uuid}

-- finished_retries: which finished runs repeat these
SELECT retry_of, id, status, created_at, key FROM workbell_history WHERE retry_of {among ids uuid}

-- lanes_of_jobs: the lanes of some jobs, each with the newest of its finished runs; of very many, those used last
SELECT l.job, l.id, (SELECT h.id FROM workbell_history h WHERE h.lane = l.id ORDER BY h.id DESC LIMIT 1)
FROM (SELECT id, job, row_number() OVER (PARTITION BY job ORDER BY created_at DESC, id) AS place
    FROM workbell_lanes WHERE tenant = :tenant AND job {among jobs text}) AS l
WHERE l.place <= :most

-- ended_runs: finished runs by id, without large columns: updated_at is when they ended, and is stored before the input
SELECT id, status, attempt, started_at, updated_at FROM workbell_history WHERE id {among ids uuid}

-- waiting_targets: tenants and targets that have queued runs
SELECT DISTINCT l.tenant, l.target FROM workbell_lanes l WHERE l.target IS NOT NULL
AND (SELECT 1 FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id LIMIT 1) IS NOT NULL
AND (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL

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
