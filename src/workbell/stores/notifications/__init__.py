"""Notifications to people, and who has read them."""
