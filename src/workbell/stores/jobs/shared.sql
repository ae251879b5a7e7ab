-- Jobs that code declares, and definitions, which are data (source is api).

-- put_job: make or update a job of code; it takes over a definition of its name
INSERT INTO workbell_jobs ({job_columns}) VALUES ({job_values})
ON CONFLICT (tenant, name) DO UPDATE SET handler = excluded.handler, queue = excluded.queue,
    description = excluded.description, input = excluded.input, retry = excluded.retry,
    timeout = excluded.timeout, enabled = excluded.enabled, concurrency = excluded.concurrency,
    concurrency_key = excluded.concurrency_key, rate = excluded.rate, rate_key = excluded.rate_key,
    processor = excluded.processor, priority = excluded.priority, alert_url = excluded.alert_url, ping_url = excluded.ping_url,
    options = excluded.options, source = excluded.source, updated_at = excluded.updated_at

-- definitions_version: the version number of definitions
SELECT value FROM workbell_meta WHERE name = 'definitions'

-- raise_definitions: raise it, so that caches of definitions are read again
UPDATE workbell_meta SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'definitions'

-- definitions: the definitions of all tenants, without the jobs of code; every process keeps them all
SELECT {job_columns} FROM workbell_jobs WHERE source = 'api' ORDER BY tenant, name

-- add_definition: a new definition, if its name is free
INSERT INTO workbell_jobs ({job_columns}) VALUES ({job_values}) ON CONFLICT DO NOTHING RETURNING id

-- update_definition: a definition as it is now, if its version is unchanged
UPDATE workbell_jobs SET {job_assignments}
WHERE id = :id AND version = :expected AND source = 'api' RETURNING id

-- delete_job: remove a job, if its version is unchanged and nothing would start it; its runs stay
DELETE FROM workbell_jobs WHERE id = :id AND version = :expected AND source = :source
AND NOT EXISTS (SELECT 1 FROM workbell_schedules s WHERE s.tenant = :tenant AND s.job = :name)
AND NOT EXISTS (SELECT 1 FROM workbell_triggers t WHERE t.tenant = :tenant AND t.job = :name)
RETURNING id

-- find_job: one job
SELECT {job_columns} FROM workbell_jobs WHERE tenant = :tenant AND name = :name

-- list_jobs: the jobs of a tenant: those that code declares or somebody has put
SELECT {job_columns} FROM workbell_jobs WHERE tenant = :tenant ORDER BY name

-- export_jobs: all jobs, by id
SELECT {job_columns} FROM workbell_jobs WHERE id > :after ORDER BY id LIMIT :limit

-- load_job: a job of another store
INSERT INTO workbell_jobs ({job_columns}) VALUES ({job_values}) ON CONFLICT DO NOTHING
