"""The memory store: the core of the port, in dicts."""
