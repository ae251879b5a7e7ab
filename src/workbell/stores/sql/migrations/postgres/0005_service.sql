-- The service: tokens and tenants, the audit log, notifications, agents, answers to idempotency keys, tallies.

-- Of a token only the SHA-256 is kept.
CREATE TABLE workbell_tokens (
    id            uuid PRIMARY KEY,
    hash          text NOT NULL UNIQUE,
    tenant        text NOT NULL,
    kind          text NOT NULL,
    name          text NOT NULL DEFAULT '',
    scopes        text NOT NULL DEFAULT '[]',
    user_id       bigint,
    agent         uuid,
    created_by    text NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz,
    revoked_at    timestamptz,
    last_used_at  timestamptz
);
CREATE INDEX workbell_tokens_expiry ON workbell_tokens (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX workbell_tokens_revoked ON workbell_tokens (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX workbell_tokens_tenant ON workbell_tokens (tenant, id);
CREATE INDEX workbell_tokens_agent ON workbell_tokens (agent) WHERE agent IS NOT NULL;

CREATE TABLE workbell_tenants (
    name         text PRIMARY KEY,
    description  text NOT NULL DEFAULT '',
    weight       integer NOT NULL DEFAULT 1,
    concurrency  integer,
    rate         text,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);

CREATE TABLE workbell_audit (
    id       uuid PRIMARY KEY,
    tenant   text NOT NULL,
    at       timestamptz NOT NULL,
    actor    text NOT NULL,
    action   text NOT NULL,
    subject  text NOT NULL DEFAULT '',
    detail   text,
    address  text
);
CREATE INDEX workbell_audit_tenant ON workbell_audit (tenant, id);
CREATE INDEX workbell_audit_at ON workbell_audit (at);

-- Without a user it is for everybody of the tenant.
CREATE TABLE workbell_notifications (
    id          uuid PRIMARY KEY,
    tenant      text NOT NULL,
    user_id     bigint,
    data        text NOT NULL,
    created_at  timestamptz NOT NULL
);
CREATE INDEX workbell_notifications_user ON workbell_notifications (tenant, user_id, id);
CREATE INDEX workbell_notifications_created ON workbell_notifications (created_at);

CREATE TABLE workbell_reads (
    tenant        text NOT NULL,
    user_id       bigint NOT NULL,
    notification  uuid NOT NULL,
    at            timestamptz NOT NULL,
    PRIMARY KEY (notification, user_id)
);

CREATE TABLE workbell_agents (
    id          uuid PRIMARY KEY,
    tenant      text NOT NULL,
    name        text NOT NULL,
    labels      text NOT NULL DEFAULT '[]',
    jobs        text,
    version     text NOT NULL DEFAULT '',
    host        text NOT NULL DEFAULT '',
    metrics     text,
    enabled     boolean NOT NULL DEFAULT true,
    created_at  timestamptz NOT NULL,
    seen_at     timestamptz,
    UNIQUE (tenant, name)
);

-- What agents are asked for again and again: lanes that are aimed at one.
CREATE INDEX workbell_lanes_target ON workbell_lanes (tenant, target) WHERE target IS NOT NULL;

-- The answer to the first request with a key; none yet, while that is being worked on.
CREATE TABLE workbell_answers (
    tenant       text NOT NULL,
    key          text NOT NULL,
    fingerprint  text NOT NULL,
    created_at   timestamptz NOT NULL,
    until        timestamptz NOT NULL,
    status       integer,
    body         text,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX workbell_answers_until ON workbell_answers (until);

-- What ended in a minute, added up by the workers: history is never counted.
CREATE TABLE workbell_tallies (
    minute   timestamptz NOT NULL,
    tenant   text NOT NULL,
    queue    text NOT NULL,
    job      text NOT NULL,
    status   text NOT NULL,
    count    bigint NOT NULL,
    seconds  double precision NOT NULL,
    wait     double precision NOT NULL,
    buckets  text NOT NULL,
    PRIMARY KEY (minute, tenant, queue, job, status)
);

-- Where a failure of a job is told.
ALTER TABLE workbell_jobs ADD COLUMN alert_url text;
ALTER TABLE workbell_jobs ADD COLUMN ping_url text;
