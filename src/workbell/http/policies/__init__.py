"""Rules for every request: who may, how often, how much, from where; audit entries, ETags, idempotency keys."""
