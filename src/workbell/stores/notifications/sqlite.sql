-- Notifications, and who has read them.

-- read_some: a person has read these
INSERT INTO workbell_reads ({read_columns})
SELECT n.tenant, :user_id, n.id, :now FROM json_each(:ids) AS wanted CROSS JOIN workbell_notifications n
WHERE n.id = wanted.value AND n.tenant = :tenant AND (n.user_id = :user_id OR n.user_id IS NULL)
ON CONFLICT DO NOTHING RETURNING notification

-- delete_notifications: a batch of expired notifications, but for those that have read marks left
DELETE FROM workbell_notifications AS n WHERE n.id IN (SELECT id FROM workbell_notifications WHERE created_at <= :before
    ORDER BY created_at, rowid LIMIT :limit)
AND NOT EXISTS (SELECT 1 FROM workbell_reads r WHERE r.notification = n.id) RETURNING id

-- delete_reads: some read marks of the batch that is removed next; everybody may have read one
DELETE FROM workbell_reads WHERE (notification, user_id) IN (SELECT r.notification, r.user_id
    FROM (SELECT id FROM workbell_notifications WHERE created_at <= :before ORDER BY created_at, rowid LIMIT :limit) AS old
    CROSS JOIN workbell_reads r WHERE r.notification = old.id LIMIT :parts) RETURNING user_id
