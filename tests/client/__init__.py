"""The verbs of the client, on every store."""
