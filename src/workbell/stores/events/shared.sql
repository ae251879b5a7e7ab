-- Events, and the ledger of what they matched.

-- add_event: one event, as the caller's statement or as ours; one for each source and key
INSERT INTO workbell_events ({event_columns}) VALUES ({event_values}) ON CONFLICT DO NOTHING

-- event_holder: the event that holds a key
SELECT id FROM workbell_events WHERE tenant = :tenant AND source = :source AND key = :key

-- waiting_events: what has not been fanned out, oldest first; without the data, which the fan-out does not need
SELECT id, tenant, type, source, time, created_at, subject, NULL, key, system, depth, cause, fanned_out_at
FROM workbell_events WHERE fanned_out_at IS NULL ORDER BY id LIMIT :limit

-- list_events: the events of a tenant, newest first
SELECT {event_columns} FROM workbell_events WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit

-- list_events_of: those of one type
SELECT {event_columns} FROM workbell_events WHERE tenant = :tenant AND type = :type AND id < :before
ORDER BY id DESC LIMIT :limit

-- matches_of_event: what an event matched
SELECT {match} FROM workbell_matches WHERE event = :event AND subscriber > :after ORDER BY subscriber LIMIT :limit

-- matches_of_subscriber: what a trigger or endpoint was matched by, newest first
SELECT {match} FROM workbell_matches WHERE subscriber = :subscriber AND event < :before ORDER BY event DESC LIMIT :limit

-- export_events: all events, by id
SELECT {event_columns} FROM workbell_events WHERE id > :after ORDER BY id LIMIT :limit

-- export_matches: all matches, by event and subscriber
SELECT {match} FROM workbell_matches WHERE (event, subscriber) > (:after, :after_subscriber)
ORDER BY event, subscriber LIMIT :limit

-- settle_event: mark an event that another store has fanned out
UPDATE workbell_events SET fanned_out_at = :at WHERE id = :id AND fanned_out_at IS NULL

-- load_match: a match of another store
INSERT INTO workbell_matches ({match}) VALUES ({match_values}) ON CONFLICT DO NOTHING

-- add_events: many events; those whose key is taken are left out
INSERT INTO workbell_events ({event_columns})
SELECT {event_columns} FROM {rows new: id uuid, tenant text, type text, source text, time timestamptz, created_at timestamptz, subject text,
    data text, key text, system boolean, depth integer, cause uuid, fanned_out_at timestamptz}
WHERE true ON CONFLICT DO NOTHING RETURNING id

-- find_events: events by id
SELECT {event_columns} FROM workbell_events WHERE id {among ids uuid}

-- add_matches: what events matched
INSERT INTO workbell_matches ({match})
SELECT {match} FROM {rows new: event uuid, subscriber uuid, outcome text, created_at timestamptz, run uuid, reason text}

-- run_of_match: the run that an event has made for a subscriber
SELECT run FROM workbell_matches WHERE event = :event AND subscriber = :subscriber

-- waiting_ids: those of these events that are not fanned out
SELECT id FROM workbell_events WHERE id {among ids uuid} AND fanned_out_at IS NULL

-- put_match: a later run replaces an earlier one, unless another has
INSERT INTO workbell_matches ({match}) VALUES ({match_values})
ON CONFLICT (event, subscriber) DO UPDATE SET outcome = excluded.outcome, run = excluded.run, reason = excluded.reason
WHERE COALESCE(CAST(workbell_matches.run AS text), '') = COALESCE(CAST(:before AS text), '') RETURNING event
