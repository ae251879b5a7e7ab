-- Notifications, and who has read them.

-- read_some: a person has read these
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :now FROM json_each(:ids) AS wanted CROSS JOIN workbell_notifications n
WHERE n.id = wanted.value AND n.tenant = :tenant AND (n.user_id = :user_id OR n.user_id IS NULL)
ON CONFLICT DO NOTHING RETURNING notification

-- delete_notifications: a batch of expired notifications
DELETE FROM workbell_notifications WHERE id IN (SELECT id FROM workbell_notifications WHERE created_at <= :before
    ORDER BY created_at LIMIT :limit) RETURNING id

-- delete_reads: the read marks of the batch that is removed next
DELETE FROM workbell_reads WHERE notification IN (SELECT id FROM workbell_notifications WHERE created_at <= :before
    ORDER BY created_at LIMIT :limit)
