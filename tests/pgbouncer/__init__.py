"""Tests of PostgreSQL through PgBouncer in transaction mode: `make test-pgbouncer`."""
