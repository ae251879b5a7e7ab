"""The store for many machines: PostgreSQL through psycopg 3, without any session state, so that any pooler works."""
