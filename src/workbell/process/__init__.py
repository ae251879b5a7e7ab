"""This process: its identity, what a fork does to it, and the threads on which verbs of async callers run."""
