-- The service: tokens and tenants, the audit log, notifications, agents, answers to idempotency keys, tallies.

-- Of a token only the SHA-256 is kept.
CREATE TABLE workbell_tokens (
    id            TEXT PRIMARY KEY,
    hash          TEXT NOT NULL UNIQUE,
    tenant        TEXT NOT NULL,
    kind          TEXT NOT NULL,
    name          TEXT NOT NULL DEFAULT '',
    scopes        TEXT NOT NULL DEFAULT '[]',
    user_id       INTEGER,
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

-- What agents are asked for again and again: lanes that are aimed at one.
CREATE INDEX workbell_lanes_target ON workbell_lanes (tenant, target) WHERE target IS NOT NULL;

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

-- Where a failure of a job is told.
ALTER TABLE workbell_jobs ADD COLUMN alert_url TEXT;
ALTER TABLE workbell_jobs ADD COLUMN ping_url TEXT;
