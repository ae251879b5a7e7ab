"""Sending HTTP to URLs that users give, without letting them reach what only this machine can reach."""
