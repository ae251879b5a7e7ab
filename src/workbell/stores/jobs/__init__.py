"""Definitions of jobs."""
