"""This process: its identity, fork safety, and the threads for the verbs of async callers."""
