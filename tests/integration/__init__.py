"""Workbell together with other libraries."""
