"""Access control: the verbs about tokens, tenants and the audit log; their data classes are in `model/`."""
