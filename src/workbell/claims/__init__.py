"""Which queued runs a claim takes: fairness between tenants, priority within one, and room under limits."""
