"""Runs: the verbs about them (list, get, cancel, retry, wait, follow, why), and the one way their moves are written."""
