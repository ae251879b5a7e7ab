-- The registry of workers, and of the processes that serve the API; rewinds of the store that processes noticed.

-- put_worker: make a worker known, or change what is known of it
INSERT INTO workbell_workers ({worker_columns}) VALUES ({worker_values})
ON CONFLICT (id) DO UPDATE SET host = excluded.host, pid = excluded.pid, incarnation = excluded.incarnation,
    version = excluded.version, queues = excluded.queues, jobs = excluded.jobs, concurrency = excluded.concurrency,
    started_at = excluded.started_at, seen_at = excluded.seen_at, stopping = excluded.stopping
RETURNING drained_at

-- workers: all workers: one row for each process; lost ones go after a day
SELECT {worker_columns} FROM workbell_workers

-- worker: one of them
SELECT {worker_columns} FROM workbell_workers WHERE id = :id

-- held_by_worker: running runs by worker; no more run than workers have slots
SELECT worker, count(*) FROM workbell_runs WHERE status = 'running' GROUP BY worker

-- drain_worker: one that is to claim nothing more; the first who asks for it sets the time
UPDATE workbell_workers SET drained_at = COALESCE(drained_at, :now) WHERE id = :id RETURNING {worker_columns}

-- note_drained: a worker confirms its drain, unless it was resumed or drained again meanwhile
UPDATE workbell_workers SET drain_seen_at = :now WHERE id = :id AND drained_at = :drained_at RETURNING id

-- resume_worker: one that may claim again
UPDATE workbell_workers SET drained_at = NULL, drain_seen_at = NULL WHERE id = :id RETURNING {worker_columns}

-- note_service: where a process serves the API
INSERT INTO workbell_meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- forget_service: a process that serves the API no more
DELETE FROM workbell_meta WHERE name = :name

-- services: the addresses of the API, by process: one row for each
SELECT name, value FROM workbell_meta WHERE substr(name, 1, 8) = 'service/'

-- see_workers: workers that are alive
UPDATE workbell_workers SET seen_at = :now WHERE id {among ids text}

-- write_back: a row as it is, to know whether the store can store anything
UPDATE workbell_meta SET value = value WHERE name = 'store_id'

-- remove_workers: workers that have stopped, or were lost
DELETE FROM workbell_workers WHERE id {among ids text}

-- standings: runs as they are here, live or finished, for a process that compares them with what it knows
SELECT id, status, token, attempt, worker, updated_at FROM workbell_runs WHERE id {among ids uuid}
UNION ALL
SELECT id, status, token, attempt, worker, updated_at FROM workbell_history WHERE id {among ids uuid}

-- ended_tokens: tokens of some attempts, of those that have ended
SELECT ended.run, ended.number, ended.token FROM {rows wanted: run uuid, number integer} CROSS JOIN workbell_attempts ended
WHERE ended.run = wanted.run AND ended.number = wanted.number

-- add_rewinds: runs that a rewind concerns
INSERT INTO workbell_rewinds ({rewind_columns})
SELECT {rewind_columns} FROM {rows new: id uuid, noticed_at timestamptz, worker text, tenant text, run uuid, kind text,
    token bigint, detail text} WHERE true ON CONFLICT DO NOTHING

-- list_rewinds: those of one tenant
SELECT {rewind_columns} FROM workbell_rewinds WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit

-- all_rewinds: those of all tenants
SELECT {rewind_columns} FROM workbell_rewinds WHERE id < :before ORDER BY id DESC LIMIT :limit

-- rewinds_of_run: those of one run
SELECT {rewind_columns} FROM workbell_rewinds WHERE run = :run ORDER BY id LIMIT :limit

-- delete_rewinds: a batch of expired ones
DELETE FROM workbell_rewinds WHERE id IN (SELECT id FROM workbell_rewinds WHERE noticed_at <= :before
    ORDER BY noticed_at LIMIT :limit {lock_free}) RETURNING id
