"""Acting on many runs at once: all of a filter are canceled or repeated by a job, with progress."""
