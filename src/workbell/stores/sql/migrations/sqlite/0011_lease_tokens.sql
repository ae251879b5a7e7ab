-- Lease tokens are random, up to 2^53 - 1; each attempt keeps that of its lease.

-- 0: of an attempt that ended before, or that was imported.
ALTER TABLE workbell_attempts ADD COLUMN token INTEGER NOT NULL DEFAULT 0;
