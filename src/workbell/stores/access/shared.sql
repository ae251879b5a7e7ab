-- Tokens, tenants, the audit log, and answers under idempotency keys.

-- add_token: a new token
INSERT INTO workbell_tokens ({token_columns}) VALUES ({token_values})

-- load_token: a token of another store
INSERT INTO workbell_tokens ({token_columns}) VALUES ({token_values}) ON CONFLICT DO NOTHING

-- find_token: one by the SHA-256 of its text
SELECT {token_columns} FROM workbell_tokens WHERE hash = :hash

-- tokens_with_ids: those with these ids
SELECT {token_columns} FROM workbell_tokens WHERE id {among ids uuid}

-- list_tokens: a page of those of one tenant, by id
SELECT {token_columns} FROM workbell_tokens WHERE tenant = :tenant AND id > :after ORDER BY id LIMIT :limit

-- tokens_of_agent: some tokens of an agent that are not revoked
SELECT id FROM workbell_tokens WHERE agent = :agent AND revoked_at IS NULL LIMIT :limit

-- redeem_token: use up a token, if it is still valid; of two callers at once the second finds it revoked
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

-- delete_tenant: remove the settings of a tenant
DELETE FROM workbell_tenants WHERE name = :name RETURNING name

-- tenants: all tenants that have settings: those that an operator has set something for; every worker keeps them
SELECT {tenant_columns} FROM workbell_tenants

-- tenants_with_names: the settings of these tenants
SELECT {tenant_columns} FROM workbell_tenants WHERE name {among names text}

-- known_tenants: a page of the tenants that have a lane, a token or settings, by name
-- There may be very many lanes and tokens: it steps from one tenant to the next in the index.
WITH RECURSIVE lane(tenant) AS (
    SELECT min(l.tenant) FROM workbell_lanes l WHERE l.tenant > :after
    UNION ALL
    SELECT (SELECT min(l.tenant) FROM workbell_lanes l WHERE l.tenant > lane.tenant) FROM lane
    WHERE lane.tenant IS NOT NULL
), token(tenant) AS (
    SELECT min(t.tenant) FROM workbell_tokens t WHERE t.tenant > :after
    UNION ALL
    SELECT (SELECT min(t.tenant) FROM workbell_tokens t WHERE t.tenant > token.tenant) FROM token
    WHERE token.tenant IS NOT NULL
)
SELECT tenant FROM (
    SELECT * FROM (SELECT tenant FROM lane WHERE tenant IS NOT NULL LIMIT :limit) AS of_lanes
    UNION
    SELECT * FROM (SELECT tenant FROM token WHERE tenant <> '*' LIMIT :limit) AS of_tokens
    UNION
    SELECT * FROM (SELECT name FROM workbell_tenants WHERE name > :after ORDER BY name LIMIT :limit) AS of_settings
) AS known ORDER BY tenant LIMIT :limit

-- trace_of_tenant: whether a tenant has a lane or a token
-- The first from a name on is one step in an index. With an equality PostgreSQL expects to meet a row soon, and scans.
SELECT 1 WHERE (SELECT min(tenant) FROM workbell_lanes WHERE tenant >= :name) = :name
OR (SELECT min(tenant) FROM workbell_tokens WHERE tenant >= :name) = :name

-- all_audit: the entries of all tenants, newest first
SELECT {audit_columns} FROM workbell_audit WHERE id < :before ORDER BY id DESC LIMIT :limit

-- list_audit: those of one tenant
SELECT {audit_columns} FROM workbell_audit WHERE tenant = :tenant AND id < :before ORDER BY id DESC LIMIT :limit

-- export_audit: all entries, by id
SELECT {audit_columns} FROM workbell_audit WHERE id > :after ORDER BY id LIMIT :limit

-- remember: take a key for a request, unless it is taken and has not expired
INSERT INTO workbell_answers ({answer_columns}) VALUES ({answer_values})
ON CONFLICT (tenant, key) DO UPDATE SET fingerprint = excluded.fingerprint, created_at = excluded.created_at,
    until = excluded.until, status = excluded.status, body = excluded.body
WHERE workbell_answers.until <= excluded.created_at RETURNING key

-- find_answer: the answer that is stored under a key
SELECT {answer_columns} FROM workbell_answers WHERE tenant = :tenant AND key = :key

-- answer: the answer to the request that took the key, if there is none yet
UPDATE workbell_answers SET status = :status, body = :body, until = :until
WHERE tenant = :tenant AND key = :key AND fingerprint = :fingerprint AND status IS NULL

-- forget: release a key that has no answer
DELETE FROM workbell_answers WHERE tenant = :tenant AND key = :key AND fingerprint = :fingerprint AND status IS NULL

-- add_audit: many entries
INSERT INTO workbell_audit ({audit_columns})
SELECT {audit_columns} FROM {rows new: id uuid, tenant text, at timestamptz, actor text, action text, subject text,
    detail text, address text} WHERE true ON CONFLICT DO NOTHING
