"""Generators: what they write from the code, and that it is up to date."""
