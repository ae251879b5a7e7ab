-- Workers that are seen, log lines of runs, pauses and limits; suspects, and lanes that are divided by a limit's key.

-- A run that was being executed as its worker died: executed alone from then on.
ALTER TABLE workbell_runs ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;

-- Runs of a job whose limit counts by a key have a lane for each value of it: a key at its limit is never scanned past.
ALTER TABLE workbell_lanes ADD COLUMN key TEXT;
CREATE INDEX workbell_lanes_job ON workbell_lanes (tenant, job, key);

ALTER TABLE workbell_jobs ADD COLUMN concurrency INTEGER;
ALTER TABLE workbell_jobs ADD COLUMN concurrency_key TEXT;
ALTER TABLE workbell_jobs ADD COLUMN rate TEXT;
ALTER TABLE workbell_jobs ADD COLUMN rate_key TEXT;

-- What is not claimed: a queue, a job, or a job in a queue. An empty name stands for all.
CREATE TABLE workbell_pauses (
    tenant      TEXT NOT NULL,
    queue       TEXT NOT NULL DEFAULT '',
    job         TEXT NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, queue, job)
) STRICT;
INSERT INTO workbell_pauses (tenant, queue, job, created_at)
SELECT DISTINCT tenant, queue, job, CAST(strftime('%s', 'now') AS INTEGER) * 1000000 FROM workbell_lanes WHERE paused;

-- A row to lock while a limit is counted, and the starts within its span. What is running is counted from the runs.
CREATE TABLE workbell_limits (
    id          INTEGER PRIMARY KEY,
    tenant      TEXT NOT NULL,
    job         TEXT NOT NULL,
    key         TEXT,
    starts      TEXT NOT NULL DEFAULT '[]',
    updated_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE workbell_workers (
    id           TEXT PRIMARY KEY,
    host         TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    incarnation  TEXT NOT NULL,
    version      TEXT NOT NULL,
    queues       TEXT,
    jobs         TEXT NOT NULL DEFAULT '[]',
    concurrency  INTEGER NOT NULL,
    stopping     INTEGER NOT NULL DEFAULT 0,
    started_at   INTEGER NOT NULL,
    seen_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE workbell_logs (
    run      TEXT NOT NULL,
    attempt  INTEGER NOT NULL,
    line     INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    level    TEXT NOT NULL,
    message  TEXT NOT NULL,
    PRIMARY KEY (run, attempt, line)
) STRICT, WITHOUT ROWID;
