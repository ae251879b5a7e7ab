-- Events the way of SQLite: batches as JSON, one writer at a time.

-- take_events: mark those of these events that are not fanned out
UPDATE workbell_events SET fanned_out_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND fanned_out_at IS NULL RETURNING id

-- delete_events: and these themselves
WITH old AS (SELECT e.id FROM workbell_events e
    WHERE e.created_at <= :before AND e.fanned_out_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workbell_matches m JOIN workbell_runs r ON r.id = m.run WHERE m.event = e.id)
    ORDER BY e.created_at, e.id LIMIT :limit)
DELETE FROM workbell_events WHERE id IN (SELECT id FROM old) RETURNING id

-- delete_matches: the matches of a batch of expired events; without those that a live run may still read
WITH old AS (SELECT e.id FROM workbell_events e
    WHERE e.created_at <= :before AND e.fanned_out_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workbell_matches m JOIN workbell_runs r ON r.id = m.run WHERE m.event = e.id)
    ORDER BY e.created_at, e.id LIMIT :limit)
DELETE FROM workbell_matches WHERE event IN (SELECT id FROM old)
