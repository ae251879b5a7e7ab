-- Jobs: the priority of their runs. Code of before leaves the column alone.
ALTER TABLE workbell_jobs ADD COLUMN priority smallint NOT NULL DEFAULT 0;
