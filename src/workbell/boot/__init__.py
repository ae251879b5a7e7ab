"""Boot: worker and handler processes make their Workbell from the loaded application or from its settings."""
