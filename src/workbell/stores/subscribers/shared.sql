-- Triggers, webhook endpoints, and the health of these.

-- subscriptions: the version number of triggers and endpoints
SELECT value FROM workbell_meta WHERE name = 'subscriptions'

-- raise_subscriptions: raise it, so that caches of triggers and endpoints are read again
UPDATE workbell_meta SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'subscriptions'

-- triggers: all triggers, of all tenants; every scheduler keeps them all
SELECT {trigger_columns} FROM workbell_triggers ORDER BY tenant, name

-- list_triggers: those of one tenant; few, as each was added by hand or by code
SELECT {trigger_columns} FROM workbell_triggers WHERE tenant = :tenant ORDER BY name

-- add_trigger: a new trigger, if its name is free
INSERT INTO workbell_triggers ({trigger_columns}) VALUES ({trigger_values}) ON CONFLICT DO NOTHING RETURNING id

-- update_trigger: a trigger as it is now, if its version is unchanged and its name is not that of another
UPDATE workbell_triggers SET {trigger_assignments} WHERE id = :id AND version = :expected
AND NOT EXISTS (SELECT 1 FROM workbell_triggers o WHERE o.tenant = :tenant AND o.name = :name AND o.id <> :id)
RETURNING id

-- delete_trigger: remove a trigger, if its version is unchanged; its matches stay for their retention
DELETE FROM workbell_triggers WHERE id = :id AND (CAST(:expected AS integer) IS NULL OR version = :expected) RETURNING id

-- endpoints: all endpoints, of all tenants; every scheduler keeps them all
SELECT {endpoint_columns} FROM workbell_endpoints ORDER BY id

-- find_endpoint: one endpoint
SELECT {endpoint_columns} FROM workbell_endpoints WHERE id = :id

-- list_endpoints: those of one tenant; few, as each was added by hand or by code
SELECT {endpoint_columns} FROM workbell_endpoints WHERE tenant = :tenant ORDER BY id

-- add_endpoint: a new endpoint
INSERT INTO workbell_endpoints ({endpoint_columns}) VALUES ({endpoint_values}) ON CONFLICT DO NOTHING RETURNING id

-- update_endpoint: an endpoint as it is now, if its version is unchanged
UPDATE workbell_endpoints SET {endpoint_assignments} WHERE id = :id AND version = :expected RETURNING id

-- delete_endpoint: remove an endpoint; its deliveries stay for their retention
DELETE FROM workbell_endpoints WHERE id = :id RETURNING id

-- delete_health: remove the health of an endpoint
DELETE FROM workbell_health WHERE endpoint = :id

-- note_failure: a delivery failed
INSERT INTO workbell_health (endpoint, failures, failing_since, last_failure_at) VALUES (:id, 1, :now, :now)
ON CONFLICT (endpoint) DO UPDATE SET failures = workbell_health.failures + 1,
    failing_since = COALESCE(workbell_health.failing_since, excluded.failing_since),
    last_failure_at = excluded.last_failure_at
RETURNING {health_columns}

-- note_success: a delivery succeeded
INSERT INTO workbell_health (endpoint, failures, last_success_at) VALUES (:id, 0, :now)
ON CONFLICT (endpoint) DO UPDATE SET failures = 0, failing_since = NULL, last_success_at = excluded.last_success_at
RETURNING {health_columns}

-- find_health: the health of an endpoint
SELECT {health_columns} FROM workbell_health WHERE endpoint = :id

-- failing_endpoints: those to which many attempts in a row have failed; there are few rows
SELECT endpoint FROM workbell_health WHERE failures >= :at_least

-- load_health: the health of an endpoint of another store
INSERT INTO workbell_health ({health_columns}) VALUES (:endpoint, :failures, :failing_since, :last_success_at, :last_failure_at)
ON CONFLICT DO NOTHING

-- all_health: the health of all endpoints, for a copy: one row for each
SELECT {health_columns} FROM workbell_health ORDER BY endpoint

-- declare_triggers: these are still wanted by the code
UPDATE workbell_triggers SET declared_at = :now WHERE id {among ids uuid}

-- add_events_of_endpoint: the events of a change of an endpoint, if that was written
INSERT INTO workbell_events ({event_columns})
SELECT {event_columns} FROM {rows new: id uuid, tenant text, type text, source text, time timestamptz, created_at timestamptz, subject text,
    data text, key text, system boolean, depth integer, cause uuid, fanned_out_at timestamptz}
WHERE EXISTS (SELECT 1 FROM workbell_endpoints e
    WHERE e.id = :endpoint AND e.version = :version AND e.updated_at = :written_at)
ON CONFLICT DO NOTHING
