-- All tables, in the order of docs/protocol.md, which says what each column means.
-- Times are whole microseconds since 1970-01-01 UTC. Booleans are 0 and 1. Ids and JSON are text.
-- The statuses are checked one by one: for IN (…) SQLite builds a list anew for each row, 3 µs of the 8 of an insert.

-- Raised by one with every change of a trigger or an endpoint, and of a definition: whoever caches them reads that alone.
INSERT INTO workbell_meta (name, value) VALUES ('subscriptions', '0'), ('definitions', '0');

-- Runs of a job whose limit counts by a key have a lane for each value of it: a key at its limit is never scanned past.
CREATE TABLE workbell_lanes (
    id          INTEGER PRIMARY KEY,
    tenant      TEXT NOT NULL,
    queue       TEXT NOT NULL,
    job         TEXT NOT NULL,
    target      TEXT,
    key         TEXT,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX workbell_lanes_job ON workbell_lanes (tenant, job, key);
-- What agents are asked for again and again: lanes that are aimed at one.
CREATE INDEX workbell_lanes_target ON workbell_lanes (tenant, target) WHERE target IS NOT NULL;
-- A tenant's lanes in their order, to be walked together with the runs of a tag.
CREATE INDEX workbell_lanes_tenant ON workbell_lanes (tenant, id);

-- The jobs that code declares, and definitions: jobs as data, made by the API.
CREATE TABLE workbell_jobs (
    id                TEXT PRIMARY KEY,
    tenant            TEXT NOT NULL,
    name              TEXT NOT NULL,
    source            TEXT NOT NULL DEFAULT 'code',
    handler           TEXT NOT NULL,
    queue             TEXT NOT NULL,
    description       TEXT NOT NULL DEFAULT '',
    input             TEXT,
    priority          INTEGER NOT NULL DEFAULT 0,
    retry             TEXT,
    timeout           REAL,
    options           TEXT,
    concurrency       INTEGER,
    concurrency_key   TEXT,
    rate              TEXT,
    rate_key          TEXT,
    processor         INTEGER NOT NULL DEFAULT 0,
    alert_url         TEXT,
    ping_url          TEXT,
    enabled           INTEGER NOT NULL DEFAULT 1,
    version           INTEGER NOT NULL DEFAULT 1,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

-- Schedules: their settings, where the scheduler stands with each, and how its last tick went.
CREATE TABLE workbell_schedules (
    id                  TEXT PRIMARY KEY,
    tenant              TEXT NOT NULL,
    name                TEXT NOT NULL,
    job                 TEXT NOT NULL,
    kind                TEXT NOT NULL CHECK (kind IN ('once', 'interval', 'cron')),
    expression          TEXT NOT NULL,
    timezone            TEXT NOT NULL,
    options             TEXT NOT NULL DEFAULT '{}',
    source              TEXT NOT NULL DEFAULT '',
    enabled             INTEGER NOT NULL DEFAULT 1,
    paused              INTEGER NOT NULL DEFAULT 0,
    reason              TEXT,
    version             INTEGER NOT NULL DEFAULT 0,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    look_at             INTEGER,
    next_run_at         INTEGER,
    last_scheduled_at   INTEGER,
    held_tick           INTEGER,
    deferred_until      INTEGER,
    last_run_at         INTEGER,
    last_run_id         TEXT,
    last_fire_status    TEXT,
    last_fire_at        INTEGER,
    last_error          TEXT,
    run_count           INTEGER NOT NULL DEFAULT 0,
    scheduler_failures  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, name)
) STRICT;

CREATE INDEX workbell_schedules_look ON workbell_schedules (look_at) WHERE look_at IS NOT NULL;

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

CREATE INDEX workbell_ticks_created ON workbell_ticks (created_at);

-- Apart from the schedule's own row, so that ending a run and firing a tick never wait for each other.
CREATE TABLE workbell_reports (
    schedule           TEXT PRIMARY KEY,
    last_run_status    TEXT NOT NULL CHECK (last_run_status IN ('success', 'failed')),
    last_run_ended_at  INTEGER NOT NULL,
    failed_runs        INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Live runs. The columns stand in the order of the fields of `Run`, here and in the history.
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
    suspect           INTEGER NOT NULL DEFAULT 0,
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
-- By lane too: another tenant's runs of the same tag are passed over.
CREATE INDEX workbell_runs_tag ON workbell_runs (tag, lane) WHERE tag IS NOT NULL;
CREATE INDEX workbell_runs_expiry ON workbell_runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX workbell_runs_accepted ON workbell_runs (accepted_by) WHERE accepted_by IS NOT NULL;
-- The overlap test, and the runs of a schedule.
CREATE INDEX workbell_runs_schedule ON workbell_runs (schedule) WHERE schedule IS NOT NULL;
-- Retries, found from the run that they repeat. Small, and written only for retries; so is that of the history.
CREATE INDEX workbell_runs_retry ON workbell_runs (retry_of) WHERE retry_of IS NOT NULL;

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
-- Few runs are canceled: without it, a page of those means a look at all that ended. Nothing is written for others.
CREATE INDEX workbell_history_canceled ON workbell_history (id) WHERE status = 'canceled';
CREATE INDEX workbell_history_tag ON workbell_history (tag, id) WHERE tag IS NOT NULL;
CREATE INDEX workbell_history_schedule ON workbell_history (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX workbell_history_retry ON workbell_history (retry_of, id) WHERE retry_of IS NOT NULL;

-- The token is that of the attempt's lease; 0 if it was imported.
CREATE TABLE workbell_attempts (
    run          TEXT NOT NULL,
    number       INTEGER NOT NULL,
    status       TEXT NOT NULL,
    started_at   INTEGER,
    finished_at  INTEGER NOT NULL,
    worker       TEXT,
    error        TEXT,
    result       TEXT,
    token        INTEGER NOT NULL DEFAULT 0,
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

-- What is not claimed: a queue, a job, or a job in a queue. An empty name stands for all.
CREATE TABLE workbell_pauses (
    tenant      TEXT NOT NULL,
    queue       TEXT NOT NULL DEFAULT '',
    job         TEXT NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (tenant, queue, job)
) STRICT;

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
    id             TEXT PRIMARY KEY,
    host           TEXT NOT NULL,
    pid            INTEGER NOT NULL,
    incarnation    TEXT NOT NULL,
    version        TEXT NOT NULL,
    queues         TEXT,
    jobs           TEXT NOT NULL DEFAULT '[]',
    concurrency    INTEGER NOT NULL,
    stopping       INTEGER NOT NULL DEFAULT 0,
    started_at     INTEGER NOT NULL,
    seen_at        INTEGER NOT NULL,
    drained_at     INTEGER,
    drain_seen_at  INTEGER
) STRICT;

-- Runs that a rewind of the store concerns: an older backup, or a failover that lost commits. Written by the processes
-- that knew more about these runs than the store does now.
CREATE TABLE workbell_rewinds (
    id          TEXT PRIMARY KEY,
    noticed_at  INTEGER NOT NULL,
    worker      TEXT NOT NULL,
    tenant      TEXT NOT NULL,
    run         TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('lease', 'repeated', 'gone')),
    token       INTEGER NOT NULL,
    detail      TEXT NOT NULL
) STRICT;

CREATE INDEX workbell_rewinds_run ON workbell_rewinds (run);
CREATE INDEX workbell_rewinds_tenant ON workbell_rewinds (tenant, id);
CREATE INDEX workbell_rewinds_noticed ON workbell_rewinds (noticed_at);

CREATE TABLE workbell_logs (
    run      TEXT NOT NULL,
    attempt  INTEGER NOT NULL,
    line     INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    level    TEXT NOT NULL,
    message  TEXT NOT NULL,
    PRIMARY KEY (run, attempt, line)
) STRICT, WITHOUT ROWID;

CREATE TABLE workbell_events (
    id             TEXT PRIMARY KEY,
    tenant         TEXT NOT NULL,
    type           TEXT NOT NULL,
    source         TEXT NOT NULL,
    time           INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    subject        TEXT,
    data           TEXT,
    key            TEXT,
    system         INTEGER NOT NULL DEFAULT 0,
    depth          INTEGER NOT NULL DEFAULT 0,
    cause          TEXT,
    fanned_out_at  INTEGER
) STRICT;

-- Not a cursor: an event whose transaction commits late must be found as well.
CREATE INDEX workbell_events_waiting ON workbell_events (id) WHERE fanned_out_at IS NULL;
CREATE UNIQUE INDEX workbell_events_key ON workbell_events (tenant, source, key) WHERE key IS NOT NULL;
CREATE INDEX workbell_events_tenant ON workbell_events (tenant, id);
CREATE INDEX workbell_events_type ON workbell_events (tenant, type, id);
CREATE INDEX workbell_events_created ON workbell_events (created_at);

-- Each event at most once for each trigger or endpoint.
CREATE TABLE workbell_matches (
    event       TEXT NOT NULL,
    subscriber  TEXT NOT NULL,
    outcome     TEXT NOT NULL CHECK (outcome = 'started' OR outcome = 'disabled' OR outcome = 'too_deep'),
    created_at  INTEGER NOT NULL,
    run         TEXT,
    reason      TEXT,
    PRIMARY KEY (event, subscriber)
) STRICT, WITHOUT ROWID;

CREATE INDEX workbell_matches_subscriber ON workbell_matches (subscriber, event);

CREATE TABLE workbell_triggers (
    id           TEXT PRIMARY KEY,
    tenant       TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT NOT NULL DEFAULT '',
    pattern      TEXT NOT NULL,
    job          TEXT NOT NULL,
    retry        TEXT,
    options      TEXT,
    source       TEXT NOT NULL,
    declared_at  INTEGER,
    enabled      INTEGER NOT NULL DEFAULT 1,
    version      INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

CREATE TABLE workbell_endpoints (
    id           TEXT PRIMARY KEY,
    tenant       TEXT NOT NULL,
    url          TEXT NOT NULL,
    description  TEXT NOT NULL DEFAULT '',
    patterns     TEXT NOT NULL,
    headers      TEXT,
    secrets      TEXT NOT NULL DEFAULT '[]',
    enabled      INTEGER NOT NULL DEFAULT 1,
    reason       TEXT,
    disabled_at  INTEGER,
    retry        TEXT,
    rate         TEXT,
    concurrency  INTEGER,
    timeout      REAL,
    version      INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT;

-- Apart from the endpoints, so that a delivery never locks, or changes the version of, what somebody is editing.
CREATE TABLE workbell_health (
    endpoint         TEXT PRIMARY KEY,
    failures         INTEGER NOT NULL DEFAULT 0,
    failing_since    INTEGER,
    last_success_at  INTEGER,
    last_failure_at  INTEGER
) STRICT;

-- Of a token only the SHA-256 is kept. If the user's id is a text, user_id is a negative number that stands for it, here
-- and in the notifications.
CREATE TABLE workbell_tokens (
    id            TEXT PRIMARY KEY,
    hash          TEXT NOT NULL UNIQUE,
    tenant        TEXT NOT NULL,
    kind          TEXT NOT NULL,
    name          TEXT NOT NULL DEFAULT '',
    scopes        TEXT NOT NULL DEFAULT '[]',
    user_id       INTEGER,
    user_text     TEXT,
    agent         TEXT,
    created_by    TEXT NOT NULL DEFAULT '',
    created_at    INTEGER NOT NULL,
    expires_at    INTEGER,
    revoked_at    INTEGER,
    last_used_at  INTEGER
) STRICT;

CREATE INDEX workbell_tokens_expiry ON workbell_tokens (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX workbell_tokens_revoked ON workbell_tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX workbell_tokens_tenant ON workbell_tokens (tenant, id);
CREATE INDEX workbell_tokens_agent ON workbell_tokens (agent) WHERE agent IS NOT NULL;

CREATE TABLE workbell_tenants (
    name         TEXT PRIMARY KEY,
    description  TEXT NOT NULL DEFAULT '',
    weight       INTEGER NOT NULL DEFAULT 1,
    concurrency  INTEGER,
    rate         TEXT,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE workbell_audit (
    id       TEXT PRIMARY KEY,
    tenant   TEXT NOT NULL,
    at       INTEGER NOT NULL,
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    subject  TEXT NOT NULL DEFAULT '',
    detail   TEXT,
    address  TEXT
) STRICT;

CREATE INDEX workbell_audit_tenant ON workbell_audit (tenant, id);
CREATE INDEX workbell_audit_at ON workbell_audit (at);

-- Without a user it is for everybody of the tenant.
CREATE TABLE workbell_notifications (
    id          TEXT PRIMARY KEY,
    tenant      TEXT NOT NULL,
    user_id     INTEGER,
    user_text   TEXT,
    data        TEXT NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX workbell_notifications_user ON workbell_notifications (tenant, user_id, id);
CREATE INDEX workbell_notifications_created ON workbell_notifications (created_at);

CREATE TABLE workbell_reads (
    tenant        TEXT NOT NULL,
    user_id       INTEGER NOT NULL,
    notification  TEXT NOT NULL,
    at            INTEGER NOT NULL,
    PRIMARY KEY (notification, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE workbell_agents (
    id          TEXT PRIMARY KEY,
    tenant      TEXT NOT NULL,
    name        TEXT NOT NULL,
    labels      TEXT NOT NULL DEFAULT '[]',
    jobs        TEXT,
    version     TEXT NOT NULL DEFAULT '',
    host        TEXT NOT NULL DEFAULT '',
    metrics     TEXT,
    enabled     INTEGER NOT NULL DEFAULT 1,
    created_at  INTEGER NOT NULL,
    seen_at     INTEGER,
    UNIQUE (tenant, name)
) STRICT;

-- The answer to the first request with a key; none yet, while that is being worked on.
CREATE TABLE workbell_answers (
    tenant       TEXT NOT NULL,
    key          TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    until        INTEGER NOT NULL,
    status       INTEGER,
    body         TEXT,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX workbell_answers_until ON workbell_answers (until);

-- What ended in a minute, added up by the workers: history is never counted.
CREATE TABLE workbell_tallies (
    minute   INTEGER NOT NULL,
    tenant   TEXT NOT NULL,
    queue    TEXT NOT NULL,
    job      TEXT NOT NULL,
    status   TEXT NOT NULL,
    count    INTEGER NOT NULL,
    seconds  REAL NOT NULL,
    wait     REAL NOT NULL,
    buckets  TEXT NOT NULL,
    PRIMARY KEY (minute, tenant, queue, job, status)
) STRICT, WITHOUT ROWID;

-- The minutes of one tenant for its charts: the primary key begins with the minute, and has those of all tenants.
CREATE INDEX workbell_tallies_tenant ON workbell_tallies (tenant, minute);
