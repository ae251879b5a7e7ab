-- Tokens, tenants, the audit log, and answers under idempotency keys.

-- revoke_tokens: these are valid no more, those of them that were
UPDATE workbell_tokens SET revoked_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND revoked_at IS NULL RETURNING id

-- see_tokens: these were used
UPDATE workbell_tokens SET last_used_at = :now
WHERE id IN (SELECT value FROM json_each(:ids)) AND (last_used_at IS NULL OR last_used_at < :now)

-- delete_expired_tokens: a batch of what expired a while ago; what people made is shown for longer
DELETE FROM workbell_tokens WHERE id IN (SELECT id FROM workbell_tokens WHERE expires_at <= :shortly_before
    AND (kind = 'ticket' OR expires_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR expires_at <= :long_before) ORDER BY expires_at LIMIT :limit) RETURNING id

-- delete_revoked_tokens: the same of what was revoked
DELETE FROM workbell_tokens WHERE id IN (SELECT id FROM workbell_tokens WHERE revoked_at <= :shortly_before
    AND (kind = 'ticket' OR revoked_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR revoked_at <= :long_before) ORDER BY revoked_at LIMIT :limit) RETURNING id

-- delete_audit: a batch whose time is over
DELETE FROM workbell_audit WHERE id IN (SELECT id FROM workbell_audit WHERE at <= :before ORDER BY at LIMIT :limit)
RETURNING id

-- delete_answers: a batch whose time is over
DELETE FROM workbell_answers WHERE (tenant, key) IN (SELECT tenant, key FROM workbell_answers WHERE until <= :now
    ORDER BY until LIMIT :limit) RETURNING key
