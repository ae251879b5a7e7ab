-- Events, what they matched, the triggers that start jobs, and the endpoints that webhooks go to.

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
    enabled      INTEGER NOT NULL DEFAULT 1,
    retry        TEXT,
    source       TEXT NOT NULL,
    declared_at  INTEGER,
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

-- Raised with every change of a trigger or an endpoint: who keeps them in mind sees that they have changed.
INSERT INTO workbell_meta (name, value) VALUES ('subscriptions', '0');

ALTER TABLE workbell_jobs ADD COLUMN processor INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workbell_attempts ADD COLUMN result TEXT;
