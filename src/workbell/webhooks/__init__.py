"""Webhooks: signed HTTP deliveries of events to endpoints."""

from workbell.webhooks.signature import new_secret, verify

__all__ = ["new_secret", "verify"]
