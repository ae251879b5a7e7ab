-- Notifications, and who has read them.

-- read_some: a person has read these
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :now FROM workbell_notifications n
WHERE n.id = ANY(CAST(:ids AS uuid[])) AND n.tenant = :tenant AND (n.user_id = :user_id OR n.user_id IS NULL)
ORDER BY n.id ON CONFLICT DO NOTHING RETURNING notification

-- delete_notifications: a batch of expired notifications, with their read marks
WITH gone AS (
    DELETE FROM workbell_notifications WHERE id = ANY(ARRAY(SELECT id FROM workbell_notifications
        WHERE created_at <= :before ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED)) RETURNING id
), reads AS (
    DELETE FROM workbell_reads WHERE notification = ANY(ARRAY(SELECT id FROM gone))
)
SELECT id FROM gone
