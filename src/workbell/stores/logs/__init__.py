"""Log lines of runs."""
