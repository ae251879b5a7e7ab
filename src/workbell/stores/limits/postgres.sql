-- add_limits: make rows of limits, to be locked; in one order, so that two who make the same do not wait crosswise
INSERT INTO workbell_limits (id, tenant, job, key, updated_at)
SELECT new.id, new.tenant, new.job, new.key, :now FROM {rows new: id bigint, tenant text, job text, key text}
ORDER BY new.id ON CONFLICT (id) DO NOTHING

-- free_limits: the starts of limits that no other claim holds
SELECT id, starts FROM workbell_limits WHERE id {among ids bigint} FOR UPDATE SKIP LOCKED

-- hold_limits: keep others from claiming under limits, of those that nobody holds and that are as they were seen
-- The LATERAL keeps it from being done the other way. A row that changed since the statement began is compared again.
SELECT l.id FROM {rows seen: id bigint, starts text}
CROSS JOIN LATERAL (SELECT h.id, h.starts FROM workbell_limits h WHERE h.id = seen.id OFFSET 0
    FOR UPDATE SKIP LOCKED) l WHERE l.starts = seen.starts

-- delete_limits: limits whose starts no longer matter, and that no claim holds
DELETE FROM workbell_limits WHERE id = ANY(ARRAY(SELECT id FROM workbell_limits
    WHERE id {among ids bigint} AND updated_at <= :before FOR UPDATE SKIP LOCKED))
