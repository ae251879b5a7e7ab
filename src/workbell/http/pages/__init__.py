"""HTML pages of the service: sign-in and API reference. No script, nothing from other hosts."""
