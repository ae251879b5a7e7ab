-- Definitions of jobs.

-- put_job: make or update a definition
INSERT INTO workbell_jobs ({job_columns}) VALUES ({job_values})
ON CONFLICT (tenant, name) DO UPDATE SET handler = excluded.handler, queue = excluded.queue,
    description = excluded.description, payload_template = excluded.payload_template, retry = excluded.retry,
    timeout = excluded.timeout, enabled = excluded.enabled, concurrency = excluded.concurrency,
    concurrency_key = excluded.concurrency_key, rate = excluded.rate, rate_key = excluded.rate_key,
    processor = excluded.processor, priority = excluded.priority, alert_url = excluded.alert_url, ping_url = excluded.ping_url,
    options = excluded.options, updated_at = excluded.updated_at

-- find_job: one definition
SELECT {job_columns} FROM workbell_jobs WHERE tenant = :tenant AND name = :name

-- list_jobs: the definitions of a tenant
SELECT {job_columns} FROM workbell_jobs WHERE tenant = :tenant ORDER BY name

-- export_jobs: all definitions, by id
SELECT {job_columns} FROM workbell_jobs WHERE id > :after ORDER BY id LIMIT :limit

-- load_job: a definition of another store
INSERT INTO workbell_jobs ({job_columns}) VALUES ({job_values}) ON CONFLICT DO NOTHING
