-- What a job or a trigger says about its runs (as JSON), and users whose id is a text.

-- Null: nothing beyond its other columns. Code of before leaves these alone.
ALTER TABLE workbell_jobs ADD COLUMN options TEXT;
ALTER TABLE workbell_triggers ADD COLUMN options TEXT;

-- The id of a user that is a text; user_id is then a negative number that stands for it. See the protocol.
ALTER TABLE workbell_tokens ADD COLUMN user_text TEXT;
ALTER TABLE workbell_notifications ADD COLUMN user_text TEXT;
