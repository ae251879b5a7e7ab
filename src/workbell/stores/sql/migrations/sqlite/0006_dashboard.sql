-- The dashboard: workers that are drained, and what lists and charts are read by.

-- Since when a worker claims nothing more; null: it claims. Code of before leaves the column alone.
ALTER TABLE workbell_workers ADD COLUMN drained_at INTEGER;
-- When it said that it has heard of that, and begins nothing more; null: it may still begin something.
ALTER TABLE workbell_workers ADD COLUMN drain_seen_at INTEGER;

-- Few runs are canceled: without it, a page of those means a look at all that ended. Nothing is written for others.
CREATE INDEX workbell_history_canceled ON workbell_history (id) WHERE status = 'canceled';

-- The minutes of one tenant for its charts: the primary key begins with the minute, and has those of all tenants.
CREATE INDEX workbell_tallies_tenant ON workbell_tallies (tenant, minute);
