-- Events, what they matched, the triggers that start jobs, and the endpoints that webhooks go to.

CREATE TABLE workbell_events (
    id             uuid PRIMARY KEY,
    tenant         text NOT NULL,
    type           text NOT NULL,
    source         text NOT NULL,
    time           timestamptz NOT NULL,
    created_at     timestamptz NOT NULL,
    subject        text,
    data           text,
    key            text,
    system         boolean NOT NULL DEFAULT false,
    depth          integer NOT NULL DEFAULT 0,
    cause          uuid,
    fanned_out_at  timestamptz
);

-- Not a cursor: an event whose transaction commits late must be found as well.
CREATE INDEX workbell_events_waiting ON workbell_events (id) WHERE fanned_out_at IS NULL;
CREATE UNIQUE INDEX workbell_events_key ON workbell_events (tenant, source, key) WHERE key IS NOT NULL;
CREATE INDEX workbell_events_tenant ON workbell_events (tenant, id);
CREATE INDEX workbell_events_type ON workbell_events (tenant, type, id);
CREATE INDEX workbell_events_created ON workbell_events (created_at);

-- Each event at most once for each trigger or endpoint.
CREATE TABLE workbell_matches (
    event       uuid NOT NULL,
    subscriber  uuid NOT NULL,
    outcome     text NOT NULL CHECK (outcome = 'started' OR outcome = 'disabled' OR outcome = 'too_deep'),
    created_at  timestamptz NOT NULL,
    run         uuid,
    reason      text,
    PRIMARY KEY (event, subscriber)
);
CREATE INDEX workbell_matches_subscriber ON workbell_matches (subscriber, event);

CREATE TABLE workbell_triggers (
    id           uuid PRIMARY KEY,
    tenant       text NOT NULL,
    name         text NOT NULL,
    description  text NOT NULL DEFAULT '',
    pattern      text NOT NULL,
    job          text NOT NULL,
    enabled      boolean NOT NULL DEFAULT true,
    retry        text,
    source       text NOT NULL,
    declared_at  timestamptz,
    version      integer NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    UNIQUE (tenant, name)
);

CREATE TABLE workbell_endpoints (
    id           uuid PRIMARY KEY,
    tenant       text NOT NULL,
    url          text NOT NULL,
    description  text NOT NULL DEFAULT '',
    patterns     text NOT NULL,
    headers      text,
    secrets      text NOT NULL DEFAULT '[]',
    enabled      boolean NOT NULL DEFAULT true,
    reason       text,
    disabled_at  timestamptz,
    retry        text,
    rate         text,
    concurrency  integer,
    timeout      double precision,
    version      integer NOT NULL DEFAULT 0,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);

-- Apart from the endpoints, so that a delivery never locks, or changes the version of, what somebody is editing.
CREATE TABLE workbell_health (
    endpoint         uuid PRIMARY KEY,
    failures         integer NOT NULL DEFAULT 0,
    failing_since    timestamptz,
    last_success_at  timestamptz,
    last_failure_at  timestamptz
);

-- Raised with every change of a trigger or an endpoint: who keeps them in mind sees that they have changed.
INSERT INTO workbell_meta (name, value) VALUES ('subscriptions', '0');

ALTER TABLE workbell_jobs ADD COLUMN processor boolean NOT NULL DEFAULT false;
ALTER TABLE workbell_attempts ADD COLUMN result text;
