"""Jobs that code declares, and definitions (jobs as data)."""
