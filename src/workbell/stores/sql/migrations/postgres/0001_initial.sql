-- All tables, in the order of docs/protocol.md, which says what each column means.
-- Times are timestamptz. JSON is text: it is opaque to the store, and text accepts every JSON document.

-- Raised by one with every change of a trigger or an endpoint, and of a definition: whoever caches them reads that alone.
INSERT INTO workbell_meta (name, value) VALUES ('subscriptions', '0'), ('definitions', '0');

-- Runs of a job whose limit counts by a key have a lane for each value of it: a key at its limit is never scanned past.
CREATE TABLE workbell_lanes (
    id          bigint PRIMARY KEY,
    tenant      text NOT NULL,
    queue       text NOT NULL,
    job         text NOT NULL,
    target      text,
    key         text,
    created_at  timestamptz NOT NULL
);

CREATE INDEX workbell_lanes_job ON workbell_lanes (tenant, job, key);
-- What agents are asked for again and again: lanes that are aimed at one.
CREATE INDEX workbell_lanes_target ON workbell_lanes (tenant, target) WHERE target IS NOT NULL;
-- A tenant's lanes in their order, to be walked together with the runs of a tag.
CREATE INDEX workbell_lanes_tenant ON workbell_lanes (tenant, id);

-- The jobs that code declares, and definitions: jobs as data, made by the API.
CREATE TABLE workbell_jobs (
    id                uuid PRIMARY KEY,
    tenant            text NOT NULL,
    name              text NOT NULL,
    source            text NOT NULL DEFAULT 'code',
    handler           text NOT NULL,
    queue             text NOT NULL,
    description       text NOT NULL DEFAULT '',
    input             text,
    priority          smallint NOT NULL DEFAULT 0,
    retry             text,
    timeout           double precision,
    options           text,
    concurrency       integer,
    concurrency_key   text,
    rate              text,
    rate_key          text,
    processor         boolean NOT NULL DEFAULT false,
    alert_url         text,
    ping_url          text,
    enabled           boolean NOT NULL DEFAULT true,
    version           integer NOT NULL DEFAULT 1,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    UNIQUE (tenant, name)
);

-- Schedules: their settings, where the scheduler stands with each, and how its last tick went.
CREATE TABLE workbell_schedules (
    id                  uuid PRIMARY KEY,
    tenant              text NOT NULL,
    name                text NOT NULL,
    job                 text NOT NULL,
    kind                text NOT NULL CHECK (kind IN ('once', 'interval', 'cron')),
    expression          text NOT NULL,
    timezone            text NOT NULL,
    options             text NOT NULL DEFAULT '{}',
    source              text NOT NULL DEFAULT '',
    enabled             boolean NOT NULL DEFAULT true,
    paused              boolean NOT NULL DEFAULT false,
    reason              text,
    version             integer NOT NULL DEFAULT 0,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    look_at             timestamptz,
    next_run_at         timestamptz,
    last_scheduled_at   timestamptz,
    held_tick           timestamptz,
    deferred_until      timestamptz,
    last_run_at         timestamptz,
    last_run_id         uuid,
    last_fire_status    text,
    last_fire_at        timestamptz,
    last_error          text,
    run_count           integer NOT NULL DEFAULT 0,
    scheduler_failures  integer NOT NULL DEFAULT 0,
    UNIQUE (tenant, name)
);

-- No index by source: PostgreSQL would have to write it too at every tick, and it is asked for only at a start.
CREATE INDEX workbell_schedules_look ON workbell_schedules (look_at) WHERE look_at IS NOT NULL;

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

-- Ticks are written in the order of time and removed in that order: a summary of each stretch of pages is enough.
CREATE INDEX workbell_ticks_created ON workbell_ticks USING brin (created_at) WITH (pages_per_range = 16);

-- Apart from the schedule's own row, so that ending a run and firing a tick never wait for each other.
CREATE TABLE workbell_reports (
    schedule           uuid PRIMARY KEY,
    last_run_status    text NOT NULL CHECK (last_run_status IN ('success', 'failed')),
    last_run_ended_at  timestamptz NOT NULL,
    failed_runs        integer NOT NULL DEFAULT 0
);

-- Live runs. The columns stand in the order of the fields of `Run`, here and in the history.
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
    suspect           boolean NOT NULL DEFAULT false,
    alone             boolean NOT NULL DEFAULT false,
    token             bigint NOT NULL DEFAULT 0,
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
-- By lane too: another tenant's runs of the same tag are passed over.
CREATE INDEX workbell_runs_tag ON workbell_runs (tag, lane) WHERE tag IS NOT NULL;
CREATE INDEX workbell_runs_expiry ON workbell_runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX workbell_runs_accepted ON workbell_runs (accepted_by) WHERE accepted_by IS NOT NULL;
-- The overlap test, and the runs of a schedule.
CREATE INDEX workbell_runs_schedule ON workbell_runs (schedule) WHERE schedule IS NOT NULL;
-- Retries, found from the run that they repeat. Small, and written only for retries; so is that of the history.
CREATE INDEX workbell_runs_retry ON workbell_runs (retry_of) WHERE retry_of IS NOT NULL;

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
    token             bigint NOT NULL,
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
-- Few runs are canceled: without it, a page of those means a look at all that ended. Nothing is written for others.
CREATE INDEX workbell_history_canceled ON workbell_history (id) WHERE status = 'canceled';
CREATE INDEX workbell_history_tag ON workbell_history (tag, id) WHERE tag IS NOT NULL;
CREATE INDEX workbell_history_schedule ON workbell_history (schedule, id) WHERE schedule IS NOT NULL;
CREATE INDEX workbell_history_retry ON workbell_history (retry_of, id) WHERE retry_of IS NOT NULL;

-- The token is that of the attempt's lease; 0 if it was imported.
CREATE TABLE workbell_attempts (
    run          uuid NOT NULL,
    number       integer NOT NULL,
    status       text NOT NULL,
    started_at   timestamptz,
    finished_at  timestamptz NOT NULL,
    worker       text,
    error        text,
    result       text,
    token        bigint NOT NULL DEFAULT 0,
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

-- What is not claimed: a queue, a job, or a job in a queue. An empty name stands for all.
CREATE TABLE workbell_pauses (
    tenant      text NOT NULL,
    queue       text NOT NULL DEFAULT '',
    job         text NOT NULL DEFAULT '',
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, queue, job)
);

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
    id             text PRIMARY KEY,
    host           text NOT NULL,
    pid            integer NOT NULL,
    incarnation    text NOT NULL,
    version        text NOT NULL,
    queues         text,
    jobs           text NOT NULL DEFAULT '[]',
    concurrency    integer NOT NULL,
    stopping       boolean NOT NULL DEFAULT false,
    started_at     timestamptz NOT NULL,
    seen_at        timestamptz NOT NULL,
    drained_at     timestamptz,
    drain_seen_at  timestamptz
);

-- Runs that a rewind of the store concerns: an older backup, or a failover that lost commits. Written by the processes
-- that knew more about these runs than the store does now.
CREATE TABLE workbell_rewinds (
    id          uuid PRIMARY KEY,
    noticed_at  timestamptz NOT NULL,
    worker      text NOT NULL,
    tenant      text NOT NULL,
    run         uuid NOT NULL,
    kind        text NOT NULL CHECK (kind IN ('lease', 'repeated', 'gone')),
    token       bigint NOT NULL,
    detail      text NOT NULL
);

CREATE INDEX workbell_rewinds_run ON workbell_rewinds (run);
CREATE INDEX workbell_rewinds_tenant ON workbell_rewinds (tenant, id);
CREATE INDEX workbell_rewinds_noticed ON workbell_rewinds (noticed_at);

CREATE TABLE workbell_logs (
    run      uuid NOT NULL,
    attempt  integer NOT NULL,
    line     integer NOT NULL,
    at       timestamptz NOT NULL,
    level    text NOT NULL,
    message  text NOT NULL,
    PRIMARY KEY (run, attempt, line)
);

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
    retry        text,
    options      text,
    source       text NOT NULL,
    declared_at  timestamptz,
    enabled      boolean NOT NULL DEFAULT true,
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

-- Of a token only the SHA-256 is kept. If the user's id is a text, user_id is a negative number that stands for it, here
-- and in the notifications.
CREATE TABLE workbell_tokens (
    id            uuid PRIMARY KEY,
    hash          text NOT NULL UNIQUE,
    tenant        text NOT NULL,
    kind          text NOT NULL,
    name          text NOT NULL DEFAULT '',
    scopes        text NOT NULL DEFAULT '[]',
    user_id       bigint,
    user_text     text,
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
    user_text   text,
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

-- The minutes of one tenant for its charts: the primary key begins with the minute, and has those of all tenants.
CREATE INDEX workbell_tallies_tenant ON workbell_tallies (tenant, minute);
