"""The registry of agents."""
