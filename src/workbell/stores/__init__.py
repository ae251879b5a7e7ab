"""Stores for jobs and runs: one contract (`port.py`) and its adapters."""
