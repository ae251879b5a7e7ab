"""Tokens, tenants, the audit log, and answers under idempotency keys."""
