"""Reports about runs and schedules: searches, counts, recent runs."""
