-- Runs that a rewind of the store concerns: an older backup, or a failover that lost commits. Written by the processes that
-- knew more about these runs than the store does now.

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
