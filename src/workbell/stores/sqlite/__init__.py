"""The embedded store: one SQLite file, shared safely by threads and processes of one machine."""
