-- Tokens, tenants, the audit log, and answers under idempotency keys.

-- revoke_tokens: revoke those of these that are valid; locked in one order
UPDATE workbell_tokens SET revoked_at = :now
WHERE id = ANY(ARRAY(SELECT id FROM workbell_tokens WHERE id = ANY(CAST(:ids AS uuid[])) ORDER BY id FOR UPDATE))
AND revoked_at IS NULL RETURNING id

-- see_tokens: note the use of tokens; without rows that another has locked
UPDATE workbell_tokens SET last_used_at = :now
WHERE id = ANY(ARRAY(SELECT id FROM workbell_tokens WHERE id = ANY(CAST(:ids AS uuid[])) FOR UPDATE SKIP LOCKED))
AND (last_used_at IS NULL OR last_used_at < :now)

-- delete_expired_tokens: a batch of tokens that expired a while ago; those that people made stay for longer
DELETE FROM workbell_tokens WHERE id = ANY(ARRAY(SELECT id FROM workbell_tokens WHERE expires_at <= :shortly_before
    AND (kind = 'ticket' OR expires_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR expires_at <= :long_before)
    ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING id

-- delete_revoked_tokens: the same of revoked tokens
DELETE FROM workbell_tokens WHERE id = ANY(ARRAY(SELECT id FROM workbell_tokens WHERE revoked_at <= :shortly_before
    AND (kind = 'ticket' OR revoked_at <= :before)
    AND (kind NOT IN ('api', 'agent') OR revoked_at <= :long_before)
    ORDER BY revoked_at LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING id

-- delete_audit: a batch of expired entries
DELETE FROM workbell_audit WHERE id = ANY(ARRAY(SELECT id FROM workbell_audit WHERE at <= :before
    ORDER BY at LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING id

-- delete_answers: a batch of expired answers
DELETE FROM workbell_answers WHERE ctid = ANY(ARRAY(SELECT ctid FROM workbell_answers WHERE until <= :now
    ORDER BY until LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING key
