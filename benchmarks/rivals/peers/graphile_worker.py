"""Graphile Worker on PostgreSQL: its producer and its worker are Node processes, the watcher is that of all peers."""

from __future__ import annotations

from rivals import database

STORE, PACKAGES = "postgres", ["graphile-worker", "pg"]
CONFIG = "its performance preset: localQueue 500, refetchDelay 10 ms, completeJobBatchDelay 0, 24 concurrent jobs"
NODE = "graphile_worker.mjs"
pending = database.Query("SELECT count(*) FROM graphile_worker.jobs")
