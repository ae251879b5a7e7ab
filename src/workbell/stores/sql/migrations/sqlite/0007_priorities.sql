-- Jobs: the priority of their runs. Code of before leaves the column alone.
ALTER TABLE workbell_jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
