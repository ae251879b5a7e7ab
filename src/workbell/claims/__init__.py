"""Claims: which queued runs a worker takes. A lane is what waits for one job in one queue of one tenant."""
