"""Webhooks: events that are sent to other people's servers, signed so that these can trust them."""

from workbell.webhooks.signature import new_secret, verify

__all__ = ["new_secret", "verify"]
