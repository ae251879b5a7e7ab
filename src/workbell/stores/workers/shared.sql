-- The registry of workers, and of the processes that serve the API.

-- put_worker: make a worker known, or change what is known of it
INSERT INTO workbell_workers ({worker_columns}) VALUES ({worker_values})
ON CONFLICT (id) DO UPDATE SET host = excluded.host, pid = excluded.pid, incarnation = excluded.incarnation,
    version = excluded.version, queues = excluded.queues, jobs = excluded.jobs, concurrency = excluded.concurrency,
    started_at = excluded.started_at, seen_at = excluded.seen_at, stopping = excluded.stopping
RETURNING drained_at

-- workers: all workers
SELECT {worker_columns} FROM workbell_workers

-- worker: one of them
SELECT {worker_columns} FROM workbell_workers WHERE id = :id

-- held_by_worker: running runs by worker
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

-- services: the addresses of the API, by process
SELECT name, value FROM workbell_meta WHERE substr(name, 1, 8) = 'service/'

-- see_workers: workers that are alive
UPDATE workbell_workers SET seen_at = :now WHERE id {among ids text}

-- remove_workers: workers that have stopped, or were lost
DELETE FROM workbell_workers WHERE id {among ids text}
