"""Runs: lanes, making, claiming, moving, reading."""
