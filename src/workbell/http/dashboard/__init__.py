"""The dashboard: one page whose screens are small files, living on the HTTP API and `/ws` alone."""
