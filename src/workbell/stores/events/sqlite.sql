-- Events the way of SQLite: batches as JSON, one writer at a time.

-- take_events: mark those of these events that are not fanned out
UPDATE workbell_events SET fanned_out_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND fanned_out_at IS NULL RETURNING id

-- delete_events: and these themselves, but for those that have matches left
WITH old AS (SELECT e.id FROM workbell_events e
    WHERE e.created_at <= :before AND e.fanned_out_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workbell_matches m JOIN workbell_runs r ON r.id = m.run WHERE m.event = e.id)
    ORDER BY e.created_at, e.id LIMIT :limit)
DELETE FROM workbell_events AS e WHERE e.id IN (SELECT id FROM old)
AND NOT EXISTS (SELECT 1 FROM workbell_matches m WHERE m.event = e.id) RETURNING id

-- delete_matches: some matches of a batch of expired events; without those that a live run may still read
WITH old AS (SELECT e.id FROM workbell_events e
    WHERE e.created_at <= :before AND e.fanned_out_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workbell_matches m JOIN workbell_runs r ON r.id = m.run WHERE m.event = e.id)
    ORDER BY e.created_at, e.id LIMIT :limit)
DELETE FROM workbell_matches WHERE (event, subscriber) IN (SELECT m.event, m.subscriber
    FROM old CROSS JOIN workbell_matches m WHERE m.event = old.id LIMIT :parts) RETURNING event
