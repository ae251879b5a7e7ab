-- The first schema: definitions, schedules and their ticks, live runs, history, attempts, keys.
-- Times are whole microseconds since 1970-01-01 UTC. Booleans are 0 and 1. Ids and JSON are text.
-- The statuses are checked one by one: for IN (…) SQLite builds a list anew for each row, 3 µs of the 8 of an insert.

CREATE TABLE workbell_lanes (
    id          INTEGER PRIMARY KEY,
    tenant      TEXT NOT NULL,
    queue       TEXT NOT NULL,
    job         TEXT NOT NULL,
    target      TEXT,
    paused      INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE workbell_jobs (
    id                TEXT PRIMARY KEY,
    tenant            TEXT NOT NULL,
    name              TEXT NOT NULL,
    handler           TEXT NOT NULL,
    queue             TEXT NOT NULL,
    description       TEXT NOT NULL DEFAULT '',
    payload_template  TEXT,
    retry             TEXT,
    timeout           REAL,
    enabled           INTEGER NOT NULL DEFAULT 1,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

CREATE TABLE workbell_schedules (
    id                 TEXT PRIMARY KEY,
    tenant             TEXT NOT NULL,
    name               TEXT NOT NULL,
    job                TEXT NOT NULL,
    kind               TEXT NOT NULL CHECK (kind IN ('once', 'interval', 'cron')),
    expression         TEXT NOT NULL,
    timezone           TEXT NOT NULL,
    enabled            INTEGER NOT NULL DEFAULT 1,
    next_run_at        INTEGER,
    last_scheduled_at  INTEGER,
    version            INTEGER NOT NULL DEFAULT 0,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

CREATE TABLE workbell_ticks (
    schedule    TEXT NOT NULL,
    due         INTEGER NOT NULL,
    until       INTEGER,
    count       INTEGER NOT NULL DEFAULT 1,
    outcome     TEXT NOT NULL CHECK (outcome IN ('fired', 'skipped', 'coalesced', 'deferred')),
    run         TEXT,
    reason      TEXT,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (schedule, due)
) STRICT;

CREATE TABLE workbell_runs (
    id                TEXT PRIMARY KEY,
    lane              INTEGER NOT NULL,
    status            TEXT NOT NULL CHECK (status = 'queued' OR status = 'scheduled' OR status = 'running'),
    rank              INTEGER NOT NULL,
    scheduled_for     INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    attempt           INTEGER NOT NULL DEFAULT 0,
    failures          INTEGER NOT NULL DEFAULT 0,
    losses            INTEGER NOT NULL DEFAULT 0,
    crashes           INTEGER NOT NULL DEFAULT 0,
    alone             INTEGER NOT NULL DEFAULT 0,
    token             INTEGER NOT NULL DEFAULT 0,
    lease_until       INTEGER,
    worker            TEXT,
    cancel_requested  INTEGER NOT NULL DEFAULT 0,
    started_at        INTEGER,
    input             TEXT,
    options           TEXT,
    tag               TEXT,
    key               TEXT,
    user_id           INTEGER NOT NULL DEFAULT 0,
    schedule          TEXT,
    event             TEXT,
    retry_of          TEXT,
    rescheduled_from  TEXT,
    accepted_by       TEXT,
    expires_at        INTEGER,
    progress          TEXT,
    error             TEXT,
    reason            TEXT,
    CHECK ((status = 'running') = (lease_until IS NOT NULL))
) STRICT;

-- One lane's line, in the order in which it is claimed.
CREATE INDEX workbell_runs_queued ON workbell_runs (lane, rank, scheduled_for, id) WHERE status = 'queued';
CREATE INDEX workbell_runs_scheduled ON workbell_runs (scheduled_for) WHERE status = 'scheduled';
-- Not by lease_until: then a renewal would have to write the index too. Few runs are running.
CREATE INDEX workbell_runs_running ON workbell_runs (lane) WHERE status = 'running';
CREATE INDEX workbell_runs_tag ON workbell_runs (tag) WHERE tag IS NOT NULL;
CREATE INDEX workbell_runs_expiry ON workbell_runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX workbell_runs_accepted ON workbell_runs (accepted_by) WHERE accepted_by IS NOT NULL;

CREATE TABLE workbell_history (
    id                TEXT PRIMARY KEY,
    lane              INTEGER NOT NULL,
    status            TEXT NOT NULL CHECK (status = 'succeeded' OR status = 'failed' OR status = 'canceled'),
    rank              INTEGER NOT NULL,
    scheduled_for     INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    attempt           INTEGER NOT NULL,
    failures          INTEGER NOT NULL,
    losses            INTEGER NOT NULL,
    crashes           INTEGER NOT NULL,
    token             INTEGER NOT NULL,
    worker            TEXT,
    started_at        INTEGER,
    input             TEXT,
    options           TEXT,
    tag               TEXT,
    key               TEXT,
    user_id           INTEGER NOT NULL,
    schedule          TEXT,
    event             TEXT,
    retry_of          TEXT,
    rescheduled_from  TEXT,
    accepted_by       TEXT,
    expires_at        INTEGER,
    progress          TEXT,
    error             TEXT,
    reason            TEXT,
    finished_at       INTEGER NOT NULL,
    result            TEXT,
    remove_at         INTEGER NOT NULL
) STRICT;

CREATE INDEX workbell_history_lane ON workbell_history (lane, id);
CREATE INDEX workbell_history_remove ON workbell_history (remove_at);
CREATE INDEX workbell_history_failed ON workbell_history (id) WHERE status = 'failed';
CREATE INDEX workbell_history_tag ON workbell_history (tag, id) WHERE tag IS NOT NULL;

CREATE TABLE workbell_attempts (
    run          TEXT NOT NULL,
    number       INTEGER NOT NULL,
    status       TEXT NOT NULL,
    started_at   INTEGER,
    finished_at  INTEGER NOT NULL,
    worker       TEXT,
    error        TEXT,
    PRIMARY KEY (run, number)
) STRICT;

CREATE TABLE workbell_keys (
    tenant  TEXT NOT NULL,
    key     TEXT NOT NULL,
    run     TEXT NOT NULL,
    until   INTEGER,
    PRIMARY KEY (tenant, key)
) STRICT;

CREATE INDEX workbell_keys_until ON workbell_keys (until) WHERE until IS NOT NULL;
