-- Tokens, tenants, the audit log, and answers under idempotency keys.

-- revoke_tokens: revoke those of these that are valid
UPDATE workbell_tokens SET revoked_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND revoked_at IS NULL RETURNING id

-- see_tokens: note the use of tokens
UPDATE workbell_tokens SET last_used_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND (last_used_at IS NULL OR last_used_at < :now)

-- delete_expired_tokens: a batch of tokens that expired a while ago; those that people made stay for longer
DELETE FROM workbell_tokens WHERE id IN (SELECT id FROM workbell_tokens WHERE expires_at <= :shortly_before
    AND (kind = 'ticket' OR expires_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR expires_at <= :long_before) ORDER BY expires_at LIMIT :limit) RETURNING id

-- delete_revoked_tokens: the same of revoked tokens
DELETE FROM workbell_tokens WHERE id IN (SELECT id FROM workbell_tokens WHERE revoked_at <= :shortly_before
    AND (kind = 'ticket' OR revoked_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR revoked_at <= :long_before) ORDER BY revoked_at LIMIT :limit) RETURNING id

-- delete_audit: a batch of expired entries
DELETE FROM workbell_audit WHERE id IN (SELECT id FROM workbell_audit WHERE at <= :before ORDER BY at LIMIT :limit)
RETURNING id

-- delete_answers: a batch of expired answers
DELETE FROM workbell_answers WHERE (tenant, key) IN (SELECT tenant, key FROM workbell_answers WHERE until <= :now
    ORDER BY until LIMIT :limit) RETURNING key
