-- The first schema: definitions, schedules and their ticks, live runs, history, attempts, keys.
-- Times are timestamptz. JSON is text: it is opaque to the store, and text accepts every JSON document.

CREATE TABLE workbell_lanes (
    id          bigint PRIMARY KEY,
    tenant      text NOT NULL,
    queue       text NOT NULL,
    job         text NOT NULL,
    target      text,
    paused      boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL
);

CREATE TABLE workbell_jobs (
    id                uuid PRIMARY KEY,
    tenant            text NOT NULL,
    name              text NOT NULL,
    handler           text NOT NULL,
    queue             text NOT NULL,
    description       text NOT NULL DEFAULT '',
    payload_template  text,
    retry             text,
    timeout           double precision,
    enabled           boolean NOT NULL DEFAULT true,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    UNIQUE (tenant, name)
);

CREATE TABLE workbell_schedules (
    id                 uuid PRIMARY KEY,
    tenant             text NOT NULL,
    name               text NOT NULL,
    job                text NOT NULL,
    kind               text NOT NULL CHECK (kind IN ('once', 'interval', 'cron')),
    expression         text NOT NULL,
    timezone           text NOT NULL,
    enabled            boolean NOT NULL DEFAULT true,
    next_run_at        timestamptz,
    last_scheduled_at  timestamptz,
    version            integer NOT NULL DEFAULT 0,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    UNIQUE (tenant, name)
);

CREATE TABLE workbell_ticks (
    schedule    uuid NOT NULL,
    due         timestamptz NOT NULL,
    until       timestamptz,
    count       integer NOT NULL DEFAULT 1,
    outcome     text NOT NULL CHECK (outcome IN ('fired', 'skipped', 'coalesced', 'deferred')),
    run         uuid,
    reason      text,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (schedule, due)
);

CREATE TABLE workbell_runs (
    id                uuid PRIMARY KEY,
    lane              bigint NOT NULL,
    status            text NOT NULL CHECK (status IN ('scheduled', 'queued', 'running')),
    rank              smallint NOT NULL,
    scheduled_for     timestamptz NOT NULL,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    attempt           integer NOT NULL DEFAULT 0,
    failures          integer NOT NULL DEFAULT 0,
    losses            integer NOT NULL DEFAULT 0,
    crashes           integer NOT NULL DEFAULT 0,
    alone             boolean NOT NULL DEFAULT false,
    token             integer NOT NULL DEFAULT 0,
    lease_until       timestamptz,
    worker            text,
    cancel_requested  boolean NOT NULL DEFAULT false,
    started_at        timestamptz,
    input             text,
    options           text,
    tag               text,
    key               text,
    user_id           bigint NOT NULL DEFAULT 0,
    schedule          uuid,
    event             uuid,
    retry_of          uuid,
    rescheduled_from  uuid,
    accepted_by       text,
    expires_at        timestamptz,
    progress          text,
    error             text,
    reason            text,
    CHECK ((status = 'running') = (lease_until IS NOT NULL))
) WITH (
    -- The table turns over completely all day: dead rows at the head of a lane are what makes a claim slow.
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0.0,
    autovacuum_vacuum_insert_threshold = 50000,
    autovacuum_analyze_scale_factor = 0.1,
    autovacuum_vacuum_cost_delay = 0
);

-- One lane's line, in the order in which it is claimed.
CREATE INDEX workbell_runs_queued ON workbell_runs (lane, rank, scheduled_for, id) WHERE status = 'queued';
CREATE INDEX workbell_runs_scheduled ON workbell_runs (scheduled_for) WHERE status = 'scheduled';
-- Not by lease_until: then a renewal would have to write the index too (no HOT update). Few runs are running.
CREATE INDEX workbell_runs_running ON workbell_runs (lane) WHERE status = 'running';
CREATE INDEX workbell_runs_tag ON workbell_runs (tag) WHERE tag IS NOT NULL;
CREATE INDEX workbell_runs_expiry ON workbell_runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX workbell_runs_accepted ON workbell_runs (accepted_by) WHERE accepted_by IS NOT NULL;

CREATE TABLE workbell_history (
    id                uuid PRIMARY KEY,
    lane              bigint NOT NULL,
    status            text NOT NULL CHECK (status IN ('succeeded', 'failed', 'canceled')),
    rank              smallint NOT NULL,
    scheduled_for     timestamptz NOT NULL,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    attempt           integer NOT NULL,
    failures          integer NOT NULL,
    losses            integer NOT NULL,
    crashes           integer NOT NULL,
    token             integer NOT NULL,
    worker            text,
    started_at        timestamptz,
    input             text,
    options           text,
    tag               text,
    key               text,
    user_id           bigint NOT NULL,
    schedule          uuid,
    event             uuid,
    retry_of          uuid,
    rescheduled_from  uuid,
    accepted_by       text,
    expires_at        timestamptz,
    progress          text,
    error             text,
    reason            text,
    finished_at       timestamptz NOT NULL,
    result            text,
    remove_at         timestamptz NOT NULL
);

CREATE INDEX workbell_history_lane ON workbell_history (lane, id);
CREATE INDEX workbell_history_remove ON workbell_history (remove_at);
CREATE INDEX workbell_history_failed ON workbell_history (id) WHERE status = 'failed';
CREATE INDEX workbell_history_tag ON workbell_history (tag, id) WHERE tag IS NOT NULL;

CREATE TABLE workbell_attempts (
    run          uuid NOT NULL,
    number       integer NOT NULL,
    status       text NOT NULL,
    started_at   timestamptz,
    finished_at  timestamptz NOT NULL,
    worker       text,
    error        text,
    PRIMARY KEY (run, number)
);

CREATE TABLE workbell_keys (
    tenant  text NOT NULL,
    key     text NOT NULL,
    run     uuid NOT NULL,
    until   timestamptz,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX workbell_keys_until ON workbell_keys (until) WHERE until IS NOT NULL;
