"""Pauses of queues and jobs."""
