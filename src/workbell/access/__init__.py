"""Who may do what: tokens, tenants and the audit log, as verbs. What they are stands in `model/`."""
