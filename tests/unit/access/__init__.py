"""Tests of tokens, tenants and the audit log, on a store in memory."""
