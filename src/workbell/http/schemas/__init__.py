"""Schemas of the HTTP API, as OpenAPI shows them: one file a resource."""
