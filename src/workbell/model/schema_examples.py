"""Example values for the schema of the API, used by many structs."""

from __future__ import annotations

RUN_ID = "0198c2f3-5a6b-7c8d-9e0f-1a2b3c4d5e6f"
AT = "2026-11-16T09:00:00Z"
