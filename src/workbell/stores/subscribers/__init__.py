"""Triggers and webhook endpoints: who subscribes to which events."""
