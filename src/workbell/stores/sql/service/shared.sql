-- Tokens, tenants, the audit log, notifications, agents, answers and tallies: what every SQL store has in common.

-- waiting_targets: what something is queued for
SELECT DISTINCT l.tenant, l.target FROM workbell_lanes l WHERE l.target IS NOT NULL
AND (SELECT 1 FROM workbell_runs r WHERE r.status = 'queued' AND r.lane = l.id LIMIT 1) IS NOT NULL
AND (SELECT 1 FROM workbell_pauses p
    WHERE p.tenant = l.tenant AND p.queue IN ('', l.queue) AND p.job IN ('', l.job) LIMIT 1) IS NULL
