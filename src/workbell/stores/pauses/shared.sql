-- Pauses of queues and jobs. An empty name stands for all.

-- add_pause: pause a queue, a job, or a job in a queue, unless it is
INSERT INTO workbell_pauses (tenant, queue, job, created_at) VALUES (:tenant, :queue, :job, :created_at)
ON CONFLICT (tenant, queue, job) DO NOTHING

-- find_pause: one pause
SELECT tenant, queue, job, created_at FROM workbell_pauses WHERE tenant = :tenant AND queue = :queue AND job = :job

-- remove_pauses: what is paused of a queue, of a job, or of a job in a queue; few rows, as each was made by hand
DELETE FROM workbell_pauses WHERE tenant = :tenant AND (CAST(:queue AS text) IS NULL OR queue = :queue)
AND (CAST(:job AS text) IS NULL OR job = :job) RETURNING tenant

-- pauses: all pauses; few, as each was made by hand
SELECT tenant, queue, job, created_at FROM workbell_pauses

-- pauses_of_tenant: those of one tenant
SELECT tenant, queue, job, created_at FROM workbell_pauses WHERE tenant = :tenant

-- load_pause: a pause of another store
INSERT INTO workbell_pauses (tenant, queue, job, created_at) VALUES (:tenant, :queue, :job, :created_at)
ON CONFLICT (tenant, queue, job) DO NOTHING
