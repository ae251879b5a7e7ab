"""Cloudflare D1 as a store: SQLite's SQL, by named queries, over HTTP through a bridge Worker."""
