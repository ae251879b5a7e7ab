-- Workers that are seen, log lines of runs, pauses and limits; suspects, and lanes that are divided by a limit's key.

-- A run that was being executed as its worker died: executed alone from then on.
ALTER TABLE workbell_runs ADD COLUMN suspect boolean NOT NULL DEFAULT false;

-- Runs of a job whose limit counts by a key have a lane for each value of it: a key at its limit is never scanned past.
ALTER TABLE workbell_lanes ADD COLUMN key text;
CREATE INDEX workbell_lanes_job ON workbell_lanes (tenant, job, key);

ALTER TABLE workbell_jobs ADD COLUMN concurrency integer;
ALTER TABLE workbell_jobs ADD COLUMN concurrency_key text;
ALTER TABLE workbell_jobs ADD COLUMN rate text;
ALTER TABLE workbell_jobs ADD COLUMN rate_key text;

-- What is not claimed: a queue, a job, or a job in a queue. An empty name stands for all.
CREATE TABLE workbell_pauses (
    tenant      text NOT NULL,
    queue       text NOT NULL DEFAULT '',
    job         text NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, queue, job)
);
INSERT INTO workbell_pauses (tenant, queue, job, created_at)
SELECT DISTINCT tenant, queue, job, now() FROM workbell_lanes WHERE paused;

-- A row to lock while a limit is counted, and the starts within its span. What is running is counted from the runs.
CREATE TABLE workbell_limits (
    id          bigint PRIMARY KEY,
    tenant      text NOT NULL,
    job         text NOT NULL,
    key         text,
    starts      text NOT NULL DEFAULT '[]',
    updated_at  timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE workbell_workers (
    id           text PRIMARY KEY,
    host         text NOT NULL,
    pid          integer NOT NULL,
    incarnation  text NOT NULL,
    version      text NOT NULL,
    queues       text,
    jobs         text NOT NULL DEFAULT '[]',
    concurrency  integer NOT NULL,
    stopping     boolean NOT NULL DEFAULT false,
    started_at   timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL
);

CREATE TABLE workbell_logs (
    run      uuid NOT NULL,
    attempt  integer NOT NULL,
    line     integer NOT NULL,
    at       timestamptz NOT NULL,
    level    text NOT NULL,
    message  text NOT NULL,
    PRIMARY KEY (run, attempt, line)
);
