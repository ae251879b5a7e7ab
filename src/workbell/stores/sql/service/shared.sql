-- Tokens, tenants, the audit log, notifications, agents, answers and tallies: what every SQL store has in common.

-- add_token: a new token
INSERT INTO workbell_tokens ({token_columns}) VALUES ({token_values})

-- load_token: a token of another store
INSERT INTO workbell_tokens ({token_columns}) VALUES ({token_values}) ON CONFLICT DO NOTHING

-- find_token: one by the SHA-256 of its text
SELECT {token_columns} FROM workbell_tokens WHERE hash = :hash

-- tokens: all tokens, of all tenants
SELECT {token_columns} FROM workbell_tokens

-- list_tokens: those of one tenant
SELECT {token_columns} FROM workbell_tokens WHERE tenant = :tenant

-- redeem_token: use up a token, if it is still valid; of two who come at once the second finds it revoked
UPDATE workbell_tokens SET revoked_at = :now, last_used_at = :now
WHERE hash = :hash AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
RETURNING {token_columns}

-- export_tokens: all tokens, by id
SELECT {token_columns} FROM workbell_tokens WHERE id > :after ORDER BY id LIMIT :limit

-- put_tenant: what is set for a tenant
INSERT INTO workbell_tenants ({tenant_columns}) VALUES ({tenant_values})
ON CONFLICT (name) DO UPDATE SET description = excluded.description, weight = excluded.weight,
    concurrency = excluded.concurrency, rate = excluded.rate, updated_at = excluded.updated_at

-- load_tenant: a tenant of another store
INSERT INTO workbell_tenants ({tenant_columns}) VALUES ({tenant_values}) ON CONFLICT DO NOTHING

-- delete_tenant: nothing is set for it any more
DELETE FROM workbell_tenants WHERE name = :name RETURNING name

-- tenants: all that something is set for
SELECT {tenant_columns} FROM workbell_tenants

-- known_tenants: all that there is a trace of
-- Of lanes and tokens there may be very many: stepping from one tenant to the next in the index.
WITH RECURSIVE lane(tenant) AS (
    SELECT min(l.tenant) FROM workbell_lanes l
    UNION ALL
    SELECT (SELECT min(l.tenant) FROM workbell_lanes l WHERE l.tenant > lane.tenant) FROM lane
    WHERE lane.tenant IS NOT NULL
), token(tenant) AS (
    SELECT min(t.tenant) FROM workbell_tokens t
    UNION ALL
    SELECT (SELECT min(t.tenant) FROM workbell_tokens t WHERE t.tenant > token.tenant) FROM token
    WHERE token.tenant IS NOT NULL
)
SELECT tenant FROM lane WHERE tenant IS NOT NULL
UNION SELECT tenant FROM token WHERE tenant IS NOT NULL
UNION SELECT name FROM workbell_tenants

-- all_audit: the entries of all tenants, newest first
SELECT {audit_columns} FROM workbell_audit WHERE id < :before ORDER BY id DESC LIMIT :limit

-- list_audit: those of one tenant
SELECT {audit_columns} FROM workbell_audit WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit

-- export_audit: all entries, by id
SELECT {audit_columns} FROM workbell_audit WHERE id > :after ORDER BY id LIMIT :limit

-- remember: take a key for a request, unless it is taken and its time is not over
INSERT INTO workbell_answers ({answer_columns}) VALUES ({answer_values})
ON CONFLICT (tenant, key) DO UPDATE SET fingerprint = excluded.fingerprint, created_at = excluded.created_at,
    until = excluded.until, status = excluded.status, body = excluded.body
WHERE workbell_answers.until <= excluded.created_at RETURNING key

-- find_answer: what stands there for a key
SELECT {answer_columns} FROM workbell_answers WHERE tenant = :tenant AND key = :key

-- answer: the answer to the request that took the key, if there is none yet
UPDATE workbell_answers SET status = :status, body = :body, until = :until
WHERE tenant = :tenant AND key = :key AND fingerprint = :fingerprint AND status IS NULL

-- forget: let go of a key that has no answer
DELETE FROM workbell_answers WHERE tenant = :tenant AND key = :key AND fingerprint = :fingerprint AND status IS NULL

-- list_notifications: a person's own and everybody's, newest first, with the person's read mark
-- Each half is a walk along the index; ordered by all its columns, because PostgreSQL does not see that they are equal.
SELECT n.id, n.tenant, n.user_id, n.data, n.created_at, n.user_text,
    (SELECT r.at FROM workbell_reads r WHERE r.notification = n.id AND r.user_id = :user_id)
FROM (
    SELECT * FROM (SELECT {notification_columns} FROM workbell_notifications
        WHERE tenant = :tenant AND user_id = :user_id AND id < :before
        ORDER BY tenant DESC, user_id DESC, id DESC LIMIT :limit) AS own
    UNION ALL
    SELECT * FROM (SELECT {notification_columns} FROM workbell_notifications
        WHERE tenant = :tenant AND user_id IS NULL AND id < :before
        ORDER BY tenant DESC, user_id DESC, id DESC LIMIT :limit) AS everybodys
) AS n ORDER BY n.id DESC LIMIT :limit

-- list_unread: the same without those that the person has read
-- Scalar subqueries: each is a lookup by primary key, and can never become a hash of a whole table.
SELECT n.id, n.tenant, n.user_id, n.data, n.created_at, n.user_text, NULL
FROM (
    SELECT * FROM (SELECT {notification_columns} FROM workbell_notifications m
        WHERE tenant = :tenant AND user_id = :user_id AND id < :before
        AND (SELECT 1 FROM workbell_reads r WHERE r.notification = m.id AND r.user_id = :user_id LIMIT 1) IS NULL
        ORDER BY tenant DESC, user_id DESC, id DESC LIMIT :limit) AS own
    UNION ALL
    SELECT * FROM (SELECT {notification_columns} FROM workbell_notifications m
        WHERE tenant = :tenant AND user_id IS NULL AND id < :before
        AND (SELECT 1 FROM workbell_reads r WHERE r.notification = m.id AND r.user_id = :user_id LIMIT 1) IS NULL
        ORDER BY tenant DESC, user_id DESC, id DESC LIMIT :limit) AS everybodys
) AS n ORDER BY n.id DESC LIMIT :limit

-- new_notifications: those of all tenants and people beyond an id
SELECT {notification_columns}, NULL FROM workbell_notifications WHERE id > :after ORDER BY id LIMIT :limit

-- read_all: a person has read everything
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :now FROM (
    SELECT m.tenant, m.id FROM workbell_notifications m WHERE m.tenant = :tenant AND m.user_id = :user_id
    UNION ALL
    SELECT m.tenant, m.id FROM workbell_notifications m WHERE m.tenant = :tenant AND m.user_id IS NULL
) AS n
WHERE (SELECT 1 FROM workbell_reads r WHERE r.notification = n.id AND r.user_id = :user_id LIMIT 1) IS NULL
ORDER BY n.id ON CONFLICT DO NOTHING RETURNING notification

-- export_reads: all read marks, by notification and person
SELECT {read_columns} FROM workbell_reads WHERE (notification, user_id) > (:after, :after_user)
ORDER BY notification, user_id LIMIT :limit

-- load_read: a read mark of another store, if what was read is here
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :at FROM workbell_notifications n WHERE n.id = :notification AND n.tenant = :tenant
ON CONFLICT DO NOTHING

-- add_agent: a new agent, if its name is free
INSERT INTO workbell_agents ({agent_columns}) VALUES ({agent_values}) ON CONFLICT DO NOTHING RETURNING id

-- update_agent: what is known of an agent that keeps its name: so it can never get in another one's way
UPDATE workbell_agents SET labels = :labels, jobs = :jobs, version = :version, host = :host, metrics = :metrics,
    enabled = :enabled, seen_at = :seen_at
WHERE id = :id AND tenant = :tenant AND name = :name RETURNING id

-- see_agent: it is alive; and what it told of itself, if it did
UPDATE workbell_agents SET seen_at = :now, jobs = coalesce(:jobs, jobs), metrics = coalesce(:metrics, metrics)
WHERE id = :id

-- find_agent: one agent
SELECT {agent_columns} FROM workbell_agents WHERE id = :id

-- agents: all agents, of all tenants
SELECT {agent_columns} FROM workbell_agents

-- list_agents: those of one tenant
SELECT {agent_columns} FROM workbell_agents WHERE tenant = :tenant

-- delete_agent: it is known no more
DELETE FROM workbell_agents WHERE id = :id RETURNING created_at

-- waiting_targets: what something is queued for
SELECT DISTINCT l.tenant, l.target FROM workbell_lanes l WHERE l.target IS NOT NULL
AND (SELECT 1 FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id LIMIT 1) IS NOT NULL
AND (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL

-- tallies: of all tenants from a minute on
SELECT {tally_columns} FROM workbell_tallies WHERE minute >= :since

-- list_tallies: those of one tenant
SELECT {tally_columns} FROM workbell_tallies WHERE minute >= :since AND tenant = :tenant

-- totals: what was ever added up
SELECT {tally_columns} FROM workbell_tallies WHERE minute = :minute

-- export_tallies: all tallies, in the order of their key
SELECT {tally_columns} FROM workbell_tallies
WHERE (minute, tenant, queue, job, status) > (:minute, :tenant, :queue, :job, :status)
ORDER BY minute, tenant, queue, job, status LIMIT :limit
