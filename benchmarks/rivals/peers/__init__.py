"""Peers: one module for each job system that is measured. `child.py` says what a module holds."""
