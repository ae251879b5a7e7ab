-- Events the way of SQLite: batches as JSON, one writer at a time.

-- take_events: these are fanned out now, those of them that were not
UPDATE workbell_events SET fanned_out_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND fanned_out_at IS NULL RETURNING id

-- add_matches: what events matched
INSERT INTO workbell_matches ({match})
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(:rows)

-- delete_events: a batch whose time is over; not those that a live run may still ask for
DELETE FROM workbell_events WHERE id IN (SELECT e.id FROM workbell_events e
    WHERE e.created_at <= :before AND e.fanned_out_at IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM workbell_matches m JOIN workbell_runs r ON r.id = m.run WHERE m.event = e.id)
    ORDER BY e.created_at LIMIT :limit) RETURNING id

-- delete_matches: and what they matched
DELETE FROM workbell_matches WHERE event IN (SELECT value FROM json_each(:ids))

-- put_match: a later run takes the place of an earlier one, if nothing else has
INSERT INTO workbell_matches ({match}) VALUES ({match_values})
ON CONFLICT (event, subscriber) DO UPDATE SET outcome = excluded.outcome, run = excluded.run, reason = excluded.reason
WHERE workbell_matches.run IS :before RETURNING event
