"""Tallies: how many runs ended, by minute."""
