-- Events, matches, triggers and endpoints: what every SQL store has in common.

-- add_event: one event, as the caller's statement or as ours; of a source and key there is one
INSERT INTO workbell_events ({event_columns}) VALUES ({event_values}) ON CONFLICT DO NOTHING

-- event_holder: the event that holds a key
SELECT id FROM workbell_events WHERE tenant = :tenant AND source = :source AND key = :key

-- waiting_events: what has not been fanned out, oldest first; without the data, which nobody needs for that
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

-- subscriptions: raised with every change of a trigger or an endpoint
SELECT value FROM workbell_meta WHERE name = 'subscriptions'

-- raise_subscriptions: tell those who keep triggers and endpoints in mind
UPDATE workbell_meta SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'subscriptions'

-- triggers: all triggers, of all tenants
SELECT {trigger} FROM workbell_triggers ORDER BY tenant, name

-- list_triggers: those of one tenant
SELECT {trigger} FROM workbell_triggers WHERE tenant = :tenant ORDER BY name

-- add_trigger: a new trigger, if its name is free
INSERT INTO workbell_triggers ({trigger}) VALUES ({trigger_values}) ON CONFLICT DO NOTHING RETURNING id

-- update_trigger: a trigger as it is now, if nobody changed it meanwhile and its name is not that of another
UPDATE workbell_triggers SET {trigger_assignments} WHERE id = :id AND version = :expected
AND NOT EXISTS (SELECT 1 FROM workbell_triggers o WHERE o.tenant = :tenant AND o.name = :name AND o.id <> :id)
RETURNING id

-- delete_trigger: if nobody changed it meanwhile; what it matched stays until its time is over
DELETE FROM workbell_triggers WHERE id = :id AND (CAST(:expected AS integer) IS NULL OR version = :expected) RETURNING id

-- endpoints: all endpoints, of all tenants
SELECT {endpoint} FROM workbell_endpoints ORDER BY id

-- find_endpoint: one endpoint
SELECT {endpoint} FROM workbell_endpoints WHERE id = :id

-- list_endpoints: those of one tenant
SELECT {endpoint} FROM workbell_endpoints WHERE tenant = :tenant ORDER BY id

-- add_endpoint: a new endpoint
INSERT INTO workbell_endpoints ({endpoint}) VALUES ({endpoint_values}) ON CONFLICT DO NOTHING RETURNING id

-- update_endpoint: an endpoint as it is now, if nobody changed it meanwhile
UPDATE workbell_endpoints SET {endpoint_assignments} WHERE id = :id AND version = :expected RETURNING id

-- delete_endpoint: what was sent stays until its time is over
DELETE FROM workbell_endpoints WHERE id = :id RETURNING id

-- delete_health: and how its deliveries went
DELETE FROM workbell_health WHERE endpoint = :id

-- note_failure: a delivery failed
INSERT INTO workbell_health (endpoint, failures, failing_since, last_failure_at) VALUES (:id, 1, :now, :now)
ON CONFLICT (endpoint) DO UPDATE SET failures = workbell_health.failures + 1,
    failing_since = COALESCE(workbell_health.failing_since, excluded.failing_since),
    last_failure_at = excluded.last_failure_at
RETURNING {health}

-- note_success: a delivery succeeded
INSERT INTO workbell_health (endpoint, failures, last_success_at) VALUES (:id, 0, :now)
ON CONFLICT (endpoint) DO UPDATE SET failures = 0, failing_since = NULL, last_success_at = excluded.last_success_at
RETURNING {health}

-- find_health: how deliveries to an endpoint go
SELECT {health} FROM workbell_health WHERE endpoint = :id

-- failing_endpoints: those to which many attempts in a row have failed; there are few rows
SELECT endpoint FROM workbell_health WHERE failures >= :at_least

-- export_events: all events, by id
SELECT {event_columns} FROM workbell_events WHERE id > :after ORDER BY id LIMIT :limit

-- export_matches: all matches, by event and subscriber
SELECT {match} FROM workbell_matches WHERE (event, subscriber) > (:after, :after_subscriber)
ORDER BY event, subscriber LIMIT :limit

-- settle_event: what another store has fanned out is not fanned out here as well
UPDATE workbell_events SET fanned_out_at = :at WHERE id = :id AND fanned_out_at IS NULL

-- load_match: a match of another store
INSERT INTO workbell_matches ({match}) VALUES ({match_values}) ON CONFLICT DO NOTHING

-- load_health: how deliveries from another store went
INSERT INTO workbell_health ({health}) VALUES (:endpoint, :failures, :failing_since, :last_success_at, :last_failure_at)
ON CONFLICT DO NOTHING

-- all_health: how all deliveries go
SELECT {health} FROM workbell_health ORDER BY endpoint
