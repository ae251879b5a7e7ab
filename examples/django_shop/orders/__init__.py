"""Orders of the shop."""
