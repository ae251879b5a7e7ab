"""Outgoing HTTP to URLs of users, without access to what only this machine can reach (SSRF)."""
