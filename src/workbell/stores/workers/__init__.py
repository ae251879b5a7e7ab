"""The registry of workers, and of the processes that serve the API."""
