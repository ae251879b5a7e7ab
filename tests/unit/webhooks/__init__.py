"""Tests of webhooks without a store."""
