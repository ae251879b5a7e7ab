-- Runs that a rewind of the store concerns: an older backup, or a failover that lost commits. Written by the processes that
-- knew more about these runs than the store does now.

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
