-- Lease tokens are random, up to 2^53 - 1; each attempt keeps that of its lease.

ALTER TABLE workbell_runs ALTER COLUMN token TYPE bigint;
ALTER TABLE workbell_history ALTER COLUMN token TYPE bigint;

-- 0: of an attempt that ended before, or that was imported.
ALTER TABLE workbell_attempts ADD COLUMN token bigint NOT NULL DEFAULT 0;
