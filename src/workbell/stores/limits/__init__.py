"""Limits, in the store: how much of them is used, and claims under them."""
