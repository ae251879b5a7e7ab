-- add_limits: make rows of limits, to be locked; in one order: two that make the same would deadlock otherwise
INSERT INTO workbell_limits (id, tenant, job, key, updated_at)
SELECT new.id, new.tenant, new.job, new.key, :now FROM {rows new: id bigint, tenant text, job text, key text}
ORDER BY new.id ON CONFLICT (id) DO NOTHING

-- free_limits: the starts of limits that no other claim has locked
SELECT id, starts FROM workbell_limits WHERE id {among ids bigint} FOR UPDATE SKIP LOCKED

-- hold_limits: lock limits against other claims; those that are free and unchanged since they were read
-- The LATERAL fixes the order of the join. A row that changed since the statement began is compared again.
SELECT l.id FROM {rows seen: id bigint, starts text}
CROSS JOIN LATERAL (SELECT h.id, h.starts FROM workbell_limits h WHERE h.id = seen.id OFFSET 0
    FOR UPDATE SKIP LOCKED) l WHERE l.starts = seen.starts

-- delete_limits: limits whose starts no longer matter, and that no claim holds
DELETE FROM workbell_limits WHERE id = ANY(ARRAY(SELECT id FROM workbell_limits
    WHERE id {among ids bigint} AND updated_at <= :before FOR UPDATE SKIP LOCKED))
