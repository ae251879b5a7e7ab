"""Limits, in the store: how much of them is taken, and claims that keep to them."""
