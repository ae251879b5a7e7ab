"""Webhooks: events that are sent to other people's servers, signed so that these can trust them."""
