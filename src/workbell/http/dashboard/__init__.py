"""Dashboard: a single-page application that uses the HTTP API and `/ws` alone."""
